
Z
x0Placeholder*:
shape1:/ÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿ*
dtype0
^
x1Placeholder*>
shape5:3ÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿ*
dtype0
N
nodeEinsumx0x1*
N*$
equation...abc,d...cbe->d...ae*
T0"ª