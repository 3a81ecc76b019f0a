// RUN: weir-opt %s --canonicalize | FileCheck %s
// RUN: weir-opt %s --weir-value-numbering | FileCheck %s

// What stands for other replicas' values has none of its own: nothing folds through it, small integers
// included.
// CHECK-LABEL: func.func @main(
// CHECK: %[[INDEX:.*]] = weir.gate %{{.*}} {weir.replica_index} : tensor<1xi64>
// CHECK: weir.mul %[[INDEX]]
// CHECK: weir.gate %{{.*}} {weir.replica_sum} : tensor<f32>
// CHECK: weir.gate %[[X:.*]] {weir.replica_part = 0 : i64}
// CHECK: weir.gate %[[X]] {weir.replica_part = 1 : i64}
func.func @main(%x: tensor<2xf32>) -> (tensor<1xi64>, tensor<f32>, tensor<4xf32>) attributes {weir.entry = "main"} {
  %zero = weir.constant dense<0> : tensor<1xi64>
  %four = weir.constant dense<4> : tensor<1xi64>
  %index = weir.gate %zero {weir.replica_index} : tensor<1xi64>
  %begin = weir.mul %index, %four : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
  %one = weir.constant dense<1.0> : tensor<f32>
  %sum = weir.gate %one {weir.replica_sum} : tensor<f32>
  %p0 = weir.gate %x {weir.replica_part = 0 : i64} : tensor<2xf32>
  %p1 = weir.gate %x {weir.replica_part = 1 : i64} : tensor<2xf32>
  %all = weir.concat %p0, %p1 {axis = 0 : i64} : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32>
  return %begin, %sum, %all : tensor<1xi64>, tensor<f32>, tensor<4xf32>
}
