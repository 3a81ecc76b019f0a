
2
xPlaceholder*
dtype0*
shape
:
À

ApproxTopK
ApproxTopKx*
T0*
recall_target%33s?*
is_max_k(*,
reduction_input_size_overrideÿÿÿÿÿÿÿÿÿ*"
reduction_dimensionÿÿÿÿÿÿÿÿÿ*
aggregate_to_topk(*
k
%
out0Identity
ApproxTopK*
T0
'
out1IdentityApproxTopK:1*
T0"ª