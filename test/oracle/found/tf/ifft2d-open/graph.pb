
Q
xPlaceholder*2
shape):'ÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿ*
dtype0
#
IFFT2DIFFT2Dx*
Tcomplex0
!
out0IdentityIFFT2D*
T0"ª