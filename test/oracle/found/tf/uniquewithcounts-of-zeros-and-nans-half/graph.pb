
8
x0Placeholder*
dtype0*
shape:ÿÿÿÿÿÿÿÿÿ
4
nodeUniqueWithCountsx0*
out_idx0*
T0"ª