
.
xPlaceholder*
dtype0*
shape:

DigammaDigammax*
T0
"
out0IdentityDigamma*
T0"ª