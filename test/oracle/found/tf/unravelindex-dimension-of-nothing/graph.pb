
8
x0Placeholder*
shape:ÿÿÿÿÿÿÿÿÿ*
dtype0	
8
x1Placeholder*
shape:ÿÿÿÿÿÿÿÿÿ*
dtype0	
0
UnravelIndexUnravelIndexx0x1*

Tidx0	"ª