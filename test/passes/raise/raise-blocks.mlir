// Weights of bytes, scales and zero points that a gather gives each row by the number of its block, are
// dequantize_blocks: with four bits a number where all fit, counted from the lowest.
//
// RUN: weir-opt %s --weir-raise-blocks --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @four_bits
// CHECK-DAG: %[[W:.*]] = weir.constant dense<{{\[}}[112, 159], [207, 0]]> : tensor<2x2xui8>
// CHECK-DAG: %[[Z:.*]] = weir.constant dense<{{\[}}[8, 7], [9, 10]]> : tensor<2x2xui8>
// CHECK-DAG: %[[S:.*]] = weir.constant dense<{{\[}}[5.000000e-01, 2.500000e-01], [1.250000e-01, 2.000000e+00]]> : tensor<2x2xf32>
// CHECK: %[[B:.*]] = weir.dequantize_blocks %[[W]], %[[S]], %[[Z]] {bits = 4 : i64, block = 2 : i64, rows = 4 : i64}
// CHECK: weir.dot_general %arg0, %[[B]]
func.func @four_bits(%x: tensor<?x4xf32>) -> tensor<?x2xf32> {
  // The columns of a matrix that lies the other way around.
  %w = weir.constant dense<[[-8, -1, 7, 4], [7, 1, -8, -8]]> : tensor<2x4xi8>
  %t = weir.transpose %w {permutation = array<i64: 1, 0>} : (tensor<2x4xi8>) -> tensor<4x2xi8>
  %s = weir.constant dense<[[0.5, 0.25], [0.125, 2.0]]> : tensor<2x2xf32>
  %z = weir.constant dense<[[0, -1], [1, 2]]> : tensor<2x2xi8>
  %g = weir.constant dense<[0, 0, 1, 1]> : tensor<4xi32>
  %sg = weir.gather %s, %g {axis = 0 : i64, batch_dims = 0 : i64, wrap_negative = false} : (tensor<2x2xf32>, tensor<4xi32>) -> tensor<4x2xf32>
  %zg = weir.gather %z, %g {axis = 0 : i64, batch_dims = 0 : i64, wrap_negative = false} : (tensor<2x2xi8>, tensor<4xi32>) -> tensor<4x2xi8>
  %wf = weir.cast %t {saturate = false} : (tensor<4x2xi8>) -> tensor<4x2xf32>
  %zf = weir.cast %zg {saturate = false} : (tensor<4x2xi8>) -> tensor<4x2xf32>
  %d = weir.sub %wf, %zf : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  %m = weir.mul %d, %sg : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  %r = weir.dot_general %x, %m {accumulator = f32, lhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_batch = array<i64>, rhs_contract = array<i64: 0>} : (tensor<?x4xf32>, tensor<4x2xf32>) -> tensor<?x2xf32>
  return %r : tensor<?x2xf32>
}

// A number that needs more bits; no zero points; a last block that is shorter; scales that are fed.
// CHECK-LABEL: func.func @eight_bits
// CHECK-DAG: %[[W:.*]] = weir.constant dense<{{\[}}[136, 127], [128, 255], [0, 129]]> : tensor<3x2xui8>
// CHECK-DAG: %[[Z:.*]] = weir.constant dense<1.280000e+02> : tensor<f32>
// CHECK: weir.dequantize_blocks %[[W]], %arg1, %[[Z]] {bits = 8 : i64, block = 2 : i64, rows = 3 : i64}
func.func @eight_bits(%x: tensor<?x3xf32>, %s: tensor<2x2xf32>) -> tensor<?x2xf32> {
  %w = weir.constant dense<[[8, -1], [0, 127], [-128, 1]]> : tensor<3x2xi8>
  %g = weir.constant dense<[0, 0, 1]> : tensor<3xi32>
  %sg = weir.gather %s, %g {axis = 0 : i64, batch_dims = 0 : i64, wrap_negative = false} : (tensor<2x2xf32>, tensor<3xi32>) -> tensor<3x2xf32>
  %wf = weir.cast %w {saturate = false} : (tensor<3x2xi8>) -> tensor<3x2xf32>
  %m = weir.mul %sg, %wf : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  %r = weir.dot_general %x, %m {accumulator = f32, lhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_batch = array<i64>, rhs_contract = array<i64: 0>} : (tensor<?x3xf32>, tensor<3x2xf32>) -> tensor<?x2xf32>
  return %r : tensor<?x2xf32>
}

// Rows in another order have no blocks (an activation order of GPTQ); a row that is not there is the run's error.
// CHECK-LABEL: func.func @other_orders
// CHECK-NOT: dequantize_blocks
// CHECK: return
func.func @other_orders(%x: tensor<?x4xf32>, %s: tensor<2x2xf32>) -> (tensor<?x2xf32>, tensor<?x2xf32>) {
  %w = weir.constant dense<[[8, -1], [0, 127], [-128, 1], [1, 2]]> : tensor<4x2xi8>
  %wf = weir.cast %w {saturate = false} : (tensor<4x2xi8>) -> tensor<4x2xf32>
  %g = weir.constant dense<[0, 1, 0, 1]> : tensor<4xi32>
  %sg = weir.gather %s, %g {axis = 0 : i64, batch_dims = 0 : i64, wrap_negative = false} : (tensor<2x2xf32>, tensor<4xi32>) -> tensor<4x2xf32>
  %m = weir.mul %wf, %sg : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  %r = weir.dot_general %x, %m {accumulator = f32, lhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_batch = array<i64>, rhs_contract = array<i64: 0>} : (tensor<?x4xf32>, tensor<4x2xf32>) -> tensor<?x2xf32>
  %h = weir.constant dense<[0, 1, 2, 3]> : tensor<4xi32>
  %sh = weir.gather %s, %h {axis = 0 : i64, batch_dims = 0 : i64, wrap_negative = false} : (tensor<2x2xf32>, tensor<4xi32>) -> tensor<4x2xf32>
  %n = weir.mul %wf, %sh : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  %q = weir.dot_general %x, %n {accumulator = f32, lhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_batch = array<i64>, rhs_contract = array<i64: 0>} : (tensor<?x4xf32>, tensor<4x2xf32>) -> tensor<?x2xf32>
  return %r, %q : tensor<?x2xf32>, tensor<?x2xf32>
}
