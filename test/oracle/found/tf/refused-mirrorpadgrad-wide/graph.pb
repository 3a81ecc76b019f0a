
8
x0Placeholder*
shape:ÿÿÿÿÿÿÿÿÿ*
dtype0
E
x1Placeholder*%
shape:ÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿ*
dtype0
J
nodeMirrorPadGradx0x1*
T0*
	Tpaddings0*
mode	REFLECT"ª