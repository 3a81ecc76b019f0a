// Few neighbours are slices of the padded operand, many a sum pool; the usual exponent is
// two roots.
// REQUIRES: weir-opt
// RUN: weir-opt %s --weir-decompose --split-input-file | FileCheck %s

// CHECK-LABEL: @few
// CHECK: %[[P:.*]] = weir.pad %arg0
// CHECK-COUNT-3: weir.slice %[[P]]
// CHECK-NOT: weir.pool
// CHECK: %[[R:.*]] = weir.sqrt %{{.*}} :
// CHECK: %[[RR:.*]] = weir.sqrt %[[R]]
// CHECK: %[[Q:.*]] = weir.mul %[[R]], %[[RR]]
// CHECK: weir.div %arg0, %[[Q]]
func.func @few(%x: tensor<1x8x5x5xf32>) -> tensor<1x8x5x5xf32> {
  %0 = weir.lrn %x {axis = 1 : i64, size = 3 : i64, before = 1 : i64, alpha = 1.0e-4 : f64, beta = 0.75 : f64, bias = 1.0 : f64} : (tensor<1x8x5x5xf32>) -> tensor<1x8x5x5xf32>
  return %0 : tensor<1x8x5x5xf32>
}

// -----

// CHECK-LABEL: @many
// CHECK-NOT: weir.pad
// CHECK: weir.pool
// CHECK: weir.pow
func.func @many(%x: tensor<1x32x5x5xf32>) -> tensor<1x32x5x5xf32> {
  %0 = weir.lrn %x {axis = 1 : i64, size = 9 : i64, before = 4 : i64, alpha = 1.0e-4 : f64, beta = 0.5 : f64, bias = 1.0 : f64} : (tensor<1x32x5x5xf32>) -> tensor<1x32x5x5xf32>
  return %0 : tensor<1x32x5x5xf32>
}

// -----

// An unknown number of channels has no slices of a known size; a negative bias may make
// what has no roots.
// CHECK-LABEL: @open
// CHECK: weir.pool
// CHECK-NOT: weir.sqrt
// CHECK: weir.pow
func.func @open(%x: tensor<1x?x5xf32>) -> tensor<1x?x5xf32> {
  %0 = weir.lrn %x {axis = 1 : i64, size = 3 : i64, before = 1 : i64, alpha = 1.0e-4 : f64, beta = 0.75 : f64, bias = -1.0 : f64} : (tensor<1x?x5xf32>) -> tensor<1x?x5xf32>
  return %0 : tensor<1x?x5xf32>
}
