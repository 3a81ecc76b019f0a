
/
x0Placeholder*
dtype0*
shape:
/
x1Placeholder*
dtype0*
shape:
"
node	RsqrtGradx0x1*
T0"ª