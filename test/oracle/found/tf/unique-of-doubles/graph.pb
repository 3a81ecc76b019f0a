
8
x0Placeholder*
dtype0*
shape:ÿÿÿÿÿÿÿÿÿ
*
nodeUniquex0*
out_idx0*
T0"ª