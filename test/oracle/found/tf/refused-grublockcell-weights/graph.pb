
E
x0Placeholder*%
shape:ÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿ*
dtype0
<
x1Placeholder*
shape:ÿÿÿÿÿÿÿÿÿ*
dtype0
3
x2Placeholder*
shape
:*
dtype0
3
x3Placeholder*
shape
:*
dtype0
8
x4Placeholder*
shape:ÿÿÿÿÿÿÿÿÿ*
dtype0
/
x5Placeholder*
shape:*
dtype0
5
nodeGRUBlockCellx0x1x2x3x4x5*
T0"ª