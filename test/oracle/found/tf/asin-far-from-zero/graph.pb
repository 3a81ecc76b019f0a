
/
x0Placeholder*
dtype0*
shape:

nodeAsinx0*
T0"ª