
E
x0Placeholder*
dtype0*%
shape:ÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿ
8
x1Placeholder*
dtype0*
shape:ÿÿÿÿÿÿÿÿÿ
8
x2Placeholder*
dtype0*
shape:ÿÿÿÿÿÿÿÿÿ
,
nodeMatrixSetDiagV3x0x1x2*
T0"ª