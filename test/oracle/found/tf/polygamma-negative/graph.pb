
.
mPlaceholder*
dtype0*
shape:
.
xPlaceholder*
shape:*
dtype0
%
	Polygamma	Polygammamx*
T0
.
sPlaceholder*
shape:*
dtype0
.
qPlaceholder*
shape:*
dtype0

ZetaZetasq*
T0
$
out0Identity	Polygamma*
T0

out1IdentityZeta*
T0"ª