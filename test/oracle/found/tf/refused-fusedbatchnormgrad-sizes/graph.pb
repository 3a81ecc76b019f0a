
_
x0Placeholder*?
shape6:4ÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿ*
dtype0
_
x1Placeholder*?
shape6:4ÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿ*
dtype0
8
x2Placeholder*
shape:ÿÿÿÿÿÿÿÿÿ*
dtype0
8
x3Placeholder*
shape:ÿÿÿÿÿÿÿÿÿ*
dtype0
8
x4Placeholder*
shape:ÿÿÿÿÿÿÿÿÿ*
dtype0
8
x5Placeholder*
shape:ÿÿÿÿÿÿÿÿÿ*
dtype0
‚
nodeFusedBatchNormGradV3x0x1x2x3x4x5*
epsilon%ÍÌÌ=*
T0*
data_formatNHWC*
is_training(*
U0"ª