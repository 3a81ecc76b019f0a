
_
x0Placeholder*?
shape6:4ÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿ*
dtype0	
J
nodeSpaceToDepthx0*
T0	*
data_formatNHWC*

block_size"ª