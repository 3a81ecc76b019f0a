
D
xPlaceholder*%
shape:ÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿ*
dtype0
7
bPlaceholder*
shape:ÿÿÿÿÿÿÿÿÿ*
dtype0
8
BiasAddBiasAddxb*
data_formatNHWC*
T0"ª