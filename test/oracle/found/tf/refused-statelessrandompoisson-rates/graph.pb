
/
x0Placeholder*
shape:*
dtype0
8
x1Placeholder*
shape:ÿÿÿÿÿÿÿÿÿ*
dtype0
8
x2Placeholder*
shape:ÿÿÿÿÿÿÿÿÿ*
dtype0
Z
nodeStatelessRandomPoissonx0x1x2*
Tseed0*
Rtype0*
T0*
dtype0"ª