
:
xPlaceholder*
dtype0*
shape:
6
oPlaceholder*
dtype0*
shape:
D
cPlaceholder*
dtype0*%
shape:ÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿ
*
yDrawBoundingBoxesV2xoc*
T0"ª