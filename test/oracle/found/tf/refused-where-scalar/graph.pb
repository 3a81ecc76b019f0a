
-
x0Placeholder*
shape:*
dtype0

nodeWherex0*
T0"ª