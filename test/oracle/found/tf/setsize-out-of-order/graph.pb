
3
x0Placeholder*
dtype0	*
shape
:
/
x1Placeholder*
dtype0*
shape:
/
x2Placeholder*
dtype0	*
shape:
<
nodeSetSizex0x1x2*
T0*
validate_indices("ª