
_
x0Placeholder*?
shape6:4ÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿ*
dtype0
E
x1Placeholder*%
shape:ÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿ*
dtype0
8
x2Placeholder*
shape:ÿÿÿÿÿÿÿÿÿ*
dtype0
8
x3Placeholder*
shape:ÿÿÿÿÿÿÿÿÿ*
dtype0
M
nodeCropAndResizeGradImagex0x1x2x3*
T0*
method
bilinear"ª