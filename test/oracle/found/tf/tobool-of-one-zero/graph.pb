
.
xPlaceholder*
shape:*
dtype0

ToBoolToBoolx*
T0"ª