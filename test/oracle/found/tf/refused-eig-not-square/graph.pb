
D
xPlaceholder*%
shape:ÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿ*
dtype0
3
EigEigx*
	compute_v(*

Tout0*
T0"ª