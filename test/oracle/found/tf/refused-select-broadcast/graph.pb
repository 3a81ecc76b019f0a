
7
cPlaceholder*
shape:ÿÿÿÿÿÿÿÿÿ*
dtype0

D
aPlaceholder*%
shape:ÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿ*
dtype0
D
bPlaceholder*%
shape:ÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿ*
dtype0
"
SelectSelectcab*
T0"ª