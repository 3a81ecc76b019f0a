
/
x0Placeholder*
dtype0*
shape:

nodeAcosx0*
T0"ª