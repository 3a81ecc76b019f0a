
_
x0Placeholder*
dtype0*?
shape6:4ÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿ
/
x1Placeholder*
dtype0*
shape:
3
x2Placeholder*
dtype0*
shape
:
P
nodeSpaceToBatchNDx0x1x2*
	Tpaddings0*
T0*
Tblock_shape0"ª