
_
x0Placeholder*
dtype0*?
shape6:4ÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿ
7
x1Placeholder*
dtype0*
shape:
^
node
Dilation2Dx0x1*
T0*
paddingSAME*
strides
*
rates
"ª