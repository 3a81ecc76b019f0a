
_
x0Placeholder*
dtype0*?
shape6:4ÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿ
a
nodeMaxPoolWithArgmaxx0*
paddingSAME*
T0*
strides
*
ksize
"ª