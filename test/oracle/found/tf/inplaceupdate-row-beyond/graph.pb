
2
xPlaceholder*
shape
:*
dtype0
.
iPlaceholder*
shape:*
dtype0
2
vPlaceholder*
shape
:*
dtype0
 
DeepCopyDeepCopyx*
T0
.
nodeInplaceUpdateDeepCopyiv*
T0"ª