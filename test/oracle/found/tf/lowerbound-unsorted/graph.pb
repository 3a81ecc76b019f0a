
2
sPlaceholder*
shape
:*
dtype0
2
vPlaceholder*
shape
:*
dtype0
7

LowerBound
LowerBoundsv*
out_type0*
T0
%
out0Identity
LowerBound*
T0"ª