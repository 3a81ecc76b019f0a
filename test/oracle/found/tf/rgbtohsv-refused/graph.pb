
R
x0Placeholder*
dtype0*2
shape):'ÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿ

nodeRGBToHSVx0*
T0"ª