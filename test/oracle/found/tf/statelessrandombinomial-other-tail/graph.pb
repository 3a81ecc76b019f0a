
/
x0Placeholder*
dtype0*
shape:
/
x1Placeholder*
dtype0*
shape:
8
x2Placeholder*
dtype0*
shape:ÿÿÿÿÿÿÿÿÿ
8
x3Placeholder*
dtype0*
shape:ÿÿÿÿÿÿÿÿÿ
[
nodeStatelessRandomBinomialx0x1x2x3*
dtype0	*
Tseed0*
T0*
S0"ª