
8
x0Placeholder*
dtype0*
shape:ÿÿÿÿÿÿÿÿÿ
8
nodeCastx0*

DstT0*
Truncate(*

SrcT0"ª