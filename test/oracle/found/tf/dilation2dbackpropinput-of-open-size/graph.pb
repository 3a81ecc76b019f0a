
_
x0Placeholder*
dtype0*?
shape6:4ÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿ
7
x1Placeholder*
dtype0*
shape:
_
x2Placeholder*
dtype0*?
shape6:4ÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿ
o
nodeDilation2DBackpropInputx0x1x2*
T0*
paddingSAME*
strides
*
rates
"ª