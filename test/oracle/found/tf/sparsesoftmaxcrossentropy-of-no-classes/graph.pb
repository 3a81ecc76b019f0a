
E
x0Placeholder*%
shape:ÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿ*
dtype0
8
x1Placeholder*
shape:ÿÿÿÿÿÿÿÿÿ*
dtype0
K
node#SparseSoftmaxCrossEntropyWithLogitsx0x1*
Tlabels0*
T0"ª