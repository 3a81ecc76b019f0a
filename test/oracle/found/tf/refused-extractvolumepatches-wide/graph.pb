
k
xPlaceholder*L
shapeC:Aÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿ*
dtype0
w
ExtractVolumePatchesExtractVolumePatchesx*
ksizes	
*
strides	
*
T0*
paddingVALID"ª