
R
x0Placeholder*2
shape):'ÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿ*
dtype0
8
x1Placeholder*
shape:ÿÿÿÿÿÿÿÿÿ*
dtype0
v
CTCBeamSearchDecoderCTCBeamSearchDecoderx0x1*
T0*
	top_paths*
merge_repeated(*

beam_width"ª