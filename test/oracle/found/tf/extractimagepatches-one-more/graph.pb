
^
xPlaceholder*?
shape6:4ÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿ*
dtype0
†
ExtractImagePatchesExtractImagePatchesx*
ksizes
*
T0*
rates
*
strides
*
paddingVALID"ª