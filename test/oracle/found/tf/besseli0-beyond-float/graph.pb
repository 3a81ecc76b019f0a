
8
x0Placeholder*
dtype0*
shape:ÿÿÿÿÿÿÿÿÿ

nodeBesselI0x0*
T0"ª