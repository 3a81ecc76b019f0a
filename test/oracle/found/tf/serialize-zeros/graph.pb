
.
xPlaceholder*
shape:*
dtype0
.
SerializeTensorSerializeTensorx*
T0
*
out0IdentitySerializeTensor*
T0"ª