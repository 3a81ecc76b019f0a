
7
aPlaceholder*
shape:ÿÿÿÿÿÿÿÿÿ*
dtype0
7
bPlaceholder*
shape:ÿÿÿÿÿÿÿÿÿ*
dtype0

PowPowab*
T0"ª