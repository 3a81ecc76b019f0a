
/
xPlaceholder*
dtype0*
shape:ý
.
nPlaceholder*
shape:*
dtype0
/
RFFTRFFTxn*
Treal0*
Tcomplex0

out0IdentityRFFT*
T0"ª