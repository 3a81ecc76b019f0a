// Composites become what they stand for.
// REQUIRES: weir-opt
// RUN: weir-opt --weir-decompose %s | FileCheck %s

// The scale knows sizes that the operand does not: the expansion has them, and
// what the function returns follows.
// CHECK-LABEL: func.func @sizes
// CHECK-SAME: -> tensor<?x7x3xf32>
// CHECK-NOT: weir.layer_norm
// CHECK: return {{.*}} : tensor<?x7x3xf32>
func.func @sizes(%x: tensor<?x?x?xf32>, %s: tensor<7x3xf32>, %b: tensor<7x3xf32>) -> tensor<?x?x?xf32> {
  %0 = weir.layer_norm %x, %s, %b {axis = 1 : i64, epsilon = 0.25 : f64} : (tensor<?x?x?xf32>, tensor<7x3xf32>, tensor<7x3xf32>) -> tensor<?x?x?xf32>
  return %0 : tensor<?x?x?xf32>
}

// What a region yields may be more precise than the result.
// CHECK-LABEL: func.func @branch
// CHECK-SAME: -> tensor<?x?x?xf32>
// CHECK: weir.if
// CHECK-NOT: weir.layer_norm
func.func @branch(%c: tensor<i1>, %x: tensor<?x?x?xf32>, %s: tensor<7x3xf32>, %b: tensor<7x3xf32>) -> tensor<?x?x?xf32> {
  %0 = "weir.if"(%c) ({
    %1 = weir.layer_norm %x, %s, %b {axis = 1 : i64, epsilon = 0.25 : f64} : (tensor<?x?x?xf32>, tensor<7x3xf32>, tensor<7x3xf32>) -> tensor<?x?x?xf32>
    "weir.yield"(%1) : (tensor<?x?x?xf32>) -> ()
  }, {
    "weir.yield"(%x) : (tensor<?x?x?xf32>) -> ()
  }) : (tensor<i1>) -> tensor<?x?x?xf32>
  return %0 : tensor<?x?x?xf32>
}
