
;
xPlaceholder*
shape:ÿÿÿÿÿÿÿÿÿ*
dtype0
7
iPlaceholder*
shape:ÿÿÿÿÿÿÿÿÿ*
dtype0
;
vPlaceholder*
shape:ÿÿÿÿÿÿÿÿÿ*
dtype0
 
DeepCopyDeepCopyx*
T0
+
node
InplaceAddDeepCopyiv*
T0"ª