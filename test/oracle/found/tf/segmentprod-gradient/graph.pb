
D
xPlaceholder*
dtype0*%
shape:ÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿ
.
iPlaceholder*
dtype0*
shape:
2
wPlaceholder*
dtype0*
shape
:
9
SegmentProdSegmentProdxi*
T0*
Tindices0
#
mulMulSegmentProdw*
T0"ª