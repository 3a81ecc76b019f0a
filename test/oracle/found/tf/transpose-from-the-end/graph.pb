
2
xPlaceholder*
shape
:*
dtype0	
.
pPlaceholder*
dtype0*
shape:
2
	Transpose	Transposexp*
Tperm0*
T0	
$
out0Identity	Transpose*
T0	"ª