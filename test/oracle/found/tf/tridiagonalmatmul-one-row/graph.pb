
3
x0Placeholder*
dtype0*
shape
:
3
x1Placeholder*
dtype0*
shape
:
3
x2Placeholder*
dtype0*
shape
:
3
x3Placeholder*
dtype0*
shape
:
2
nodeTridiagonalMatMulx0x1x2x3*
T0"ª