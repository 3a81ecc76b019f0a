
R
x0Placeholder*2
shape):'ÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿ*
dtype0
/
x1Placeholder*
shape:*
dtype0
.
nodeUniqueV2x0x1*
T0*
Taxis0"ª