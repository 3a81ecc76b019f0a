
/
x0Placeholder*
dtype0*
shape:
l
x1Placeholder*
dtype0*L
shapeC:Aÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿ
l
x2Placeholder*
dtype0*L
shapeC:Aÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿ
™
nodeConv3DBackpropInputV2x0x1x2*
T0*
	dilations	
*
paddingSAME*
strides	
*
Tshape0*
data_formatNDHWC"ª