
E
x0Placeholder*
dtype0	*%
shape:ÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿ
8
x1Placeholder*
dtype0*
shape:ÿÿÿÿÿÿÿÿÿ
/
x2Placeholder*
dtype0	*
shape:
/
x3Placeholder*
dtype0*
shape:
G
nodeSparseReduceMaxSparsex0x1x2x3*
	keep_dims(*
T0"ª