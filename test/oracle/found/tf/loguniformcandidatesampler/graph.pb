
2
tPlaceholder*
shape
:*
dtype0	
—
LogUniformCandidateSamplerLogUniformCandidateSamplert*
num_true*

seed*
seed2*
unique(*
	range_maxè*
num_sampled
5
out0IdentityLogUniformCandidateSampler*
T0	
7
out1IdentityLogUniformCandidateSampler:1*
T0
7
out2IdentityLogUniformCandidateSampler:2*
T0"ª