
;
x0Placeholder*
dtype0*
shape:
.
nodeAsStringx0*
T0*
	precision"ª