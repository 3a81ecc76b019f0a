
8
x0Placeholder*
shape:ÿÿÿÿÿÿÿÿÿ*
dtype0
8
x1Placeholder*
shape:ÿÿÿÿÿÿÿÿÿ*
dtype0
!
nodeFloorDivx0x1*
T0"ª