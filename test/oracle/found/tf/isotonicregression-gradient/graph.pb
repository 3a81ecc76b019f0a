
2
xPlaceholder*
dtype0*
shape
:
2
wPlaceholder*
dtype0*
shape
:
H
IsotonicRegressionIsotonicRegressionx*
T0*
output_dtype0
*
mulMulIsotonicRegressionw*
T0"ª