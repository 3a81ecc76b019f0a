
E
x0Placeholder*
dtype0*%
shape:ÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿ
E
x1Placeholder*
dtype0*%
shape:ÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿ
E
x2Placeholder*
dtype0*%
shape:ÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿ
E
x3Placeholder*
dtype0*%
shape:ÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿ
8
x4Placeholder*
dtype0*
shape:ÿÿÿÿÿÿÿÿÿ
8
x5Placeholder*
dtype0*
shape:ÿÿÿÿÿÿÿÿÿ
=
GRUBlockCellGRUBlockCellx0x1x2x3x4x5*
T0"ª