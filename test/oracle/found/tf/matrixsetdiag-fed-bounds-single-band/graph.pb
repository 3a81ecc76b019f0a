
E
x0Placeholder*
dtype0*%
shape:ÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿ
E
x1Placeholder*
dtype0*%
shape:ÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿ
/
x2Placeholder*
dtype0*
shape:
,
nodeMatrixSetDiagV3x0x1x2*
T0"ª