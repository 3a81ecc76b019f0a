
_
x0Placeholder*
dtype0*?
shape6:4ÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿ
/
x1Placeholder*
dtype0*
shape:
8
x2Placeholder*
dtype0*
shape:ÿÿÿÿÿÿÿÿÿ
@
nodeSplitVx0x1x2*

Tlen0*
T0*
	num_split"ª