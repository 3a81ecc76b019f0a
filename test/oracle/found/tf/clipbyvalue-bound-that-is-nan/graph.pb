
.
xPlaceholder*
shape:*
dtype0
.
lPlaceholder*
shape:*
dtype0
.
hPlaceholder*
shape:*
dtype0
,
ClipByValueClipByValuexlh*
T0
&
out0IdentityClipByValue*
T0"ª