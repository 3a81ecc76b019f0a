
/
x0Placeholder*
shape:*
dtype0	
/
x1Placeholder*
shape:*
dtype0
H
nodeStatelessRandomNormalx0x1*
Tseed0*
dtype0*
T0	"ª