
;
x0Placeholder*
dtype0*
shape:
7
x1Placeholder*
dtype0*
shape:
^
node
Dilation2Dx0x1*
T0*
strides
*
paddingSAME*
rates
"ª