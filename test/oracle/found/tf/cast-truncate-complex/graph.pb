
/
x0Placeholder*
dtype0*
shape:
8
nodeCastx0*

SrcT0*

DstT0*
Truncate(
/
x1Placeholder*
dtype0*
shape:
:
narrowCastx1*

SrcT0*

DstT0*
Truncate("ª