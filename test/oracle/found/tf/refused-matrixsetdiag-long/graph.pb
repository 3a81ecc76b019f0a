
D
aPlaceholder*%
shape:ÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿ*
dtype0
7
bPlaceholder*
shape:ÿÿÿÿÿÿÿÿÿ*
dtype0
-
MatrixSetDiagMatrixSetDiagab*
T0"ª