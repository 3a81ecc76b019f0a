
^
xPlaceholder*?
shape6:4ÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿ*
dtype0
†
ExtractImagePatchesExtractImagePatchesx*
ksizes
*
rates
*
strides
*
T0*
paddingVALID"ª