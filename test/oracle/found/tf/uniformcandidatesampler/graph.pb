
2
tPlaceholder*
shape
:*
dtype0	
ê
UniformCandidateSamplerUniformCandidateSamplert*
num_true*

seed*
seed2*
unique(*
	range_max
*
num_sampled
2
out0IdentityUniformCandidateSampler*
T0	
4
out1IdentityUniformCandidateSampler:1*
T0
4
out2IdentityUniformCandidateSampler:2*
T0"™