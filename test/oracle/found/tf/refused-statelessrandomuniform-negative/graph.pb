
8
x0Placeholder*
shape:ÿÿÿÿÿÿÿÿÿ*
dtype0
8
x1Placeholder*
shape:ÿÿÿÿÿÿÿÿÿ*
dtype0
I
nodeStatelessRandomUniformx0x1*
T0*
Tseed0*
dtype0"ª