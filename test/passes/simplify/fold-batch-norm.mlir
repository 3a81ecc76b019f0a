// Scales behind convolutions and products move into constant weights.
// REQUIRES: weir-opt
// RUN: weir-opt --weir-fold-batch-norm --canonicalize --split-input-file %s | FileCheck %s

// Batch normalisation, as it is expanded: (conv - 1) * s + 5. The weights are
// 1 2 3 4, two a channel; with s = (2, 10) the shift is 5 - s.
// CHECK-LABEL: @batch_norm
// CHECK-DAG: %[[W:.*]] = weir.constant dense<{{\[}}{{\[}}{{\[}}[2.000000e+00]], {{\[}}[4.000000e+00]]], {{\[}}{{\[}}[3.000000e+01]], {{\[}}[4.000000e+01]]]]> : tensor<2x2x1x1xf32>
// CHECK-DAG: %[[B:.*]] = weir.constant dense<{{\[}}{{\[}}[3.000000e+00]], {{\[}}[-5.000000e+00]]]> : tensor<2x1x1xf32>
// CHECK: %[[C:.*]] = weir.conv %arg0, %[[W]]
// CHECK: %[[R:.*]] = weir.add %[[C]], %[[B]]
// CHECK-NOT: weir.mul
// CHECK: return %[[R]]
func.func @batch_norm(%x: tensor<1x2x5x5xf32>) -> tensor<1x2x5x5xf32> {
  %w = weir.constant dense<[[[[1.0]], [[2.0]]], [[[3.0]], [[4.0]]]]> : tensor<2x2x1x1xf32>
  %mean = weir.constant dense<1.0> : tensor<2x1x1xf32>
  %s = weir.constant dense<[[[2.0]], [[10.0]]]> : tensor<2x1x1xf32>
  %b = weir.constant dense<5.0> : tensor<f32>
  %c = weir.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, channels_last = false, accumulator = f32} : (tensor<1x2x5x5xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x5x5xf32>
  %0 = weir.sub %c, %mean : (tensor<1x2x5x5xf32>, tensor<2x1x1xf32>) -> tensor<1x2x5x5xf32>
  %1 = weir.mul %0, %s : (tensor<1x2x5x5xf32>, tensor<2x1x1xf32>) -> tensor<1x2x5x5xf32>
  %2 = weir.add %1, %b : (tensor<1x2x5x5xf32>, tensor<f32>) -> tensor<1x2x5x5xf32>
  return %2 : tensor<1x2x5x5xf32>
}

// -----

// Channels last, and 3 - (conv * s): the sign goes along.
// CHECK-LABEL: @reversed
// CHECK-DAG: dense<{{\[}}{{\[}}{{\[}}{{\[}}-2.000000e+00, -2.000000e+01]]]]> : tensor<1x1x1x2xf32>
// CHECK-DAG: dense<3.000000e+00> : tensor<2xf32>
// CHECK-NOT: weir.mul
// CHECK-NOT: weir.sub
func.func @reversed(%x: tensor<1x5x5x1xf32>) -> tensor<1x5x5x2xf32> {
  %w = weir.constant dense<[[[[1.0, 2.0]]]]> : tensor<1x1x1x2xf32>
  %s = weir.constant dense<[2.0, 10.0]> : tensor<2xf32>
  %three = weir.constant dense<3.0> : tensor<f32>
  %c = weir.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, channels_last = true, accumulator = f32} : (tensor<1x5x5x1xf32>, tensor<1x1x1x2xf32>) -> tensor<1x5x5x2xf32>
  %0 = weir.mul %s, %c : (tensor<2xf32>, tensor<1x5x5x2xf32>) -> tensor<1x5x5x2xf32>
  %1 = weir.sub %three, %0 : (tensor<f32>, tensor<1x5x5x2xf32>) -> tensor<1x5x5x2xf32>
  return %1 : tensor<1x5x5x2xf32>
}

// -----

// A product whose right operand lies transposed: its free dimension is the first.
// CHECK-LABEL: @product
// CHECK: dense<{{\[}}[2.000000e+00, 4.000000e+00], [9.000000e+00, 1.200000e+01]]> : tensor<2x2xf32>
// CHECK: weir.dot_general
// CHECK-NOT: weir.mul
func.func @product(%x: tensor<?x2xf32>) -> tensor<?x2xf32> {
  %w = weir.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %s = weir.constant dense<[[2.0, 3.0]]> : tensor<1x2xf32>
  %d = weir.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 1>, accumulator = f32} : (tensor<?x2xf32>, tensor<2x2xf32>) -> tensor<?x2xf32>
  %0 = weir.mul %d, %s : (tensor<?x2xf32>, tensor<1x2xf32>) -> tensor<?x2xf32>
  return %0 : tensor<?x2xf32>
}

// -----

// Weights that another convolution uses would be there twice.
// CHECK-LABEL: @shared_weights
// CHECK: weir.mul
func.func @shared_weights(%x: tensor<4x2xf32>, %y: tensor<4x2xf32>) -> (tensor<4x2xf32>, tensor<4x2xf32>) {
  %w = weir.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %s = weir.constant dense<2.0> : tensor<f32>
  %d = weir.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, accumulator = f32} : (tensor<4x2xf32>, tensor<2x2xf32>) -> tensor<4x2xf32>
  %e = weir.dot_general %y, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, accumulator = f32} : (tensor<4x2xf32>, tensor<2x2xf32>) -> tensor<4x2xf32>
  %0 = weir.mul %d, %s : (tensor<4x2xf32>, tensor<f32>) -> tensor<4x2xf32>
  return %0, %e : tensor<4x2xf32>, tensor<4x2xf32>
}

// -----

// Neither a scale that is computed, nor one along another dimension, nor a
// result that is used unscaled, nor weights that are fed.
// CHECK-LABEL: @others
// CHECK-COUNT-4: weir.mul
func.func @others(%x: tensor<2x2xf32>, %s: tensor<2xf32>, %v: tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>) {
  %w0 = weir.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %w1 = weir.constant dense<[[1.0, 2.0], [3.0, 5.0]]> : tensor<2x2xf32>
  %w2 = weir.constant dense<[[1.0, 2.0], [3.0, 6.0]]> : tensor<2x2xf32>
  %rows = weir.constant dense<[[2.0], [3.0]]> : tensor<2x1xf32>
  %two = weir.constant dense<2.0> : tensor<f32>
  %a = weir.dot_general %x, %w0 {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, accumulator = f32} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %0 = weir.mul %a, %s : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  %b = weir.dot_general %x, %w1 {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, accumulator = f32} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %1 = weir.mul %b, %rows : (tensor<2x2xf32>, tensor<2x1xf32>) -> tensor<2x2xf32>
  %c = weir.dot_general %x, %w2 {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, accumulator = f32} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %2 = weir.mul %c, %two : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
  %d = weir.dot_general %x, %v {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, accumulator = f32} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %3 = weir.mul %d, %two : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
  return %0, %1, %2, %3, %c : tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>
}

// -----

// A scale of infinity would make NaN of weights that are 0.
// CHECK-LABEL: @infinite
// CHECK: weir.mul
func.func @infinite(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %w = weir.constant dense<[[1.0, 0.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %s = weir.constant dense<0x7F800000> : tensor<f32>
  %a = weir.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, accumulator = f32} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %0 = weir.mul %a, %s : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}

// -----

// A batch normalisation in f32 between casts: weights of bf16 are rounded once more, and
// so is the shift. 1.0078125 (1 + 2^-7) times 3 is 3.0234375, which rounds to 3.03125.
// CHECK-LABEL: @halves
// CHECK-DAG: %[[W:.*]] = weir.constant dense<{{\[}}{{\[}}2.000000e+00, 9.000000e+00], {{\[}}6.000000e+00, 3.031250e+00]]> : tensor<2x2xbf16>
// CHECK-DAG: %[[B:.*]] = weir.constant dense<[3.000000e+00, 2.000000e+00]> : tensor<2xbf16>
// CHECK: %[[D:.*]] = weir.dot_general %arg0, %[[W]]
// CHECK: %[[R:.*]] = weir.add %[[D]], %[[B]] : (tensor<4x2xbf16>, tensor<2xbf16>) -> tensor<4x2xbf16>
// CHECK-NEXT: return %[[R]]
func.func @halves(%x: tensor<4x2xbf16>) -> tensor<4x2xbf16> {
  %w = weir.constant dense<[[1.0, 3.0], [3.0, 1.0078125]]> : tensor<2x2xbf16>
  %mean = weir.constant dense<1.0> : tensor<2xf32>
  %s = weir.constant dense<[2.0, 3.0]> : tensor<2xf32>
  %b = weir.constant dense<5.0> : tensor<f32>
  %d = weir.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, accumulator = bf16} : (tensor<4x2xbf16>, tensor<2x2xbf16>) -> tensor<4x2xbf16>
  %0 = weir.cast %d {saturate = false} : (tensor<4x2xbf16>) -> tensor<4x2xf32>
  %1 = weir.sub %0, %mean : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
  %2 = weir.mul %1, %s : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
  %3 = weir.add %2, %b : (tensor<4x2xf32>, tensor<f32>) -> tensor<4x2xf32>
  %4 = weir.cast %3 {saturate = false} : (tensor<4x2xf32>) -> tensor<4x2xbf16>
  return %4 : tensor<4x2xbf16>
}

// -----

// f16 would hold the second channel's weights as infinity, the third's as numbers without
// leading bits; and one factor for all channels is no reason to round.
// CHECK-LABEL: @beyond_halves
// CHECK-COUNT-3: weir.mul
func.func @beyond_halves(%x: tensor<4x1xf16>) -> (tensor<4x2xf16>, tensor<4x2xf16>, tensor<4x2xf16>) {
  %w0 = weir.constant dense<[[1.0, 300.0]]> : tensor<1x2xf16>
  %w1 = weir.constant dense<[[2.0, 3.0]]> : tensor<1x2xf16>
  %w2 = weir.constant dense<[[4.0, 5.0]]> : tensor<1x2xf16>
  %large = weir.constant dense<[2.0, 300.0]> : tensor<2xf16>
  %small = weir.constant dense<[1.0, 1.2e-05]> : tensor<2xf16>
  %same = weir.constant dense<3.0> : tensor<f16>
  %a = weir.dot_general %x, %w0 {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, accumulator = f16} : (tensor<4x1xf16>, tensor<1x2xf16>) -> tensor<4x2xf16>
  %b = weir.dot_general %x, %w1 {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, accumulator = f16} : (tensor<4x1xf16>, tensor<1x2xf16>) -> tensor<4x2xf16>
  %c = weir.dot_general %x, %w2 {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, accumulator = f16} : (tensor<4x1xf16>, tensor<1x2xf16>) -> tensor<4x2xf16>
  %0 = weir.mul %a, %large : (tensor<4x2xf16>, tensor<2xf16>) -> tensor<4x2xf16>
  %1 = weir.mul %b, %small : (tensor<4x2xf16>, tensor<2xf16>) -> tensor<4x2xf16>
  %2 = weir.mul %c, %same : (tensor<4x2xf16>, tensor<f16>) -> tensor<4x2xf16>
  return %0, %1, %2 : tensor<4x2xf16>, tensor<4x2xf16>, tensor<4x2xf16>
}

// -----

// Where two branches meet, their shifts are one; one that something else reads stays.
// CHECK-LABEL: @branches
// CHECK-DAG: %[[S:.*]] = weir.constant dense<[3.000000e+00, 5.000000e+00]> : tensor<2xf32>
// CHECK: %[[A:.*]] = weir.dot_general %arg0, %arg1
// CHECK: %[[B:.*]] = weir.dot_general %arg0, %arg2
// CHECK: %[[M:.*]] = weir.add %[[A]], %[[B]]
// CHECK: weir.add %[[M]], %[[S]]
// CHECK-NOT: weir.add
// CHECK: return
func.func @branches(%x: tensor<4x2xf32>, %u: tensor<2x2xf32>, %v: tensor<2x2xf32>) -> tensor<4x2xf32> {
  %s = weir.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %t = weir.constant dense<[2.0, 3.0]> : tensor<2xf32>
  %a = weir.dot_general %x, %u {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, accumulator = f32} : (tensor<4x2xf32>, tensor<2x2xf32>) -> tensor<4x2xf32>
  %b = weir.dot_general %x, %v {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, accumulator = f32} : (tensor<4x2xf32>, tensor<2x2xf32>) -> tensor<4x2xf32>
  %0 = weir.add %a, %s : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
  %1 = weir.add %b, %t : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
  %2 = weir.add %0, %1 : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  return %2 : tensor<4x2xf32>
}

// -----

// CHECK-LABEL: @shared_branch
// CHECK-COUNT-3: weir.add
func.func @shared_branch(%x: tensor<4x2xf32>, %u: tensor<2x2xf32>, %v: tensor<2x2xf32>) -> (tensor<4x2xf32>, tensor<4x2xf32>) {
  %s = weir.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %a = weir.dot_general %x, %u {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, accumulator = f32} : (tensor<4x2xf32>, tensor<2x2xf32>) -> tensor<4x2xf32>
  %b = weir.dot_general %x, %v {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, accumulator = f32} : (tensor<4x2xf32>, tensor<2x2xf32>) -> tensor<4x2xf32>
  %0 = weir.add %a, %s : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
  %1 = weir.add %b, %s : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
  %2 = weir.add %0, %1 : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  return %0, %2 : tensor<4x2xf32>, tensor<4x2xf32>
}

// -----

// A large filter of the model file is not read: what it is multiplied by stands beside it.
// CHECK-LABEL: @blob
// CHECK-DAG: weir.constant #weir.scaled<#weir.blob<"w.bin", 0, 8192, "00"> : tensor<2x1024x1x1xf32>, [2.000000e+00, 1.000000e+01], 0> : tensor<2x1024x1x1xf32>
// CHECK: weir.conv
// CHECK-NOT: weir.mul
func.func @blob(%x: tensor<1x1024x5x5xf32>) -> tensor<1x2x5x5xf32> {
  %w = weir.constant #weir.blob<"w.bin", 0, 8192, "00"> : tensor<2x1024x1x1xf32>
  %s = weir.constant dense<[[[2.0]], [[10.0]]]> : tensor<2x1x1xf32>
  %c = weir.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, channels_last = false, accumulator = f32} : (tensor<1x1024x5x5xf32>, tensor<2x1024x1x1xf32>) -> tensor<1x2x5x5xf32>
  %0 = weir.mul %c, %s : (tensor<1x2x5x5xf32>, tensor<2x1x1xf32>) -> tensor<1x2x5x5xf32>
  return %0 : tensor<1x2x5x5xf32>
}
