
R
x0Placeholder*2
shape):'ÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿ*
dtype0
0
x1Const*
valueB:*
dtype0
E
x2Placeholder*%
shape:ÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿ*
dtype0
M
nodeBatchToSpaceNDx0x1x2*
T0*
Tblock_shape0*
Tcrops0"ª