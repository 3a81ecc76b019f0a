
D
xPlaceholder*%
shape:ÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿ*
dtype0
3
ConstConst*
valueB:*
dtype0
5
IRFFTIRFFTxConst*
Tcomplex0*
Treal0"ª