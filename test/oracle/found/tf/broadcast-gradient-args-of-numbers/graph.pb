
.
xPlaceholder*
dtype0*
shape:
3
ConstConst*
dtype0*
valueB:
-
bBroadcastGradientArgsConstx*
T0
7
yPlaceholder*
dtype0*
shape:ÿÿÿÿÿÿÿÿÿ
)
cBroadcastGradientArgsxy*
T0"ª