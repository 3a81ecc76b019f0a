
8
x0Placeholder*
dtype0*
shape:ÿÿÿÿÿÿÿÿÿ
/
x1Placeholder*
dtype0*
shape:
.
nodeUniqueV2x0x1*
Taxis0*
T0"ª