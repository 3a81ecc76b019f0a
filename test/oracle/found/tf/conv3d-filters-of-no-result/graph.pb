
l
x0Placeholder*
dtype0*L
shapeC:Aÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿ
l
x1Placeholder*
dtype0*L
shapeC:Aÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿ
`
nodeConv3Dx0x1*
T0*
	dilations	
*
paddingSAME*
strides	
"ª