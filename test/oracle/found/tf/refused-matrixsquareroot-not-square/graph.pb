
D
xPlaceholder*%
shape:ÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿ*
dtype0
0
MatrixSquareRootMatrixSquareRootx*
T0"ª