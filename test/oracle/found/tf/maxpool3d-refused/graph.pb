
l
x0Placeholder*L
shapeC:Aÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿ*
dtype0
t
node	MaxPool3Dx0*
T0*
strides	
*
ksize	
*
paddingVALID*
data_formatNDHWC"ª