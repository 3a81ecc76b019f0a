
E
x0Placeholder*%
shape:ÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿ*
dtype0
E
x1Placeholder*%
shape:ÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿ*
dtype0
E
x2Placeholder*%
shape:ÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿ*
dtype0
E
x3Placeholder*%
shape:ÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿ*
dtype0
8
x4Placeholder*
shape:ÿÿÿÿÿÿÿÿÿ*
dtype0
8
x5Placeholder*
shape:ÿÿÿÿÿÿÿÿÿ*
dtype0
=
GRUBlockCellGRUBlockCellx0x1x2x3x4x5*
T0"ª