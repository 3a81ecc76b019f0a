
/
x0Placeholder*
dtype0*
shape:

nodeAsinhx0*
T0"ª