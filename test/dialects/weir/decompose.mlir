// Composites in terms of smaller operations: statistics of narrow floats in f32,
// shapes that stay open.
// REQUIRES: weir-opt
// RUN: weir-opt %s --weir-decompose | FileCheck %s

// CHECK-LABEL: @softmax
// CHECK: %[[X:.*]] = weir.cast %arg0 {{.*}} -> tensor<?x8xf32>
// CHECK: %[[MAX:.*]] = weir.reduce %[[X]] {axes = array<i64: 1>, keep_dims = true, kind = "max"}
// CHECK: %[[SHIFTED:.*]] = weir.sub %[[X]], %[[MAX]]
// CHECK: %[[EXP:.*]] = weir.exp %[[SHIFTED]]
// CHECK: %[[SUM:.*]] = weir.reduce %[[EXP]] {axes = array<i64: 1>, keep_dims = true, kind = "sum"}
// CHECK: %[[INVERSE:.*]] = weir.div {{.*}}, %[[SUM]]
// CHECK: %[[Y:.*]] = weir.mul %[[EXP]], %[[INVERSE]]
// CHECK: weir.cast %[[Y]] {{.*}} -> tensor<?x8xbf16>
func.func @softmax(%x: tensor<?x8xbf16>) -> tensor<?x8xbf16> {
  %0 = weir.softmax %x {axis = 1 : i64, log = false} : (tensor<?x8xbf16>) -> tensor<?x8xbf16>
  return %0 : tensor<?x8xbf16>
}

// Vectors of constants are worked out at compile time: 2 / sqrt(3 + 1) = 1, by
// which nothing is multiplied.
// CHECK-LABEL: @batch_norm
// CHECK: %[[MEAN:.*]] = weir.constant dense<5.000000e-01> : tensor<2x1xf32>
// CHECK: %[[C:.*]] = weir.sub %arg0, %[[MEAN]]
// CHECK-NOT: weir.mul
// CHECK: %[[BIAS:.*]] = weir.constant dense<2.500000e-01> : tensor<2x1xf32>
// CHECK: %[[Y:.*]] = weir.add %[[C]], %[[BIAS]]
// CHECK-NEXT: return %[[Y]]
func.func @batch_norm(%x: tensor<1x2x?xf32>) -> tensor<1x2x?xf32> {
  %scale = weir.constant dense<2.0> : tensor<2xf32>
  %bias = weir.constant dense<0.25> : tensor<2xf32>
  %mean = weir.constant dense<0.5> : tensor<2xf32>
  %variance = weir.constant dense<3.0> : tensor<2xf32>
  %0 = weir.batch_norm %x, %scale, %bias, %mean, %variance {axis = 1 : i64, epsilon = 1.0 : f64} : (tensor<1x2x?xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x?xf32>
  return %0 : tensor<1x2x?xf32>
}

// Two query heads share one key head: they are more queries of it.
// CHECK-LABEL: @attention
// CHECK: weir.dot_general {{.*}} : (tensor<1x1x6x4xf32>, tensor<1x1x5x4xf32>) -> tensor<1x1x6x5xf32>
// CHECK: weir.dot_general {{.*}} : (tensor<1x1x6x5xf32>, tensor<1x1x5x7xf32>) -> tensor<1x1x6x7xf32>
// CHECK-NOT: weir.attention
func.func @attention(%q: tensor<1x2x3x4xf32>, %k: tensor<1x1x5x4xf32>, %v: tensor<1x1x5x7xf32>) -> tensor<1x2x3x7xf32> {
  %0 = weir.attention %q, %k, %v {scale = 0.5 : f64, causal = true} : (tensor<1x2x3x4xf32>, tensor<1x1x5x4xf32>, tensor<1x1x5x7xf32>) -> tensor<1x2x3x7xf32>
  return %0 : tensor<1x2x3x7xf32>
}
