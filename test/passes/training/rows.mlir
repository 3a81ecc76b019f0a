// RUN: weir-opt %s --weir-train --split-input-file | FileCheck %s

// Rows that a step reads are summed where they come first, and are all that is read and written
// of the table and of the optimizer's variable; others have their place past its end.
// CHECK-LABEL: func.func @train_step(
// CHECK: %[[V:.*]] = weir.variable {{.*}}name = "w"
// CHECK: %[[W:.*]] = weir.variable_read %[[V]]
// CHECK-NOT: weir.broadcast_to {{.*}} -> tensor<64x2xf32>
// CHECK: %[[FIRST:.*]] = weir.reduce {{.*}}tensor<4x4xi64>) -> tensor<4xi64>
// CHECK: %[[SUMS:.*]] = weir.scatter_nd {{.*}}reduction = "add"{{.*}} -> tensor<4x2xf32>
// CHECK: weir.select {{.*}}tensor<4xi64>
// CHECK: weir.gather {{.*}} -> tensor<4x2xf32>
// CHECK: weir.scatter_nd %[[W]], {{.*}}drop_out_of_bounds = true, reduction = "none"{{.*}} -> tensor<64x2xf32>
// CHECK: weir.variable_assign %[[V]]
// CHECK: weir.scatter_nd {{.*}}drop_out_of_bounds = true, reduction = "none"{{.*}} -> tensor<64x2xf32>
// CHECK: weir.variable_assign
func.func @main(%ids: tensor<4xi32> {weir.name = "ids"}) -> (tensor<4x2xf32> {weir.name = "y"})
    attributes {weir.entry = "main", weir.train = {loss = "mse", output = "y", labels = "t", optimizer = "adagrad", epsilon = 1.0e-10 : f64}} {
  %c = weir.constant dense<1.0> : tensor<64x2xf32>
  %w = weir.gate %c {weir.weight = "w"} : tensor<64x2xf32>
  %0 = weir.gather %w, %ids {axis = 0 : i64, batch_dims = 0 : i64, wrap_negative = false} : (tensor<64x2xf32>, tensor<4xi32>) -> tensor<4x2xf32>
  return %0 : tensor<4x2xf32>
}

// -----

// More than a fourth of the rows are not few; an optimizer whose step hangs on norms of a table has
// a gradient of all of it.
// CHECK-LABEL: func.func @train_step(
// CHECK: weir.scatter_nd {{.*}}reduction = "add"{{.*}} -> tensor<15x2xf32>
// CHECK-NOT: drop_out_of_bounds = true
// CHECK-LABEL: func.func @evaluate(
func.func @main(%ids: tensor<4xi32> {weir.name = "ids"}) -> (tensor<4x2xf32> {weir.name = "y"})
    attributes {weir.entry = "main", weir.train = {loss = "mse", output = "y", labels = "t", optimizer = "sgd"}} {
  %c = weir.constant dense<1.0> : tensor<15x2xf32>
  %w = weir.gate %c {weir.weight = "w"} : tensor<15x2xf32>
  %0 = weir.gather %w, %ids {axis = 0 : i64, batch_dims = 0 : i64, wrap_negative = false} : (tensor<15x2xf32>, tensor<4xi32>) -> tensor<4x2xf32>
  return %0 : tensor<4x2xf32>
}

// -----

// CHECK-LABEL: func.func @train_step(
// CHECK: weir.scatter_nd {{.*}}reduction = "add"{{.*}} -> tensor<64x2xf32>
// CHECK-NOT: drop_out_of_bounds = true
// CHECK-LABEL: func.func @evaluate(
func.func @main(%ids: tensor<4xi32> {weir.name = "ids"}) -> (tensor<4x2xf32> {weir.name = "y"})
    attributes {weir.entry = "main", weir.train = {loss = "mse", output = "y", labels = "t", optimizer = "lamb"}} {
  %c = weir.constant dense<1.0> : tensor<64x2xf32>
  %w = weir.gate %c {weir.weight = "w"} : tensor<64x2xf32>
  %0 = weir.gather %w, %ids {axis = 0 : i64, batch_dims = 0 : i64, wrap_negative = false} : (tensor<64x2xf32>, tensor<4xi32>) -> tensor<4x2xf32>
  return %0 : tensor<4x2xf32>
}

// -----

// One that moves every row by itself reads the rows with a gradient, moves all as with a gradient of
// zeros, but not before these are read, and puts in their place what their gradients make of them.
// CHECK-LABEL: func.func @train_step(
// CHECK: %[[V:.*]] = weir.variable {{.*}}name = "w"
// CHECK: %[[W:.*]] = weir.variable_read %[[V]]
// CHECK: %[[SUMS:.*]] = weir.scatter_nd {{.*}}reduction = "add"{{.*}} -> tensor<4x2xf32>
// CHECK: weir.gather %[[W]], {{.*}} -> tensor<4x2xf32>
// CHECK: %[[ROW:.*]] = weir.sub {{.*}}tensor<4x2xf32>
// CHECK: %[[READ:.*]] = weir.done %{{.*}}, %[[ROW]]
// CHECK-NOT: reduction = "add"{{.*}} -> tensor<64x2xf32>
// CHECK: %[[OLD:.*]] = weir.gate %[[W]] after %[[READ]]
// CHECK: %[[NEW:.*]] = weir.sub %[[OLD]], {{.*}}tensor<64x2xf32>
// CHECK: weir.variable_assign %[[V]], %[[NEW]]
// CHECK: %[[MOVED:.*]] = weir.variable_read %[[V]]
// CHECK: %[[BOTH:.*]] = weir.scatter_nd %[[MOVED]], {{.*}}, %[[ROW]] {{.*}}reduction = "none"
// CHECK: weir.variable_assign %[[V]], %[[BOTH]]
// CHECK-LABEL: func.func @evaluate(
func.func @main(%ids: tensor<4xi32> {weir.name = "ids"}) -> (tensor<4x2xf32> {weir.name = "y"})
    attributes {weir.entry = "main", weir.train = {loss = "mse", output = "y", labels = "t", optimizer = "momentum", momentum = 0.9 : f64}} {
  %c = weir.constant dense<1.0> : tensor<64x2xf32>
  %w = weir.gate %c {weir.weight = "w"} : tensor<64x2xf32>
  %0 = weir.gather %w, %ids {axis = 0 : i64, batch_dims = 0 : i64, wrap_negative = false} : (tensor<64x2xf32>, tensor<4xi32>) -> tensor<4x2xf32>
  return %0 : tensor<4x2xf32>
}
