
/
x0Placeholder*
shape:*
dtype0
8
x1Placeholder*
shape:ÿÿÿÿÿÿÿÿÿ*
dtype0
9
ShapeShapex1*
T0*
out_type0:íÏ
1
nodeReshapex0Shape*
T0*
Tshape0"ª