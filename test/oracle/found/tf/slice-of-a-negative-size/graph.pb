
8
x0Placeholder*
dtype0*
shape:ÿÿÿÿÿÿÿÿÿ
/
x1Placeholder*
dtype0	*
shape:
/
x2Placeholder*
dtype0	*
shape:
/
nodeSlicex0x1x2*
Index0	*
T0"ª