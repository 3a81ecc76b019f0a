
D
dPlaceholder*%
shape:ÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿ*
dtype0
7
aPlaceholder*
shape:ÿÿÿÿÿÿÿÿÿ*
dtype0
I
DynamicPartitionDynamicPartitionda*
num_partitions*
T0"ª