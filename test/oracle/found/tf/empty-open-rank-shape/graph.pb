
8
x0Placeholder*
shape:ÿÿÿÿÿÿÿÿÿ*
dtype0
+
EmptyEmptyx0*

init(*
dtype0
<
ShapeShapeEmpty*
T0*
out_type0:íÏ"ª