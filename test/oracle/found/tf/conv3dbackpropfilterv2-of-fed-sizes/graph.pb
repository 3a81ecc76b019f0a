
l
x0Placeholder*
dtype0*L
shapeC:Aÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿ
/
x1Placeholder*
dtype0*
shape:
l
x2Placeholder*
dtype0*L
shapeC:Aÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿ
Œ
nodeConv3DBackpropFilterV2x0x1x2*
T0*
	dilations	
*
paddingSAME*
strides	
*
data_formatNDHWC"ª