
l
x0Placeholder*L
shapeC:Aÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿ*
dtype0
/
x1Placeholder*
shape:*
dtype0	
0
nodeBroadcastTox0x1*

Tidx0	*
T0"ª