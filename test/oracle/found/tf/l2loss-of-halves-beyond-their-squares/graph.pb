
8
x0Placeholder*
shape:ÿÿÿÿÿÿÿÿÿ*
dtype0

nodeL2Lossx0*
T0"ª