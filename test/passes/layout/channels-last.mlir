// What becomes a two-dimensional convolution, channels last.
//
// RUN: weir-opt --weir-channels-last --weir-canonical-gemms %s | FileCheck %s

// A line is an image of one line; the bias goes with the convolution.
// CHECK-LABEL: func.func @line
// CHECK: weir.conv {{.*}}strides = array<i64: 1, 2>{{.*}} -> tensor<1x1x50x32xf32>
// CHECK-NEXT: weir.add {{.*}} -> tensor<1x1x50x32xf32>
// CHECK: weir.reshape {{.*}} -> tensor<1x50x32xf32>
func.func @line(%x: tensor<1x100x16xf32>) -> tensor<1x50x32xf32> {
  %w = weir.constant dense<1.0> : tensor<3x16x32xf32>
  %b = weir.constant dense<2.0> : tensor<1x1x32xf32>
  %0 = weir.conv %x, %w {strides = array<i64: 2>, pads = array<i64: 1, 1>, dilations = array<i64: 1>, groups = 1 : i64, channels_last = true, accumulator = f32} : (tensor<1x100x16xf32>, tensor<3x16x32xf32>) -> tensor<1x50x32xf32>
  %1 = weir.add %0, %b : (tensor<1x50x32xf32>, tensor<1x1x32xf32>) -> tensor<1x50x32xf32>
  return %1 : tensor<1x50x32xf32>
}

// Sizes that are not known are asked for.
// CHECK-LABEL: func.func @open
// CHECK: weir.shape_of
// CHECK: weir.conv {{.*}} -> tensor<?x1x?x32xf32>
func.func @open(%x: tensor<?x?x16xf32>) -> tensor<?x?x32xf32> {
  %w = weir.constant dense<1.0> : tensor<3x16x32xf32>
  %0 = weir.conv %x, %w {strides = array<i64: 1>, pads = array<i64: 1, 1>, dilations = array<i64: 1>, groups = 1 : i64, channels_last = true, accumulator = f32} : (tensor<?x?x16xf32>, tensor<3x16x32xf32>) -> tensor<?x?x32xf32>
  return %0 : tensor<?x?x32xf32>
}

// All four phases have one tap: they are columns of one convolution.
// CHECK-LABEL: func.func @phases_together
// CHECK-NOT: weir.conv_transpose
// CHECK: weir.conv {{.*}} -> tensor<1x7x7x32xf32>
// CHECK-NOT: weir.conv{{ }}
// CHECK: return
func.func @phases_together(%x: tensor<1x16x7x7xf32>) -> tensor<1x8x14x14xf32> {
  %w = weir.constant dense<1.0> : tensor<16x8x2x2xf32>
  %s = weir.constant dense<14> : tensor<2xi64>
  %0 = weir.conv_transpose %x, %w, %s {strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, channels_last = false} : (tensor<1x16x7x7xf32>, tensor<16x8x2x2xf32>, tensor<2xi64>) -> tensor<1x8x14x14xf32>
  return %0 : tensor<1x8x14x14xf32>
}

// A filter that the run computes, as in a gradient, is cut into its phases there.
// CHECK-LABEL: func.func @phases_computed
// CHECK-NOT: weir.conv_transpose
// CHECK: weir.reverse
// CHECK: weir.conv {{.*}} -> tensor<1x7x7x32xf32>
// CHECK-NOT: weir.conv{{ }}
// CHECK: return
func.func @phases_computed(%x: tensor<1x16x7x7xf32>, %w: tensor<16x8x2x2xf32>) -> tensor<1x8x14x14xf32> {
  %s = weir.constant dense<14> : tensor<2xi64>
  %0 = weir.conv_transpose %x, %w, %s {strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, channels_last = false} : (tensor<1x16x7x7xf32>, tensor<16x8x2x2xf32>, tensor<2xi64>) -> tensor<1x8x14x14xf32>
  return %0 : tensor<1x8x14x14xf32>
}

// Three taps by a stride of two: phases differ, and no product with a zero that
// is not there stands in for them.
// CHECK-LABEL: func.func @phases_apart
// CHECK-COUNT-4: weir.conv{{ }}
// CHECK: weir.concat
func.func @phases_apart(%x: tensor<1x16x7x7xf32>) -> tensor<1x8x13x13xf32> {
  %w = weir.constant dense<1.0> : tensor<16x8x3x3xf32>
  %s = weir.constant dense<13> : tensor<2xi64>
  %0 = weir.conv_transpose %x, %w, %s {strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64, channels_last = false} : (tensor<1x16x7x7xf32>, tensor<16x8x3x3xf32>, tensor<2xi64>) -> tensor<1x8x13x13xf32>
  return %0 : tensor<1x8x13x13xf32>
}

// Each group has its phases next to each other.
// CHECK-LABEL: func.func @groups
// CHECK: weir.conv {{.*}} groups = 2 {{.*}} -> tensor<1x7x7x64xf32>
// CHECK: weir.reshape {{.*}} -> tensor<1x7x7x2x2x2x8xf32>
// CHECK-NEXT: weir.transpose {{.*}}permutation = array<i64: 0, 1, 4, 2, 5, 3, 6>
func.func @groups(%x: tensor<1x16x7x7xf32>) -> tensor<1x16x14x14xf32> {
  %w = weir.constant dense<1.0> : tensor<16x8x2x2xf32>
  %s = weir.constant dense<14> : tensor<2xi64>
  %0 = weir.conv_transpose %x, %w, %s {strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 2 : i64, channels_last = false} : (tensor<1x16x7x7xf32>, tensor<16x8x2x2xf32>, tensor<2xi64>) -> tensor<1x16x14x14xf32>
  return %0 : tensor<1x16x14x14xf32>
}

// A pool over many channels pays for its transpositions; over few it does not.
// CHECK-LABEL: func.func @pools
// CHECK: weir.pool {{.*}}channels_last = true
// CHECK: weir.pool {{.*}}channels_last = false
func.func @pools(%x: tensor<1x16x8x8xf32>, %y: tensor<1x3x8x8xf32>) -> (tensor<1x16x4x4xf32>, tensor<1x3x4x4xf32>) {
  %0 = weir.pool %x {kind = "max", window = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, ceil_mode = false, count_include_pad = false, p = 1 : i64, channels_last = false} : (tensor<1x16x8x8xf32>) -> tensor<1x16x4x4xf32>
  %1 = weir.pool %y {kind = "max", window = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, ceil_mode = false, count_include_pad = false, p = 1 : i64, channels_last = false} : (tensor<1x3x8x8xf32>) -> tensor<1x3x4x4xf32>
  return %0, %1 : tensor<1x16x4x4xf32>, tensor<1x3x4x4xf32>
}

// How many channels a fed filter has only the run may know: it stays a transposed convolution.
// CHECK-LABEL: func.func @open_filter
// CHECK: weir.conv_transpose
// CHECK-NOT: weir.conv {{.*}}
// CHECK: return
func.func @open_filter(%x: tensor<?x?x?xf32>, %w: tensor<?x?x1xf32>, %sizes: tensor<1xi64>) -> tensor<?x?x?xf32> {
  %0 = weir.conv_transpose %x, %w, %sizes {channels_last = false, dilations = array<i64: 1>, groups = 4 : i64, pads = array<i64: 0, 0>, strides = array<i64: 1>} : (tensor<?x?x?xf32>, tensor<?x?x1xf32>, tensor<1xi64>) -> tensor<?x?x?xf32>
  return %0 : tensor<?x?x?xf32>
}

// A gate for each channel of an open number of images, computed from their means: none of its
// dimensions changes places with another, so that images stay as they are between convolutions.
// CHECK-LABEL: func.func @gated_images
// CHECK: weir.transpose %arg0
// CHECK-NOT: weir.transpose
// CHECK: weir.mul {{.*}}tensor<?x8x8x16xf32>
// CHECK: weir.conv
// CHECK: weir.transpose
// CHECK-NOT: weir.transpose
// CHECK: return
func.func @gated_images(%x: tensor<?x16x8x8xf32>) -> tensor<?x16x8x8xf32> {
  %w = weir.constant dense<1.0> : tensor<16x16x3x3xf32>
  %v = weir.constant dense<2.0> : tensor<16x16x3x3xf32>
  %0 = weir.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64, channels_last = false, accumulator = f32} : (tensor<?x16x8x8xf32>, tensor<16x16x3x3xf32>) -> tensor<?x16x8x8xf32>
  %1 = weir.reduce %0 {axes = array<i64: 2, 3>, keep_dims = true, kind = "mean"} : (tensor<?x16x8x8xf32>) -> tensor<?x16x1x1xf32>
  %2 = weir.logistic %1 : (tensor<?x16x1x1xf32>) -> tensor<?x16x1x1xf32>
  %3 = weir.mul %0, %2 : (tensor<?x16x8x8xf32>, tensor<?x16x1x1xf32>) -> tensor<?x16x8x8xf32>
  %4 = weir.conv %3, %v {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64, channels_last = false, accumulator = f32} : (tensor<?x16x8x8xf32>, tensor<16x16x3x3xf32>) -> tensor<?x16x8x8xf32>
  return %4 : tensor<?x16x8x8xf32>
}

// A softmax along lines that a transposition puts together stays behind it where few results lie side
// by side before: of four heads a vector would be a quarter full.
// CHECK-LABEL: func.func @softmax_of_few_heads
// CHECK: weir.add {{.*}}tensor<?x32x32x4xf32>
// CHECK-NEXT: weir.transpose
// CHECK-NEXT: weir.reduce {{.*}}axes = array<i64: 3>
// CHECK: weir.add {{.*}}tensor<?x32x32x16xf32>
// CHECK-NEXT: weir.reduce {{.*}}axes = array<i64: 2>
func.func @softmax_of_few_heads(%x: tensor<?x32x32x4xf32>, %y: tensor<?x32x32x16xf32>, %b: tensor<f32>, %i: tensor<1x8x8x8xf32>)
    -> (tensor<?x4x32x1xf32>, tensor<?x16x32x1xf32>, tensor<1x8x8x8xf32>) {
  %w = weir.constant dense<1.0> : tensor<8x8x1x1xf32>
  %c = weir.conv %i, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, channels_last = false, accumulator = f32} : (tensor<1x8x8x8xf32>, tensor<8x8x1x1xf32>) -> tensor<1x8x8x8xf32>
  %0 = weir.add %x, %b : (tensor<?x32x32x4xf32>, tensor<f32>) -> tensor<?x32x32x4xf32>
  %1 = weir.transpose %0 {permutation = array<i64: 0, 3, 1, 2>} : (tensor<?x32x32x4xf32>) -> tensor<?x4x32x32xf32>
  %2 = weir.reduce %1 {axes = array<i64: 3>, keep_dims = true, kind = "max"} : (tensor<?x4x32x32xf32>) -> tensor<?x4x32x1xf32>
  %3 = weir.add %y, %b : (tensor<?x32x32x16xf32>, tensor<f32>) -> tensor<?x32x32x16xf32>
  %4 = weir.transpose %3 {permutation = array<i64: 0, 3, 1, 2>} : (tensor<?x32x32x16xf32>) -> tensor<?x16x32x32xf32>
  %5 = weir.reduce %4 {axes = array<i64: 3>, keep_dims = true, kind = "max"} : (tensor<?x16x32x32xf32>) -> tensor<?x16x32x1xf32>
  return %2, %5, %c : tensor<?x4x32x1xf32>, tensor<?x16x32x1xf32>, tensor<1x8x8x8xf32>
}

// What a network makes of an image's positions, and of tokens back to an image, lies as it is: neither
// joining them nor splitting them moves anything, and the image between two convolutions is moved once
// each way.
// CHECK-LABEL: func.func @tokens
// CHECK: weir.transpose %arg0
// CHECK: weir.conv
// CHECK-NOT: weir.transpose
// CHECK: weir.reshape {{.*}} -> tensor<?x64x16xf32>
// CHECK-NOT: weir.transpose
// CHECK: weir.dot_general
// CHECK-NOT: weir.transpose
// CHECK: weir.reshape {{.*}} -> tensor<?x8x8x16xf32>
// CHECK-NOT: weir.transpose %{{[0-9]+}} {permutation = array<i64: 0
// CHECK: weir.conv
// CHECK-NEXT: weir.transpose
// CHECK-NEXT: return
func.func @tokens(%x: tensor<?x16x8x8xf32>, %m: tensor<16x16xf32>) -> tensor<?x16x8x8xf32> {
  %w = weir.constant dense<1.0> : tensor<16x16x3x3xf32>
  %v = weir.constant dense<2.0> : tensor<16x16x3x3xf32>
  %tokens = weir.constant dense<[-1, 16, 64]> : tensor<3xi64>
  %image = weir.constant dense<[-1, 16, 8, 8]> : tensor<4xi64>
  %0 = weir.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64, channels_last = false, accumulator = f32} : (tensor<?x16x8x8xf32>, tensor<16x16x3x3xf32>) -> tensor<?x16x8x8xf32>
  %1 = weir.reshape %0, %tokens : (tensor<?x16x8x8xf32>, tensor<3xi64>) -> tensor<?x16x64xf32>
  %2 = weir.transpose %1 {permutation = array<i64: 0, 2, 1>} : (tensor<?x16x64xf32>) -> tensor<?x64x16xf32>
  %3 = weir.dot_general %2, %m {accumulator = f32, lhs_batch = array<i64>, lhs_contract = array<i64: 2>, rhs_batch = array<i64>, rhs_contract = array<i64: 0>} : (tensor<?x64x16xf32>, tensor<16x16xf32>) -> tensor<?x64x16xf32>
  %4 = weir.transpose %3 {permutation = array<i64: 0, 2, 1>} : (tensor<?x64x16xf32>) -> tensor<?x16x64xf32>
  %5 = weir.reshape %4, %image : (tensor<?x16x64xf32>, tensor<4xi64>) -> tensor<?x16x8x8xf32>
  %6 = weir.conv %5, %v {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64, channels_last = false, accumulator = f32} : (tensor<?x16x8x8xf32>, tensor<16x16x3x3xf32>) -> tensor<?x16x8x8xf32>
  return %6 : tensor<?x16x8x8xf32>
}

// A channel is not next to positions before the transposition, and several dimensions that become
// several others are no matter of one dimension: both stay.
// CHECK-LABEL: func.func @regrouped_otherwise
// CHECK: weir.conv
// CHECK: weir.transpose
// CHECK-NEXT: weir.reshape
// CHECK: weir.conv
// CHECK: weir.transpose
// CHECK-NEXT: weir.reshape
func.func @regrouped_otherwise(%x: tensor<4x16x8x8xf32>) -> (tensor<4x1024xf32>, tensor<4x8x128xf32>) {
  %w = weir.constant dense<1.0> : tensor<16x16x3x3xf32>
  %v = weir.constant dense<2.0> : tensor<16x16x3x3xf32>
  %all = weir.constant dense<[4, 1024]> : tensor<2xi64>
  %groups = weir.constant dense<[4, 8, 128]> : tensor<3xi64>
  %0 = weir.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64, channels_last = false, accumulator = f32} : (tensor<4x16x8x8xf32>, tensor<16x16x3x3xf32>) -> tensor<4x16x8x8xf32>
  %1 = weir.reshape %0, %all : (tensor<4x16x8x8xf32>, tensor<2xi64>) -> tensor<4x1024xf32>
  %2 = weir.conv %x, %v {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64, channels_last = false, accumulator = f32} : (tensor<4x16x8x8xf32>, tensor<16x16x3x3xf32>) -> tensor<4x16x8x8xf32>
  %3 = weir.reshape %2, %groups : (tensor<4x16x8x8xf32>, tensor<3xi64>) -> tensor<4x8x128xf32>
  return %1, %3 : tensor<4x1024xf32>, tensor<4x8x128xf32>
}

// What is returned keeps its type, of which no more is known than when it was made, though its sizes
// could be inferred by now.
// CHECK-LABEL: func.func @type_is_kept
// CHECK: weir.resize {{.*}} -> tensor<?x?x?x8xf32>
// CHECK: return {{.*}} : tensor<?x8x?x?xf32>
func.func @type_is_kept(%x: tensor<?x8x4x4xf32>) -> tensor<?x8x?x?xf32> {
  %w = weir.constant dense<1.0> : tensor<8x8x1x1xf32>
  %sizes = weir.constant dense<8> : tensor<2xi64>
  %scales = weir.constant dense<2.0> : tensor<2xf32>
  %roi = weir.constant dense<0.0> : tensor<4xf32>
  %0 = weir.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, channels_last = false, accumulator = f32} : (tensor<?x8x4x4xf32>, tensor<8x8x1x1xf32>) -> tensor<?x8x4x4xf32>
  %1 = weir.resize %0, %sizes, %scales, %roi {antialias = false, axes = array<i64: 2, 3>, coordinates = "half_pixel", cubic_coefficient = -7.500000e-01 : f64, exclude_outside = false, extrapolation_value = 0.000000e+00 : f64, mode = "linear", nearest = "floor"} : (tensor<?x8x4x4xf32>, tensor<2xi64>, tensor<2xf32>, tensor<4xf32>) -> tensor<?x8x?x?xf32>
  return %1 : tensor<?x8x?x?xf32>
}
