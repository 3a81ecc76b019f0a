
8
x0Placeholder*
dtype0*
shape:ÿÿÿÿÿÿÿÿÿ
0
x1Const*
dtype0	*
valueB	R
9
x2Const*
dtype0	*
valueB	R
ÿÿÿÿÿÿÿÿÿ
/
nodeSlicex0x1x2*
Index0	*
T0"ª