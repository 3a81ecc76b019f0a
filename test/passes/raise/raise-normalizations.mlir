// Softmax and layer normalisation that exporters write out are one operation each.
// REQUIRES: weir-opt
// RUN: weir-opt --weir-raise-normalizations --split-input-file %s | FileCheck %s

// CHECK-LABEL: @softmax
// CHECK-NEXT: %[[Y:.*]] = weir.softmax %arg0 {axis = 1 : i64, log = false}
// CHECK-NEXT: return %[[Y]]
func.func @softmax(%x: tensor<2x5x3xf32>) -> tensor<2x5x3xf32> {
  %0 = weir.reduce %x {kind = "max", axes = array<i64: 1>, keep_dims = true} : (tensor<2x5x3xf32>) -> tensor<2x1x3xf32>
  %1 = weir.sub %x, %0 : (tensor<2x5x3xf32>, tensor<2x1x3xf32>) -> tensor<2x5x3xf32>
  %2 = weir.exp %1 : (tensor<2x5x3xf32>) -> tensor<2x5x3xf32>
  %3 = weir.reduce %2 {kind = "sum", axes = array<i64: 1>, keep_dims = true} : (tensor<2x5x3xf32>) -> tensor<2x1x3xf32>
  %4 = weir.div %2, %3 : (tensor<2x5x3xf32>, tensor<2x1x3xf32>) -> tensor<2x5x3xf32>
  return %4 : tensor<2x5x3xf32>
}

// -----

// A product with the inverse of the sum, and open sizes.
// CHECK-LABEL: @inverse
// CHECK: %[[Y:.*]] = weir.softmax %arg0 {axis = 1 : i64, log = false}
// CHECK-NEXT: return %[[Y]]
func.func @inverse(%x: tensor<?x?xf16>) -> tensor<?x?xf16> {
  %one = weir.constant dense<1.0> : tensor<f16>
  %0 = weir.reduce %x {kind = "max", axes = array<i64: 1>, keep_dims = true} : (tensor<?x?xf16>) -> tensor<?x1xf16>
  %1 = weir.sub %x, %0 : (tensor<?x?xf16>, tensor<?x1xf16>) -> tensor<?x?xf16>
  %2 = weir.exp %1 : (tensor<?x?xf16>) -> tensor<?x?xf16>
  %3 = weir.reduce %2 {kind = "sum", axes = array<i64: 1>, keep_dims = true} : (tensor<?x?xf16>) -> tensor<?x1xf16>
  %4 = weir.div %one, %3 : (tensor<f16>, tensor<?x1xf16>) -> tensor<?x1xf16>
  %5 = weir.mul %2, %4 : (tensor<?x?xf16>, tensor<?x1xf16>) -> tensor<?x?xf16>
  return %5 : tensor<?x?xf16>
}

// -----

// CHECK-LABEL: @log_softmax
// CHECK-NEXT: weir.softmax %arg0 {axis = 1 : i64, log = true}
// CHECK-NEXT: return
func.func @log_softmax(%x: tensor<4x5xf32>) -> tensor<4x5xf32> {
  %0 = weir.reduce %x {kind = "max", axes = array<i64: 1>, keep_dims = true} : (tensor<4x5xf32>) -> tensor<4x1xf32>
  %1 = weir.sub %x, %0 : (tensor<4x5xf32>, tensor<4x1xf32>) -> tensor<4x5xf32>
  %2 = weir.exp %1 : (tensor<4x5xf32>) -> tensor<4x5xf32>
  %3 = weir.reduce %2 {kind = "sum", axes = array<i64: 1>, keep_dims = true} : (tensor<4x5xf32>) -> tensor<4x1xf32>
  %4 = weir.log %3 : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %5 = weir.sub %1, %4 : (tensor<4x5xf32>, tensor<4x1xf32>) -> tensor<4x5xf32>
  return %5 : tensor<4x5xf32>
}

// -----

// The sum goes along another dimension than the maximum.
// CHECK-LABEL: @axes
// CHECK-NOT: weir.softmax
func.func @axes(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = weir.reduce %x {kind = "max", axes = array<i64: 1>, keep_dims = true} : (tensor<4x4xf32>) -> tensor<4x1xf32>
  %1 = weir.sub %x, %0 : (tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x4xf32>
  %2 = weir.exp %1 : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = weir.reduce %2 {kind = "sum", axes = array<i64: 0>, keep_dims = true} : (tensor<4x4xf32>) -> tensor<1x4xf32>
  %4 = weir.div %2, %3 : (tensor<4x4xf32>, tensor<1x4xf32>) -> tensor<4x4xf32>
  return %4 : tensor<4x4xf32>
}

// -----

// The exponentials are wanted, too.
// CHECK-LABEL: @shared
// CHECK-NOT: weir.softmax
func.func @shared(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %0 = weir.reduce %x {kind = "max", axes = array<i64: 1>, keep_dims = true} : (tensor<4x4xf32>) -> tensor<4x1xf32>
  %1 = weir.sub %x, %0 : (tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x4xf32>
  %2 = weir.exp %1 : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = weir.reduce %2 {kind = "sum", axes = array<i64: 1>, keep_dims = true} : (tensor<4x4xf32>) -> tensor<4x1xf32>
  %4 = weir.div %2, %3 : (tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x4xf32>
  return %4, %2 : tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// As opset 13 has it; scale and bias in either order.
// CHECK-LABEL: @layer_norm
// CHECK: %[[Y:.*]] = weir.layer_norm %arg0, %arg1, %arg2 {axis = 2 : i64, epsilon = 9.99999{{.*}}E-13
// CHECK-NEXT: return %[[Y]]
func.func @layer_norm(%x: tensor<2x3x8xf32>, %scale: tensor<8xf32>, %bias: tensor<8xf32>) -> tensor<2x3x8xf32> {
  %two = weir.constant dense<2.0> : tensor<f32>
  %epsilon = weir.constant dense<1.0e-12> : tensor<f32>
  %0 = weir.reduce %x {kind = "mean", axes = array<i64: 2>, keep_dims = true} : (tensor<2x3x8xf32>) -> tensor<2x3x1xf32>
  %1 = weir.sub %x, %0 : (tensor<2x3x8xf32>, tensor<2x3x1xf32>) -> tensor<2x3x8xf32>
  %2 = weir.pow %1, %two : (tensor<2x3x8xf32>, tensor<f32>) -> tensor<2x3x8xf32>
  %3 = weir.reduce %2 {kind = "mean", axes = array<i64: 2>, keep_dims = true} : (tensor<2x3x8xf32>) -> tensor<2x3x1xf32>
  %4 = weir.add %3, %epsilon : (tensor<2x3x1xf32>, tensor<f32>) -> tensor<2x3x1xf32>
  %5 = weir.sqrt %4 : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %6 = weir.div %1, %5 : (tensor<2x3x8xf32>, tensor<2x3x1xf32>) -> tensor<2x3x8xf32>
  %7 = weir.mul %scale, %6 : (tensor<8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %8 = weir.add %7, %bias : (tensor<2x3x8xf32>, tensor<8xf32>) -> tensor<2x3x8xf32>
  return %8 : tensor<2x3x8xf32>
}

// -----

// Over two dimensions, a square as a product, a product with the inverse.
// CHECK-LABEL: @last_two
// CHECK: weir.layer_norm %arg0, %arg1, %arg2 {axis = 1 : i64
func.func @last_two(%x: tensor<2x3x8xf32>, %scale: tensor<3x8xf32>, %bias: tensor<3x1xf32>) -> tensor<2x3x8xf32> {
  %one = weir.constant dense<1.0> : tensor<f32>
  %epsilon = weir.constant dense<1.0e-5> : tensor<f32>
  %0 = weir.reduce %x {kind = "mean", axes = array<i64: 1, 2>, keep_dims = true} : (tensor<2x3x8xf32>) -> tensor<2x1x1xf32>
  %1 = weir.sub %x, %0 : (tensor<2x3x8xf32>, tensor<2x1x1xf32>) -> tensor<2x3x8xf32>
  %2 = weir.mul %1, %1 : (tensor<2x3x8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %3 = weir.reduce %2 {kind = "mean", axes = array<i64: 1, 2>, keep_dims = true} : (tensor<2x3x8xf32>) -> tensor<2x1x1xf32>
  %4 = weir.add %epsilon, %3 : (tensor<f32>, tensor<2x1x1xf32>) -> tensor<2x1x1xf32>
  %5 = weir.sqrt %4 : (tensor<2x1x1xf32>) -> tensor<2x1x1xf32>
  %6 = weir.div %one, %5 : (tensor<f32>, tensor<2x1x1xf32>) -> tensor<2x1x1xf32>
  %7 = weir.mul %1, %6 : (tensor<2x3x8xf32>, tensor<2x1x1xf32>) -> tensor<2x3x8xf32>
  %8 = weir.mul %7, %scale : (tensor<2x3x8xf32>, tensor<3x8xf32>) -> tensor<2x3x8xf32>
  %9 = weir.add %bias, %8 : (tensor<3x1xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  return %9 : tensor<2x3x8xf32>
}

// -----

// Over the first dimension: no layer normalisation, which goes over the last ones.
// CHECK-LABEL: @first
// CHECK-NOT: weir.layer_norm
func.func @first(%x: tensor<8x3xf32>, %scale: tensor<3xf32>, %bias: tensor<3xf32>) -> tensor<8x3xf32> {
  %epsilon = weir.constant dense<1.0e-5> : tensor<f32>
  %0 = weir.reduce %x {kind = "mean", axes = array<i64: 0>, keep_dims = true} : (tensor<8x3xf32>) -> tensor<1x3xf32>
  %1 = weir.sub %x, %0 : (tensor<8x3xf32>, tensor<1x3xf32>) -> tensor<8x3xf32>
  %2 = weir.mul %1, %1 : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
  %3 = weir.reduce %2 {kind = "mean", axes = array<i64: 0>, keep_dims = true} : (tensor<8x3xf32>) -> tensor<1x3xf32>
  %4 = weir.add %3, %epsilon : (tensor<1x3xf32>, tensor<f32>) -> tensor<1x3xf32>
  %5 = weir.sqrt %4 : (tensor<1x3xf32>) -> tensor<1x3xf32>
  %6 = weir.div %1, %5 : (tensor<8x3xf32>, tensor<1x3xf32>) -> tensor<8x3xf32>
  %7 = weir.mul %6, %scale : (tensor<8x3xf32>, tensor<3xf32>) -> tensor<8x3xf32>
  %8 = weir.add %7, %bias : (tensor<8x3xf32>, tensor<3xf32>) -> tensor<8x3xf32>
  return %8 : tensor<8x3xf32>
}

// -----

// The scale makes the result larger than what is normalised.
// CHECK-LABEL: @grows
// CHECK-NOT: weir.layer_norm
func.func @grows(%x: tensor<1x8xf32>, %scale: tensor<4x8xf32>, %bias: tensor<8xf32>) -> tensor<4x8xf32> {
  %epsilon = weir.constant dense<1.0e-5> : tensor<f32>
  %0 = weir.reduce %x {kind = "mean", axes = array<i64: 1>, keep_dims = true} : (tensor<1x8xf32>) -> tensor<1x1xf32>
  %1 = weir.sub %x, %0 : (tensor<1x8xf32>, tensor<1x1xf32>) -> tensor<1x8xf32>
  %2 = weir.mul %1, %1 : (tensor<1x8xf32>, tensor<1x8xf32>) -> tensor<1x8xf32>
  %3 = weir.reduce %2 {kind = "mean", axes = array<i64: 1>, keep_dims = true} : (tensor<1x8xf32>) -> tensor<1x1xf32>
  %4 = weir.add %3, %epsilon : (tensor<1x1xf32>, tensor<f32>) -> tensor<1x1xf32>
  %5 = weir.sqrt %4 : (tensor<1x1xf32>) -> tensor<1x1xf32>
  %6 = weir.div %1, %5 : (tensor<1x8xf32>, tensor<1x1xf32>) -> tensor<1x8xf32>
  %7 = weir.mul %6, %scale : (tensor<1x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %8 = weir.add %7, %bias : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  return %8 : tensor<4x8xf32>
}
