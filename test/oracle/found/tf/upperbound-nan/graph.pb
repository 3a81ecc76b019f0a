
2
sPlaceholder*
dtype0*
shape
:
2
vPlaceholder*
dtype0*
shape
:
7

UpperBound
UpperBoundsv*
out_type0*
T0
%
out0Identity
UpperBound*
T0"ª