
/
x0Placeholder*
shape:*
dtype0

nodeExpm1x0*
T0"ª