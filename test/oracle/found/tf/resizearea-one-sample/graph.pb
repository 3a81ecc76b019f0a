
;
x0Placeholder*
dtype0*
shape:
/
x1Placeholder*
dtype0*
shape:
8
node
ResizeAreax0x1*
T0*
align_corners("ª