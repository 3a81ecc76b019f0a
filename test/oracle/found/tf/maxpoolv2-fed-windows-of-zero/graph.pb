
_
x0Placeholder*?
shape6:4ÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿ*
dtype0
/
x1Placeholder*
shape:*
dtype0
/
x2Placeholder*
shape:*
dtype0
P
node	MaxPoolV2x0x1x2*
data_formatNHWC*
paddingSAME*
T0"ª