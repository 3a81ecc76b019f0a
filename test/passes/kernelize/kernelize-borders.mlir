// Direct convolutions of known sizes read an image without its border of zeros, which is then
// written nowhere.
//
// RUN: weir-opt --weir-kernelize %s | FileCheck %s

module attributes {weir.target = #weir.target<vector_bytes = 64>, weir.first_level_ways = 12} {
  // CHECK: weir_plan.kernel @conv_1_7_7_64_f32
  // CHECK-SAME: schedule <convolution,
  // Rows of the image lie a multiple of 4 KiB apart: with 12 ways that takes no row from the tile.
  // CHECK-SAME: lines = 2 : i64
  // CHECK-SAME: tile = array<i64: 14, 2, 16>
  // CHECK: weir.conv %arg0
  // CHECK-SAME: pads = array<i64: 1, 0, 1, 2>
  // CHECK-SAME: tensor<1x14x13x512xf32>
  func.func @own(%x: tensor<1x14x13x512xf32>, %w: tensor<3x3x512x64xf32>) -> tensor<1x7x7x64xf32> {
    %zero = weir.constant dense<0.0> : tensor<f32>
    %pads = weir.constant dense<[0, 1, 1, 0, 0, 0, 2, 0]> : tensor<8xi64>
    %p = weir.pad %x, %pads, %zero {mode = "constant"} : (tensor<1x14x13x512xf32>, tensor<8xi64>, tensor<f32>) -> tensor<1x15x16x512xf32>
    %0 = weir.conv %p, %w {strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, channels_last = true, accumulator = f32} : (tensor<1x15x16x512xf32>, tensor<3x3x512x64xf32>) -> tensor<1x7x7x64xf32>
    return %0 : tensor<1x7x7x64xf32>
  }
  // CHECK-NOT: weir_plan.kernel @pad_1_15_16_512

  // What may be computed in Winograd's form keeps it, …
  // CHECK: weir_plan.kernel @pad_1_9_9_32_f32
  func.func @squares(%x: tensor<1x7x7x32xf32>, %w: tensor<3x3x32x64xf32>) -> tensor<1x7x7x64xf32> {
    %zero = weir.constant dense<0.0> : tensor<f32>
    %pads = weir.constant dense<[0, 1, 1, 0, 0, 1, 1, 0]> : tensor<8xi64>
    %p = weir.pad %x, %pads, %zero {mode = "constant"} : (tensor<1x7x7x32xf32>, tensor<8xi64>, tensor<f32>) -> tensor<1x9x9x32xf32>
    %0 = weir.conv %p, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, channels_last = true, accumulator = f32} : (tensor<1x9x9x32xf32>, tensor<3x3x32x64xf32>) -> tensor<1x7x7x64xf32>
    return %0 : tensor<1x7x7x64xf32>
  }

  // … and so do few channels, …
  // CHECK: weir_plan.kernel @pad_1_12_12_3_f32
  func.func @few(%x: tensor<1x8x8x3xf32>, %w: tensor<5x5x3x64xf32>) -> tensor<1x8x8x64xf32> {
    %zero = weir.constant dense<0.0> : tensor<f32>
    %pads = weir.constant dense<[0, 2, 2, 0, 0, 2, 2, 0]> : tensor<8xi64>
    %p = weir.pad %x, %pads, %zero {mode = "constant"} : (tensor<1x8x8x3xf32>, tensor<8xi64>, tensor<f32>) -> tensor<1x12x12x3xf32>
    %0 = weir.conv %p, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, channels_last = true, accumulator = f32} : (tensor<1x12x12x3xf32>, tensor<5x5x3x64xf32>) -> tensor<1x8x8x64xf32>
    return %0 : tensor<1x8x8x64xf32>
  }

  // … borders of something else, …
  // CHECK: weir_plan.kernel @pad_1_10_10_32_f32
  func.func @ones(%x: tensor<1x8x8x32xf32>, %w: tensor<3x3x32x64xf32>) -> tensor<1x4x4x64xf32> {
    %one = weir.constant dense<1.0> : tensor<f32>
    %pads = weir.constant dense<[0, 1, 1, 0, 0, 1, 1, 0]> : tensor<8xi64>
    %p = weir.pad %x, %pads, %one {mode = "constant"} : (tensor<1x8x8x32xf32>, tensor<8xi64>, tensor<f32>) -> tensor<1x10x10x32xf32>
    %0 = weir.conv %p, %w {strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, channels_last = true, accumulator = f32} : (tensor<1x10x10x32xf32>, tensor<3x3x32x64xf32>) -> tensor<1x4x4x64xf32>
    return %0 : tensor<1x4x4x64xf32>
  }

  // … and what something else reads, too.
  // CHECK: weir_plan.kernel @pad_1_11_11_32_f32
  func.func @shared(%x: tensor<1x9x9x32xf32>, %w: tensor<3x3x32x64xf32>) -> (tensor<1x5x5x64xf32>, tensor<1x11x11x32xf32>) {
    %zero = weir.constant dense<0.0> : tensor<f32>
    %pads = weir.constant dense<[0, 1, 1, 0, 0, 1, 1, 0]> : tensor<8xi64>
    %p = weir.pad %x, %pads, %zero {mode = "constant"} : (tensor<1x9x9x32xf32>, tensor<8xi64>, tensor<f32>) -> tensor<1x11x11x32xf32>
    %0 = weir.conv %p, %w {strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, channels_last = true, accumulator = f32} : (tensor<1x11x11x32xf32>, tensor<3x3x32x64xf32>) -> tensor<1x5x5x64xf32>
    return %0, %p : tensor<1x5x5x64xf32>, tensor<1x11x11x32xf32>
  }
}
