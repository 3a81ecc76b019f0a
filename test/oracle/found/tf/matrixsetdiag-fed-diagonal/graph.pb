
E
x0Placeholder*
dtype0*%
shape:ÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿ
8
x1Placeholder*
dtype0*
shape:ÿÿÿÿÿÿÿÿÿ
/
x2Placeholder*
dtype0*
shape:
,
nodeMatrixSetDiagV2x0x1x2*
T0"ª