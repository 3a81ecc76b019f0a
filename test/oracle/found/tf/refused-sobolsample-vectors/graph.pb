
-
x0Placeholder*
shape:*
dtype0
-
x1Placeholder*
shape:*
dtype0
-
x2Placeholder*
shape:*
dtype0

nodeSobolSamplex0x1x2"ª