// RUN: weir-opt %s --weir-differentiate | FileCheck %s

// What flows back from two uses is summed; what was broadcast is summed over.
// CHECK-LABEL: func.func @product(
// CHECK-NOT: weir.gradient
// CHECK-LABEL: func.func @product_gradient(
// CHECK-SAME: %[[X:.*]]: tensor<2x3xf32> {weir.name = "x0"}, %[[Y:.*]]: tensor<3xf32> {weir.name = "x1"}, %[[DY:.*]]: tensor<2x3xf32>
// CHECK-SAME: weir.entry = "product_gradient"
// CHECK-DAG: weir.mul %[[DY]], %[[Y]]
// CHECK-DAG: %[[P:.*]] = weir.mul %[[DY]], %[[X]]
// CHECK: %[[S:.*]] = weir.reduce %[[P]] {axes = array<i64: 0>
// CHECK: return %{{.*}}, %[[S]] : tensor<2x3xf32>, tensor<3xf32>
func.func @product(%x: tensor<2x3xf32>, %y: tensor<3xf32>) -> tensor<2x3xf32>
    attributes {weir.entry = "product", weir.gradient = "product_gradient"} {
  %0 = weir.mul %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// Integers carry no gradient; an argument that nothing leads to has zeros.
// CHECK-LABEL: func.func @rounded_gradient(
// CHECK: %[[Z:.*]] = weir.constant dense<0.0{{.*}}> : tensor<2xf32>
// CHECK: return %[[Z]] : tensor<2xf32>
func.func @rounded(%x: tensor<2xf32>, %i: tensor<2xi32>) -> (tensor<2xf32>, tensor<2xi32>)
    attributes {weir.gradient = "rounded_gradient"} {
  %0 = weir.round_even %x : (tensor<2xf32>) -> tensor<2xf32>
  %1 = weir.neg %i : (tensor<2xi32>) -> tensor<2xi32>
  return %0, %1 : tensor<2xf32>, tensor<2xi32>
}

// What trees say changes by steps: no number that a sample has counts.
// CHECK-LABEL: func.func @trees_gradient(
// CHECK: %[[Z:.*]] = weir.constant dense<0.0{{.*}}> : tensor<3x2xf32>
// CHECK: return %[[Z]] : tensor<3x2xf32>
func.func @trees(%x: tensor<3x2xf32>) -> tensor<3x1xf32> attributes {weir.gradient = "trees_gradient"} {
  %nodes = weir.constant dense<[[0, 0], [0, 5], [2143289344, 2], [2143289345, 4]]> : tensor<4x2xi32>
  %trees = weir.constant dense<[[1, 0, 1, 1]]> : tensor<1x4xi32>
  %weights = weir.constant dense<[[1.0], [2.0]]> : tensor<2x1xf32>
  %0 = weir.tree_ensemble %x, %nodes, %trees, %weights {feature_bits = 1, features = 2, kind = "sum", missing = false, steps = 1, targets = 1} : (tensor<3x2xf32>, tensor<4x2xi32>, tensor<1x4xi32>, tensor<2x1xf32>) -> tensor<3x1xf32>
  return %0 : tensor<3x1xf32>
}

// Each operand of a reduction of several devices' values has its part in the sum.
// CHECK-LABEL: func.func @all_gradient(
// CHECK-SAME: %{{.*}}: tensor<2xf32> {weir.name = "x0"}, %{{.*}}: tensor<2xf32> {weir.name = "x1"}, %[[DY:.*]]: tensor<2xf32>
// CHECK: %[[S:.*]] = weir.mul %[[DY]]
// CHECK: return %[[DY]], %[[S]] : tensor<2xf32>, tensor<2xf32>
func.func @all(%x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<2xf32>
    attributes {weir.entry = "all", weir.gradient = "all_gradient"} {
  %two = weir.constant dense<2.0> : tensor<2xf32>
  %0 = weir.mul %y, %two : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %1 = weir.all_reduce %x, %0 {kind = "sum"} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}

// Where only the run knows whether there was a broadcast, it decides.
// CHECK-LABEL: func.func @open_gradient(
// CHECK: weir.if
// CHECK: weir.reduce
func.func @open(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32>
    attributes {weir.gradient = "open_gradient"} {
  %0 = weir.add %x, %y : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// Nothing flows through a gate that stops gradients.
// CHECK-LABEL: func.func @stopped_gradient(
// CHECK-SAME: %[[X:.*]]: tensor<f32> {weir.name = "x0"}, %[[DY:.*]]: tensor<f32>
// CHECK: %[[G:.*]] = weir.gate %[[X]]
// CHECK: %[[D:.*]] = weir.mul %[[DY]], %[[G]]
// CHECK-NOT: weir.add
// CHECK: return %[[D]]
func.func @stopped(%x: tensor<f32>) -> tensor<f32>
    attributes {weir.gradient = "stopped_gradient"} {
  %0 = weir.gate %x {weir.stop_gradient} : tensor<f32>
  %1 = weir.mul %x, %0 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %1 : tensor<f32>
}
// What flows back from picking a class of each row is at one place of it: nobody sums over the
// row to find it.
// CHECK-LABEL: func.func @picked_gradient(
// CHECK-SAME: %[[X:.*]]: tensor<4x5xf32> {weir.name = "x0"}, %[[LABEL:.*]]: tensor<4x1xi64> {weir.name = "x1"}, %[[DY:.*]]: tensor<4xf32>
// CHECK: %[[LOGS:.*]] = weir.softmax %[[X]] {axis = 1 : i64, log = true}
// CHECK: %[[G:.*]] = weir.reshape %[[DY]]
// CHECK-NOT: weir.reduce
// CHECK: %[[SUM:.*]] = weir.select %{{.*}}, %[[G]], %{{.*}} : (tensor<4x1xi1>, tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
// CHECK: weir.mul %{{.*}}, %[[SUM]]
// CHECK: return
func.func @picked(%x: tensor<4x5xf32>, %label: tensor<4x1xi64>) -> tensor<4xf32>
    attributes {weir.gradient = "picked_gradient"} {
  %shape = weir.constant dense<[1, 5]> : tensor<2xi64>
  %zero = weir.constant dense<0.0> : tensor<f32>
  %0 = weir.softmax %x {axis = 1 : i64, log = true} : (tensor<4x5xf32>) -> tensor<4x5xf32>
  %1 = weir.iota %shape {axis = 1 : i64, element_type = i64} : (tensor<2xi64>) -> tensor<1x5xi64>
  %2 = weir.compare %label, %1 {predicate = "eq"} : (tensor<4x1xi64>, tensor<1x5xi64>) -> tensor<4x5xi1>
  %3 = weir.select %2, %0, %zero : (tensor<4x5xi1>, tensor<4x5xf32>, tensor<f32>) -> tensor<4x5xf32>
  %4 = weir.reduce %3 {axes = array<i64: 1>, keep_dims = false, kind = "sum"} : (tensor<4x5xf32>) -> tensor<4xf32>
  return %4 : tensor<4xf32>
}

// All others but the label are many: their sum is one.
// CHECK-LABEL: func.func @left_gradient(
// CHECK: weir.broadcast_to
// CHECK: %[[D:.*]] = weir.select
// CHECK: weir.reduce %[[D]] {axes = array<i64: 1>, keep_dims = true, kind = "sum"}
// CHECK: return
func.func @left(%x: tensor<4x5xf32>, %label: tensor<4x1xi64>) -> tensor<4xf32>
    attributes {weir.gradient = "left_gradient"} {
  %shape = weir.constant dense<[1, 5]> : tensor<2xi64>
  %zero = weir.constant dense<0.0> : tensor<f32>
  %0 = weir.softmax %x {axis = 1 : i64, log = true} : (tensor<4x5xf32>) -> tensor<4x5xf32>
  %1 = weir.iota %shape {axis = 1 : i64, element_type = i64} : (tensor<2xi64>) -> tensor<1x5xi64>
  %2 = weir.compare %label, %1 {predicate = "ne"} : (tensor<4x1xi64>, tensor<1x5xi64>) -> tensor<4x5xi1>
  %3 = weir.select %2, %0, %zero : (tensor<4x5xi1>, tensor<4x5xf32>, tensor<f32>) -> tensor<4x5xf32>
  %4 = weir.reduce %3 {axes = array<i64: 1>, keep_dims = false, kind = "sum"} : (tensor<4x5xf32>) -> tensor<4xf32>
  return %4 : tensor<4xf32>
}

// A function that does not ask keeps to itself.
// CHECK-LABEL: func.func @silent(
// CHECK-NOT: func.func
func.func @silent(%x: tensor<f32>) -> tensor<f32> {
  %0 = weir.neg %x : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
