
D
xPlaceholder*%
shape:ÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿ*
dtype0
A
SelfAdjointEigV2SelfAdjointEigV2x*
	compute_v(*
T0"ª