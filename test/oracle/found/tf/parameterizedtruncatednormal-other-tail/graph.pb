
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
8
x4Placeholder*
dtype0*
shape:ÿÿÿÿÿÿÿÿÿ
8
x5Placeholder*
dtype0*
shape:ÿÿÿÿÿÿÿÿÿ
h
node%StatelessParameterizedTruncatedNormalx0x1x2x3x4x5*
dtype0*
Tseed0*
S0"ª