
/
x0Placeholder*
shape:*
dtype0
/
x1Placeholder*
shape:*
dtype0
&
nodeBroadcastArgsx0x1*
T0"ª