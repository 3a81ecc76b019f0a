
D
xPlaceholder*%
shape:ÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿ*
dtype0
.
MatrixLogarithmMatrixLogarithmx*
T0"ª