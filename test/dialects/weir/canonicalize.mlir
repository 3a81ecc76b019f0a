// Operations that change nothing go; what is known is computed. Beside each, a
// neighbour that must stay.
// REQUIRES: weir-opt
// RUN: weir-opt %s --canonicalize | FileCheck %s

// The composed permutation is the identity.
// CHECK-LABEL: @transposes
// CHECK-NEXT: return %arg0
func.func @transposes(%x: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
  %0 = weir.transpose %x {permutation = array<i64: 2, 0, 1>} : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
  %1 = weir.transpose %0 {permutation = array<i64: 1, 2, 0>} : (tensor<4x2x3xf32>) -> tensor<2x3x4xf32>
  return %1 : tensor<2x3x4xf32>
}

// CHECK-LABEL: @same_type_is_not_enough
// CHECK: weir.transpose %arg0 {permutation = array<i64: 1, 0>}
func.func @same_type_is_not_enough(%x: tensor<3x3xf32>) -> tensor<3x3xf32> {
  %0 = weir.transpose %x {permutation = array<i64: 1, 0>} : (tensor<3x3xf32>) -> tensor<3x3xf32>
  return %0 : tensor<3x3xf32>
}

// A tensor under its own shape, one size of which is known at run time only.
// CHECK-LABEL: @own_shape
// CHECK-NEXT: return %arg0
func.func @own_shape(%x: tensor<?x3xf32>) -> tensor<?x3xf32> {
  %s = weir.shape_of %x {index_type = i64} : (tensor<?x3xf32>) -> tensor<2xi64>
  %0 = weir.reshape %x, %s : (tensor<?x3xf32>, tensor<2xi64>) -> tensor<?x3xf32>
  return %0 : tensor<?x3xf32>
}

// The shape of another tensor may differ.
// CHECK-LABEL: @other_shape
// CHECK: weir.reshape
func.func @other_shape(%x: tensor<?x?xf32>, %y: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %s = weir.shape_of %y {index_type = i64} : (tensor<?x?xf32>) -> tensor<2xi64>
  %0 = weir.reshape %x, %s : (tensor<?x?xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

// CHECK-LABEL: @whole_slice
// CHECK-NEXT: return %arg0
func.func @whole_slice(%x: tensor<2x?xf32>) -> tensor<2x?xf32> {
  %zero = weir.constant dense<0> : tensor<2xi64>
  %end = weir.constant dense<9223372036854775807> : tensor<2xi64>
  %one = weir.constant dense<1> : tensor<2xi64>
  %0 = weir.slice %x, %zero, %end, %one {axes = array<i64: 0, 1>, strict = false} : (tensor<2x?xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<2x?xf32>
  return %0 : tensor<2x?xf32>
}

// Backwards: same type, other order.
// CHECK-LABEL: @reversing_slice
// CHECK: weir.slice
func.func @reversing_slice(%x: tensor<4xf32>) -> tensor<4xf32> {
  %start = weir.constant dense<-1> : tensor<1xi64>
  %end = weir.constant dense<-100> : tensor<1xi64>
  %step = weir.constant dense<-1> : tensor<1xi64>
  %0 = weir.slice %x, %start, %end, %step {axes = array<i64: 0>, strict = false} : (tensor<4xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// Shape arithmetic on what is known of an open shape: 3 * 4.
// CHECK-LABEL: @shape_arithmetic
// CHECK: weir.constant dense<12> : tensor<i64>
func.func @shape_arithmetic(%x: tensor<?x3x4xf32>) -> tensor<i64> {
  %s = weir.shape_of %x {index_type = i64} : (tensor<?x3x4xf32>) -> tensor<3xi64>
  %i = weir.constant dense<1> : tensor<1xi64>
  %j = weir.constant dense<3> : tensor<1xi64>
  %0 = weir.slice %s, %i, %j, %i {axes = array<i64: 0>, strict = false} : (tensor<3xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
  %1 = weir.reduce %0 {kind = "prod", axes = array<i64: 0>, keep_dims = false} : (tensor<2xi64>) -> tensor<i64>
  return %1 : tensor<i64>
}

// Bytes in a file under another shape are the same bytes.
// CHECK-LABEL: @reshaped_weights
// CHECK: weir.constant #weir.blob<"weights.bin", 64, 24, "00"> : tensor<2x3xf32>
func.func @reshaped_weights() -> tensor<2x3xf32> {
  %0 = weir.constant #weir.blob<"weights.bin", 64, 24, "00"> : tensor<6xf32>
  %s = weir.constant dense<[2, 3]> : tensor<2xi64>
  %1 = weir.reshape %0, %s : (tensor<6xf32>, tensor<2xi64>) -> tensor<2x3xf32>
  return %1 : tensor<2x3xf32>
}

// Order between effects is kept: the gate waits for a token.
// CHECK-LABEL: @gate
// CHECK: weir.gate %arg0 after %arg1
func.func @gate(%x: tensor<f32>, %t: !weir.token) -> tensor<f32> {
  %0 = weir.gate %x after %t : tensor<f32>
  return %0 : tensor<f32>
}

// Strings under another shape; they are not numbers to be read.
// CHECK-LABEL: @reshaped_strings
// CHECK: weir.constant dense<{{\[\[}}"a", "b"]]> : tensor<1x2x!weir.string>
func.func @reshaped_strings() -> tensor<1x2x!weir.string> {
  %0 = weir.constant dense<["a", "b"]> : tensor<2x!weir.string>
  %s = weir.constant dense<[1, 2]> : tensor<2xi64>
  %1 = weir.reshape %0, %s : (tensor<2x!weir.string>, tensor<2xi64>) -> tensor<1x2x!weir.string>
  return %1 : tensor<1x2x!weir.string>
}

// Squares and cubes are products; a cube of halves would be rounded on the way, and one
// exponent may stretch the base.
// CHECK-LABEL: @powers
// CHECK: %[[S:.*]] = weir.mul %arg0, %arg0
// CHECK: %[[Q:.*]] = weir.mul %arg0, %arg0
// CHECK: %[[C:.*]] = weir.mul %[[Q]], %arg0
// CHECK-COUNT-3: weir.pow
// CHECK: return %[[S]], %[[C]],
func.func @powers(%x: tensor<4xf32>, %h: tensor<4xf16>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf16>, tensor<2x4xf32>, tensor<4xf32>) {
  %two = weir.constant dense<2.0> : tensor<f32>
  %three = weir.constant dense<3.0> : tensor<f32>
  %half_three = weir.constant dense<3.0> : tensor<f16>
  %twos = weir.constant dense<2.0> : tensor<2x4xf32>
  %four = weir.constant dense<4.0> : tensor<f32>
  %0 = weir.pow %x, %two : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = weir.pow %x, %three : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %2 = weir.pow %h, %half_three : (tensor<4xf16>, tensor<f16>) -> tensor<4xf16>
  %3 = weir.pow %x, %twos : (tensor<4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %4 = weir.pow %x, %four : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %0, %1, %2, %3, %4 : tensor<4xf32>, tensor<4xf32>, tensor<4xf16>, tensor<2x4xf32>, tensor<4xf32>
}

// Nothing is asked of what is sliced to nothing.
// CHECK-LABEL: @slice_of_nothing
// CHECK: %[[N:.*]] = weir.constant dense<> : tensor<0x7xf32>
// CHECK: return %[[N]]
func.func @slice_of_nothing(%x: tensor<9x7xf32>) -> tensor<0x7xf32> {
  %0 = weir.constant dense<4> : tensor<1xi64>
  %1 = weir.constant dense<1> : tensor<1xi64>
  %2 = weir.slice %x, %0, %0, %1 {axes = array<i64: 0>, strict = false} : (tensor<9x7xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<0x7xf32>
  return %2 : tensor<0x7xf32>
}

// Filters of bytes stay bytes until products have looked for them; few, zero points and indices do not.
// CHECK-LABEL: @filters_of_bytes
// CHECK: %[[W:.*]] = weir.constant dense<3> : tensor<16x3x3x3xi8>
// CHECK: weir.cast %[[W]]
// CHECK-NEXT: weir.cast
// CHECK-NEXT: return
func.func @filters_of_bytes() -> (tensor<16x3x3x3xf32>, tensor<2x9xf32>, tensor<144x1x1xf32>, tensor<16x9xi32>) {
  %w = weir.constant dense<3> : tensor<16x3x3x3xi8>
  %few = weir.constant dense<4> : tensor<2x9xi8>
  %zeros = weir.constant dense<5> : tensor<144x1x1xi8>
  %indices = weir.constant dense<6> : tensor<16x9xi8>
  %ww = weir.cast %w {saturate = true} : (tensor<16x3x3x3xi8>) -> tensor<16x3x3x3xi32>
  %wf = weir.cast %ww {saturate = true} : (tensor<16x3x3x3xi32>) -> tensor<16x3x3x3xf32>
  %fw = weir.cast %few {saturate = true} : (tensor<2x9xi8>) -> tensor<2x9xi32>
  %ff = weir.cast %fw {saturate = true} : (tensor<2x9xi32>) -> tensor<2x9xf32>
  %zw = weir.cast %zeros {saturate = true} : (tensor<144x1x1xi8>) -> tensor<144x1x1xi32>
  %zf = weir.cast %zw {saturate = true} : (tensor<144x1x1xi32>) -> tensor<144x1x1xf32>
  %iw = weir.cast %indices {saturate = true} : (tensor<16x9xi8>) -> tensor<16x9xi32>
  return %wf, %ff, %zf, %iw : tensor<16x3x3x3xf32>, tensor<2x9xf32>, tensor<144x1x1xf32>, tensor<16x9xi32>
}

// What is not chosen may have more elements along an open dimension, of which the choice has one.
// CHECK-LABEL: @chosen_of_open_sizes
// CHECK: weir.select
func.func @chosen_of_open_sizes(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  %c = weir.constant dense<false> : tensor<1xi1>
  %0 = weir.select %c, %x, %y : (tensor<1xi1>, tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// CHECK-LABEL: @same_of_open_sizes
// CHECK: weir.select
func.func @same_of_open_sizes(%c: tensor<?xi1>, %x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = weir.select %c, %x, %x : (tensor<?xi1>, tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// CHECK-LABEL: @chosen_of_equal_sizes
// CHECK-NOT: weir.select
func.func @chosen_of_equal_sizes(%x: tensor<?xf32>, %s: tensor<f32>) -> (tensor<?xf32>, tensor<?xf32>, tensor<?xf32>) {
  %c = weir.constant dense<true> : tensor<1xi1>
  %y = weir.neg %x : (tensor<?xf32>) -> tensor<?xf32>
  %0 = weir.select %c, %x, %s : (tensor<1xi1>, tensor<?xf32>, tensor<f32>) -> tensor<?xf32>
  %1 = weir.select %c, %y, %x : (tensor<1xi1>, tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  %2 = weir.select %c, %x, %y : (tensor<1xi1>, tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  return %0, %1, %2 : tensor<?xf32>, tensor<?xf32>, tensor<?xf32>
}

// A kernel gives nothing that it was given.
// CHECK-LABEL: @marked_as_of_equal_sizes
// CHECK: weir.select
func.func @marked_as_of_equal_sizes(%c: tensor<?xi1>, %x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = weir.select %c, %x, %x {weir.equal_sizes} : (tensor<?xi1>, tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// One index a slice is a gather, whatever sizes are open; a pair is not.
// CHECK-LABEL: @one_index
// CHECK: %[[PLACES:.+]] = weir.reshape %arg1
// CHECK-SAME: -> tensor<?x3xi64>
// CHECK: weir.gather %arg0, %[[PLACES]] {axis = 0 : i64, batch_dims = 0 : i64, wrap_negative = true}
// CHECK: weir.gather %arg2, {{.+}} {axis = 1 : i64, batch_dims = 1 : i64, wrap_negative = false}
// CHECK-SAME: (tensor<?x8x5xf32>, tensor<?x?xi32>) -> tensor<?x?x5xf32>
// CHECK: weir.gather_nd
func.func @one_index(%x: tensor<8x5xf32>, %i: tensor<?x3x1xi64>, %y: tensor<?x8x5xf32>, %j: tensor<?x?x1xi32>, %pairs: tensor<?x2xi64>) -> (tensor<?x3x5xf32>, tensor<?x?x5xf32>, tensor<?xf32>) {
  %0 = weir.gather_nd %x, %i {batch_dims = 0 : i64, wrap_negative = true} : (tensor<8x5xf32>, tensor<?x3x1xi64>) -> tensor<?x3x5xf32>
  %1 = weir.gather_nd %y, %j {batch_dims = 1 : i64, wrap_negative = false} : (tensor<?x8x5xf32>, tensor<?x?x1xi32>) -> tensor<?x?x5xf32>
  %2 = weir.gather_nd %x, %pairs {batch_dims = 0 : i64, wrap_negative = false} : (tensor<8x5xf32>, tensor<?x2xi64>) -> tensor<?xf32>
  return %0, %1, %2 : tensor<?x3x5xf32>, tensor<?x?x5xf32>, tensor<?xf32>
}
