// RUN: weir-opt %s --weir-train --split-input-file | FileCheck %s

// Three entries of one. The weight that is trained is a variable in all of them, what gets no
// gradient a constant, and what only the loss needs no result of predict.
// CHECK-LABEL: func.func @predict(
// CHECK-SAME: %{{[^ ]*}}: tensor<4x3xf32> {weir.name = "x"}) -> (tensor<4x2xf32> {weir.name = "y"})
// CHECK-SAME: weir.entry = "predict"
// CHECK-NOT: weir.weight
// CHECK: weir.variable {{.*}}initial = dense<1.{{.*}}> : tensor<3x2xf32>, name = "w"
// CHECK-LABEL: func.func @train_step(
// CHECK-SAME: tensor<4x3xf32> {weir.name = "x"}, %{{[^ ]*}}: tensor<4x2xf32> {weir.name = "target"}) -> (tensor<f32> {weir.name = "loss"})
// CHECK-DAG: %[[W:.*]] = weir.variable {{.*}}name = "w"
// CHECK-DAG: %[[T:.*]] = weir.variable {{.*}}name = "optimizer/step"
// CHECK-DAG: %[[M:.*]] = weir.variable {{.*}}name = "optimizer/w/momentum"
// CHECK-DAG: weir.variable_assign %[[M]]
// CHECK-DAG: weir.variable_assign %[[W]]
// CHECK-DAG: weir.variable_assign %[[T]]
// CHECK-LABEL: func.func @evaluate(
// CHECK-SAME: {weir.name = "target"}) -> (tensor<f32> {weir.name = "loss"}, tensor<4x2xf32> {weir.name = "y"})
// CHECK-NOT: weir.variable_assign
func.func @main(%x: tensor<4x3xf32> {weir.name = "x"})
    -> (tensor<4x2xf32> {weir.name = "y"}, tensor<4x2xf32> {weir.name = "inner", weir.further})
    attributes {weir.entry = "main", weir.train = {loss = "mse", output = "inner", labels = "target", optimizer = "momentum"}} {
  %c = weir.constant dense<1.0> : tensor<3x2xf32>
  %w = weir.gate %c {weir.weight = "w"} : tensor<3x2xf32>
  %d = weir.constant dense<2.0> : tensor<2xf32>
  %unused = weir.gate %d {weir.weight = "unused"} : tensor<2xf32>
  %0 = weir.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, accumulator = f32} : (tensor<4x3xf32>, tensor<3x2xf32>) -> tensor<4x2xf32>
  %1 = weir.round_even %unused : (tensor<2xf32>) -> tensor<2xf32>
  %2 = weir.add %0, %1 : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
  return %2, %0 : tensor<4x2xf32>, tensor<4x2xf32>
}

// -----

// Batch normalisation by the batch, whose statistics are no results of predict; dropout draws.
// Scalars of labels are counted off classes; the dimension that comes from a feed has its name.
// CHECK-LABEL: func.func @predict(
// CHECK-NOT: weir.iota
// CHECK: weir.batch_norm
// CHECK-LABEL: func.func @train_step(
// CHECK-SAME: weir.dims = ["x.0", ""]
// CHECK-SAME: tensor<?xi64> {weir.dims = ["x.0"]
// CHECK-SAME: weir.name = "labels"
// CHECK-SAME: {weir.name = "learning_rate"}
// CHECK-DAG: weir.variable {{.*}}name = "mean"
// CHECK-DAG: weir.variable {{.*}}name = "variance"
// CHECK: weir.shl
// CHECK: weir.assert {{.*}}a label that is no class
// CHECK-LABEL: func.func @evaluate(
// CHECK: weir.batch_norm
func.func @main(%x: tensor<?x3xf32> {weir.name = "x"}) -> (tensor<?x3xf32> {weir.name = "y"})
    attributes {weir.entry = "main", weir.train = {loss = "cross_entropy", output = "y", labels = "labels", feeds_rate = true}} {
  %one = weir.constant dense<1.0> : tensor<3xf32>
  %zero = weir.constant dense<0.0> : tensor<3xf32>
  %scale = weir.gate %one {weir.weight = "scale"} : tensor<3xf32>
  %bias = weir.gate %zero {weir.weight = "bias"} : tensor<3xf32>
  %mean = weir.gate %zero {weir.weight = "mean"} : tensor<3xf32>
  %variance = weir.gate %one {weir.weight = "variance"} : tensor<3xf32>
  %0 = weir.batch_norm %x, %scale, %bias, %mean, %variance {axis = 1 : i64, epsilon = 1.0e-5 : f64, weir.momentum = 0.9 : f64} : (tensor<?x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<?x3xf32>
  %1 = weir.gate %0 {weir.dropout = 0.25 : f64} : tensor<?x3xf32>
  return %1 : tensor<?x3xf32>
}

// -----

// With the scale and the bias left out it normalises as it did, and moves nothing.
// CHECK-LABEL: func.func @train_step(
// CHECK-NOT: name = "mean"
// CHECK: weir.batch_norm
func.func @main(%x: tensor<4x3xf32> {weir.name = "x"}) -> (tensor<4x3xf32> {weir.name = "y"})
    attributes {weir.entry = "main", weir.train = {loss = "mse", output = "y", labels = "t", trainable = "^w$"}} {
  %one = weir.constant dense<1.0> : tensor<3xf32>
  %zero = weir.constant dense<0.0> : tensor<3xf32>
  %w = weir.gate %one {weir.weight = "w"} : tensor<3xf32>
  %scale = weir.gate %one {weir.weight = "scale"} : tensor<3xf32>
  %bias = weir.gate %zero {weir.weight = "bias"} : tensor<3xf32>
  %mean = weir.gate %zero {weir.weight = "mean"} : tensor<3xf32>
  %variance = weir.gate %one {weir.weight = "variance"} : tensor<3xf32>
  %0 = weir.batch_norm %x, %scale, %bias, %mean, %variance {axis = 1 : i64, epsilon = 1.0e-5 : f64, weir.momentum = 0.9 : f64} : (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  %1 = weir.mul %0, %w : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  return %1 : tensor<4x3xf32>
}

// -----

// Without the attribute nothing trains.
// CHECK-LABEL: func.func @main(
// CHECK-NOT: weir.variable
func.func @main(%x: tensor<2xf32> {weir.name = "x"}) -> (tensor<2xf32> {weir.name = "y"}) attributes {weir.entry = "main"} {
  return %x : tensor<2xf32>
}
