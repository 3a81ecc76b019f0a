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
