
8
x0Placeholder*
dtype0*
shape:ÿÿÿÿÿÿÿÿÿ

nodeBesselY1x0*
T0"ª