
;
x0Placeholder*
shape:*
dtype0
3
x1Placeholder*
shape
:*
dtype0
/
x2Placeholder*
shape:*
dtype0
p
nodeImageProjectiveTransformV2x0x1x2*
	fill_mode	REFLECT*
interpolation
BILINEAR*
dtype0"ª