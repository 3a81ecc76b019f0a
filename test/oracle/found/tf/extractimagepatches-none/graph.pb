
:
xPlaceholder*
shape:*
dtype0
†
ExtractImagePatchesExtractImagePatchesx*
strides
*
paddingVALID*
rates
*
ksizes
*
T0
.
out0IdentityExtractImagePatches*
T0"ª