// A sum over a line in which all but one element are 0 reads that element.
// REQUIRES: weir-opt
// RUN: weir-opt --weir-raise-picks --split-input-file %s | FileCheck %s

// CHECK-LABEL: @labels
// CHECK-DAG: %[[FIRST:.*]] = weir.constant dense<0> : tensor<i64>
// CHECK-DAG: %[[LAST:.*]] = weir.constant dense<4> : tensor<i64>
// CHECK-DAG: %[[GE:.*]] = weir.compare %arg1, %[[FIRST]] {predicate = "ge"}
// CHECK-DAG: %[[LE:.*]] = weir.compare %arg1, %[[LAST]] {predicate = "le"}
// CHECK-DAG: %[[IN:.*]] = weir.and %[[GE]], %[[LE]]
// CHECK-DAG: %[[LOW:.*]] = weir.maximum %arg1, %[[FIRST]]
// CHECK-DAG: %[[AT:.*]] = weir.minimum %[[LOW]], %[[LAST]]
// CHECK: %[[X:.*]] = weir.gather_elements %arg0, %[[AT]] {axis = 1 : i64, wrap_negative = false}
// CHECK: %[[KEPT:.*]] = weir.select %[[IN]], %[[X]]
// CHECK: weir.reduce %[[KEPT]] {{.*}}tensor<3x1xf32>
func.func @labels(%x: tensor<3x5xf32>, %l: tensor<3x1xi64>) -> tensor<3xf32> {
  %s = weir.constant dense<[1, 5]> : tensor<2xi64>
  %z = weir.constant dense<0.0> : tensor<f32>
  %n = weir.iota %s {axis = 1 : i64, element_type = i64} : (tensor<2xi64>) -> tensor<1x5xi64>
  %c = weir.compare %l, %n {predicate = "eq"} : (tensor<3x1xi64>, tensor<1x5xi64>) -> tensor<3x5xi1>
  %k = weir.select %c, %x, %z : (tensor<3x5xi1>, tensor<3x5xf32>, tensor<f32>) -> tensor<3x5xf32>
  %0 = weir.reduce %k {kind = "sum", axes = array<i64: 1>, keep_dims = false} : (tensor<3x5xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// -----

// The largest of them, a sum over another axis, and one whose labels change along the line are not.
// CHECK-LABEL: @others
// CHECK-NOT: gather_elements
func.func @others(%x: tensor<3x5xf32>, %l: tensor<3x1xi64>, %m: tensor<3x5xi64>) -> (tensor<3xf32>, tensor<5xf32>, tensor<3xf32>) {
  %s = weir.constant dense<[1, 5]> : tensor<2xi64>
  %z = weir.constant dense<0.0> : tensor<f32>
  %n = weir.iota %s {axis = 1 : i64, element_type = i64} : (tensor<2xi64>) -> tensor<1x5xi64>
  %c = weir.compare %l, %n {predicate = "eq"} : (tensor<3x1xi64>, tensor<1x5xi64>) -> tensor<3x5xi1>
  %k = weir.select %c, %x, %z : (tensor<3x5xi1>, tensor<3x5xf32>, tensor<f32>) -> tensor<3x5xf32>
  %0 = weir.reduce %k {kind = "max", axes = array<i64: 1>, keep_dims = false} : (tensor<3x5xf32>) -> tensor<3xf32>
  %k1 = weir.select %c, %x, %z : (tensor<3x5xi1>, tensor<3x5xf32>, tensor<f32>) -> tensor<3x5xf32>
  %1 = weir.reduce %k1 {kind = "sum", axes = array<i64: 0>, keep_dims = false} : (tensor<3x5xf32>) -> tensor<5xf32>
  %d = weir.compare %m, %n {predicate = "eq"} : (tensor<3x5xi64>, tensor<1x5xi64>) -> tensor<3x5xi1>
  %k2 = weir.select %d, %x, %z : (tensor<3x5xi1>, tensor<3x5xf32>, tensor<f32>) -> tensor<3x5xf32>
  %2 = weir.reduce %k2 {kind = "sum", axes = array<i64: 1>, keep_dims = false} : (tensor<3x5xf32>) -> tensor<3xf32>
  return %0, %1, %2 : tensor<3xf32>, tensor<5xf32>, tensor<3xf32>
}
