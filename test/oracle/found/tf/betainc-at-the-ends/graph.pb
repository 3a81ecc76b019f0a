
8
x0Placeholder*
shape:ÿÿÿÿÿÿÿÿÿ*
dtype0
8
x1Placeholder*
shape:ÿÿÿÿÿÿÿÿÿ*
dtype0
8
x2Placeholder*
shape:ÿÿÿÿÿÿÿÿÿ*
dtype0
$
nodeBetaincx0x1x2*
T0"ª