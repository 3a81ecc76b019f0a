
@
x0Placeholder* 
shape:ÿÿÿÿÿÿÿÿÿ*
dtype0
<
x1Placeholder*
shape:ÿÿÿÿÿÿÿÿÿ*
dtype0
H
nodeEinsumx0x1*
N*
equation...ab,...b->...a*
T0"ª