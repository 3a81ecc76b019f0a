
^
xPlaceholder*
dtype0*?
shape6:4ÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿ
H
IsotonicRegressionIsotonicRegressionx*
T0*
output_dtype0"ª