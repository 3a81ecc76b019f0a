// Constants in another order are constants.
//
// RUN: weir-opt --weir-fold-weights %s | FileCheck %s

// Gates of a recurrent layer are exchanged while compiling.
// CHECK-LABEL: func.func @gates
// CHECK-NOT: weir.gather
// CHECK: weir.constant dense<{{\[}}[3.000000e+00, 4.000000e+00], [1.000000e+00, 2.000000e+00]]>
func.func @gates() -> tensor<2x2xf32> {
  %w = weir.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %i = weir.constant dense<[-1, 0]> : tensor<2xi64>
  %0 = weir.gather %w, %i {axis = 0 : i64, batch_dims = 0 : i64, wrap_negative = true} : (tensor<2x2xf32>, tensor<2xi64>) -> tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}

// An index outside is an error when the program runs.
// CHECK-LABEL: func.func @outside
// CHECK: weir.gather
func.func @outside() -> tensor<1x2xf32> {
  %w = weir.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %i = weir.constant dense<2> : tensor<1xi64>
  %0 = weir.gather %w, %i {axis = 0 : i64, batch_dims = 0 : i64, wrap_negative = true} : (tensor<2x2xf32>, tensor<1xi64>) -> tensor<1x2xf32>
  return %0 : tensor<1x2xf32>
}

// CHECK-LABEL: func.func @transposed
// CHECK: weir.constant dense<{{\[}}[1.000000e+00, 3.000000e+00], [2.000000e+00, 4.000000e+00]]>
// CHECK-NOT: weir.transpose
func.func @transposed() -> tensor<2x2xf32> {
  %w = weir.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %0 = weir.transpose %w {permutation = array<i64: 1, 0>} : (tensor<2x2xf32>) -> tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}

// Weights that are widened for a product are f32 whose source stays narrow; what else reads them
// has the cast.
// CHECK-LABEL: func.func @widened
// CHECK: weir.constant #weir.arranged<#weir.blob<{{.*}}xf16>{{.*}}> : tensor<4x8xf32>
// CHECK-NOT: weir.cast
// CHECK: return
func.func @widened(%x: tensor<2x4xf32>) -> tensor<2x8xf32> {
  %h = weir.constant #weir.blob<"w.bin", 0, 64, "00"> : tensor<4x8xf16>
  %w = weir.cast %h {saturate = false} : (tensor<4x8xf16>) -> tensor<4x8xf32>
  %0 = weir.dot_general %x, %w {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<2x4xf32>, tensor<4x8xf32>) -> tensor<2x8xf32>
  return %0 : tensor<2x8xf32>
}

// CHECK-LABEL: func.func @read
// CHECK: weir.cast
func.func @read(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %h = weir.constant #weir.blob<"w.bin", 0, 64, "00"> : tensor<4x8xf16>
  %w = weir.cast %h {saturate = false} : (tensor<4x8xf16>) -> tensor<4x8xf32>
  %0 = weir.add %x, %w : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
