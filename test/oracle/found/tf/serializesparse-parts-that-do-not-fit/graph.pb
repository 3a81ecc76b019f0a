
E
x0Placeholder*%
shape:ÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿ*
dtype0	
8
x1Placeholder*
shape:ÿÿÿÿÿÿÿÿÿ*
dtype0
8
x2Placeholder*
shape:ÿÿÿÿÿÿÿÿÿ*
dtype0	
G
SerializeSparseSerializeSparsex0x1x2*
out_type0*
T0"ª