
;
x0Placeholder*
shape:*
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