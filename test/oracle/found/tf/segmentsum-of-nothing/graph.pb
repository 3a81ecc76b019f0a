
E
x0Placeholder*%
shape:ÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿ*
dtype0
8
x1Placeholder*
shape:ÿÿÿÿÿÿÿÿÿ*
dtype0
3
node
SegmentSumx0x1*
Tindices0*
T0"ª