
8
x0Placeholder*
dtype0*
shape:ÿÿÿÿÿÿÿÿÿ
;
x1Placeholder*
dtype0*
shape:
/
nodeSplitx0x1*
T0*
	num_split"ª