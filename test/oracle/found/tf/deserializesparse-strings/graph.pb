
8
x0Placeholder*
shape:ÿÿÿÿÿÿÿÿÿ*
dtype0
J
DeserializeSparseDeserializeSparsex0*
Tserialized0*
dtype0"ª