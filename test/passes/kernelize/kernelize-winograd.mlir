// Convolutions that are computed with fewer multiplications, and those that are not.
//
// RUN: weir-opt --weir-kernelize %s | FileCheck %s

module attributes {weir.target = #weir.target<vector_bytes = 64>} {
  // 49 tiles of 2x2 results; two of their lines are a part, and transformed weights
  // lie in panels.
  // CHECK-LABEL: func.func @fires
  // CHECK: weir_plan.launch @conv_1_14_14_64_f32({{.*}}) : (tensor<1x16x16x256xf32>, tensor<2x16x256x32xf32>)
  func.func @fires(%x: tensor<1x16x16x256xf32>) -> tensor<1x14x14x64xf32> {
    %w = weir.constant dense<2.0> : tensor<3x3x256x64xf32>
    %0 = weir.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, channels_last = true, accumulator = f32} : (tensor<1x16x16x256xf32>, tensor<3x3x256x64xf32>) -> tensor<1x14x14x64xf32>
    return %0 : tensor<1x14x14x64xf32>
  }

  // The window moves by two.
  func.func @strided(%x: tensor<1x29x29x64xf32>) -> tensor<1x14x14x64xf32> {
    %w = weir.constant dense<2.0> : tensor<3x3x64x64xf32>
    %0 = weir.conv %x, %w {strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, channels_last = true, accumulator = f32} : (tensor<1x29x29x64xf32>, tensor<3x3x64x64xf32>) -> tensor<1x14x14x64xf32>
    return %0 : tensor<1x14x14x64xf32>
  }

  // Sizes are open, but for channels.
  func.func @open(%x: tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32> {
    %w = weir.constant dense<2.0> : tensor<3x3x64x64xf32>
    %0 = weir.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, channels_last = true, accumulator = f32} : (tensor<?x?x?x64xf32>, tensor<3x3x64x64xf32>) -> tensor<?x?x?x64xf32>
    return %0 : tensor<?x?x?x64xf32>
  }

  // An image that may be small, and a large filter: tiles of 2x2.
  func.func @large(%x: tensor<1x?x?x512xf32>) -> tensor<1x?x?x512xf32> {
    %w = weir.constant dense<2.0> : tensor<3x3x512x512xf32>
    %0 = weir.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, channels_last = true, accumulator = f32} : (tensor<1x?x?x512xf32>, tensor<3x3x512x512xf32>) -> tensor<1x?x?x512xf32>
    return %0 : tensor<1x?x?x512xf32>
  }

  // A line has an odd number of results: the last tile reaches beyond it.
  func.func @odd(%x: tensor<1x17x17x64xf32>) -> tensor<1x15x15x64xf32> {
    %w = weir.constant dense<2.0> : tensor<3x3x64x64xf32>
    %0 = weir.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, channels_last = true, accumulator = f32} : (tensor<1x17x17x64xf32>, tensor<3x3x64x64xf32>) -> tensor<1x15x15x64xf32>
    return %0 : tensor<1x15x15x64xf32>
  }

  // A filter that is computed would be transformed at every step.
  func.func @computed(%x: tensor<1x18x18x64xf32>, %w: tensor<3x3x64x64xf32>) -> tensor<1x16x16x64xf32> {
    %0 = weir.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, channels_last = true, accumulator = f32} : (tensor<1x18x18x64xf32>, tensor<3x3x64x64xf32>) -> tensor<1x16x16x64xf32>
    return %0 : tensor<1x16x16x64xf32>
  }

  // Few channels do not pay for the transformations.
  func.func @narrow(%x: tensor<1x18x18x16xf32>) -> tensor<1x16x16x64xf32> {
    %w = weir.constant dense<2.0> : tensor<3x3x16x64xf32>
    %0 = weir.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, channels_last = true, accumulator = f32} : (tensor<1x18x18x16xf32>, tensor<3x3x16x64xf32>) -> tensor<1x16x16x64xf32>
    return %0 : tensor<1x16x16x64xf32>
  }

  // Tiles of 4x4 results.
  func.func @wide(%x: tensor<1x34x34x32xf32>) -> tensor<1x32x32x32xf32> {
    %w = weir.constant dense<2.0> : tensor<3x3x32x32xf32>
    %0 = weir.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, channels_last = true, accumulator = f32} : (tensor<1x34x34x32xf32>, tensor<3x3x32x32xf32>) -> tensor<1x32x32x32xf32>
    return %0 : tensor<1x32x32x32xf32>
  }

  // Enough tiles of 2x2 results, not of 4x4.
  func.func @few(%x: tensor<1x9x9x64xf32>) -> tensor<1x7x7x96xf32> {
    %w = weir.constant dense<2.0> : tensor<3x3x64x96xf32>
    %0 = weir.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, channels_last = true, accumulator = f32} : (tensor<1x9x9x64xf32>, tensor<3x3x64x96xf32>) -> tensor<1x7x7x96xf32>
    return %0 : tensor<1x7x7x96xf32>
  }

  // Nine tiles.
  func.func @fewer(%x: tensor<1x7x7x64xf32>) -> tensor<1x5x5x32xf32> {
    %w = weir.constant dense<2.0> : tensor<3x3x64x32xf32>
    %0 = weir.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, channels_last = true, accumulator = f32} : (tensor<1x7x7x64xf32>, tensor<3x3x64x32xf32>) -> tensor<1x5x5x32xf32>
    return %0 : tensor<1x5x5x32xf32>
  }

}

// CHECK: weir_plan.kernel @conv_1_14_14_64_f32 schedule <winograd,
// CHECK-SAME: block_tiles = 49 : i64, {{.*}}parts = array<i64: 1, 2, 14, 32>, square = 2 : i64, tile = array<i64: 14, 2, 16>
// CHECK: builtin.unrealized_conversion_cast %{{.*}} : tensor<2x16x256x32xf32> to tensor<3x3x256x64xf32>
// CHECK: weir_plan.kernel @conv_1_14_14_64_f32.2 schedule <convolution,
// CHECK: weir_plan.kernel @conv_d_d_d_64_f32 schedule <winograd,
// CHECK-SAME: block_tiles = 98 : i64, {{.*}}parts = array<i64: 1, 4, 256, 32>, square = 4 : i64
// CHECK: weir_plan.kernel @conv_1_d_d_512_f32 schedule <winograd,
// CHECK-SAME: square = 2 : i64
// CHECK: weir_plan.kernel @conv_1_15_15_64_f32 schedule <winograd,
// CHECK-SAME: square = 2 : i64
// CHECK: weir_plan.kernel @conv_1_16_16_64_f32 schedule <convolution,
// CHECK: weir_plan.kernel @conv_1_16_16_64_f32.2 schedule <convolution,
// CHECK: weir_plan.kernel @conv_1_32_32_32_f32 schedule <winograd,
// CHECK-SAME: parts = array<i64: 1, 4, 32, 32>, square = 4 : i64
// CHECK: builtin.unrealized_conversion_cast %{{.*}} : tensor<1x36x32x32xf32> to tensor<3x3x32x32xf32>
// CHECK: weir_plan.kernel @conv_1_7_7_96_f32 schedule <winograd,
// CHECK-SAME: block_tiles = 16 : i64, {{.*}}parts = array<i64: 1, 2, 8, 48>, square = 2 : i64
// CHECK: weir_plan.kernel @conv_1_5_5_32_f32 schedule <convolution,
