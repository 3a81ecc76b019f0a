
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
M
nodeStatelessRandomGammaV2x0x1x2*
Tseed0*
dtype0*
T0"ª