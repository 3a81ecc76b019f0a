
E
x0Placeholder*%
shape:ÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿ*
dtype0
E
x1Placeholder*%
shape:ÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿ*
dtype0
E
x2Placeholder*%
shape:ÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿ*
dtype0
C
x3Const*
dtype0*)
value B"ü4*7Ì4B:k=^·Ë´U¹
8
x4Placeholder*
shape:ÿÿÿÿÿÿÿÿÿ*
dtype0
1
x5Const*
dtype0*
valueBj€s
8
x6Placeholder*
shape:ÿÿÿÿÿÿÿÿÿ*
dtype0
7
x7Const*
dtype0*
valueB"+=<½§9²2
>
nodeLSTMBlockCellx0x1x2x3x4x5x6x7*
T0"ª