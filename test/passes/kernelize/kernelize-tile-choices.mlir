// Tiles that measurements chose, by the shape of what they are for.
//
// RUN: weir-opt --weir-kernelize %s | FileCheck %s

module attributes {weir.target = #weir.target<vector_bytes = 64>, weir.tiles = {
    "product 300x2048 by 2048x256" = "tile=7x4 part=70 depth=512",
    "product 310x2048 by 2048x512" = "packed=0",
    "product 320x2048 by 2048x512" = "tile=6x4 part=200 depth=1024 packed=1",
    "product 5x64 by 64x40" = "tile=14x8 part=1000 depth=512 ahead=1",
    "product 300x64 by 64x256 constant" = "tile=14x1 ahead=0",
    "convolution 1x22x22x64 by 3x3x64x64 to 1x20x20x64 strides 1x1 constant" = "direct tile=10x2 part=40",
    "convolution 1x34x34x64 by 3x3x64x64 to 1x32x32x64 strides 1x1 constant" = "tile=8x2 part=2048",
    "convolution 1x22x22x32 by 3x3x16x96 to 1x20x20x96 strides 1x1 groups 2" = "winograd tile=10x3",
    "convolution 1x4x500x32 by 1x1x32x64 to 1x4x500x64 strides 1x1" = "part=100"}} {
  // CHECK: weir_plan.kernel @dot_general_300_256_f32 schedule <gemm,
  // CHECK-SAME: depth_block = 512 : i64
  // CHECK-SAME: parts = array<i64: 70, 64>, tile = array<i64: 7, 4, 16>
  // CHECK-SAME: tuned = "tile=7x4 part=70 depth=512"
  func.func @product(%x: tensor<300x2048xf32>, %w: tensor<2048x256xf32>) -> tensor<300x256xf32> {
    %0 = weir.dot_general %x, %w {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<300x2048xf32>, tensor<2048x256xf32>) -> tensor<300x256xf32>
    return %0 : tensor<300x256xf32>
  }

  // Rows of the left operand are packed, or not, whatever the cost model says.
  // CHECK: weir_plan.kernel @dot_general_310_512_f32
  // CHECK-NOT: packs_rows
  // CHECK: weir.dot_general
  func.func @as_they_lie(%x: tensor<310x2048xf32>, %w: tensor<2048x512xf32>) -> tensor<310x512xf32> {
    %0 = weir.dot_general %x, %w {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<310x2048xf32>, tensor<2048x512xf32>) -> tensor<310x512xf32>
    return %0 : tensor<310x512xf32>
  }
  // CHECK: weir_plan.kernel @dot_general_320_512_f32
  // CHECK-SAME: depth_block = 1024 : i64
  // CHECK-SAME: packs_rows
  // CHECK-SAME: parts = array<i64: 198, 64>, tile = array<i64: 6, 4, 16>
  func.func @packed_rows(%x: tensor<320x2048xf32>, %w: tensor<2048x512xf32>) -> tensor<320x512xf32> {
    %0 = weir.dot_general %x, %w {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<320x2048xf32>, tensor<2048x512xf32>) -> tensor<320x512xf32>
    return %0 : tensor<320x512xf32>
  }

  // What is larger than the product is cut down to it.
  // CHECK: weir_plan.kernel @dot_general_5_40_f32
  // CHECK-NOT: depth_block
  // CHECK-SAME: parts = array<i64: 5, 48>, tile = array<i64: 5, 3, 16>
  func.func @small(%x: tensor<5x64xf32>, %w: tensor<64x40xf32>) -> tensor<5x40xf32> {
    %0 = weir.dot_general %x, %w {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<5x64xf32>, tensor<64x40xf32>) -> tensor<5x40xf32>
    return %0 : tensor<5x40xf32>
  }

  // Weights are packed for the tile that was chosen; what is no constant has a choice
  // of its own, or none.
  // CHECK: weir_plan.kernel @dot_general_300_256_f32.2
  // CHECK-SAME: fetch_ahead = false
  // CHECK-SAME: parts = array<i64: 140, 16>, tile = array<i64: 14, 1, 16>
  // CHECK: weir.unpack_panels {{.*}} : (tensor<16x64x16xf32>)
  func.func @packed(%x: tensor<300x64xf32>) -> tensor<300x256xf32> {
    %w = weir.constant dense<2.0> : tensor<64x256xf32>
    %0 = weir.dot_general %x, %w {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<300x64xf32>, tensor<64x256xf32>) -> tensor<300x256xf32>
    return %0 : tensor<300x256xf32>
  }
  // CHECK: weir_plan.kernel @dot_general_300_256_f32.3
  // CHECK-NOT: tuned
  // CHECK: weir.dot_general
  func.func @fed(%x: tensor<300x64xf32>, %w: tensor<64x256xf32>) -> tensor<300x256xf32> {
    %0 = weir.dot_general %x, %w {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<300x64xf32>, tensor<64x256xf32>) -> tensor<300x256xf32>
    return %0 : tensor<300x256xf32>
  }

  // CHECK: weir_plan.kernel @conv_1_20_20_64_f32 schedule <convolution,
  // CHECK-SAME: parts = array<i64: 1, 2, 20, 32>, tile = array<i64: 10, 2, 16>
  func.func @direct(%x: tensor<1x22x22x64xf32>) -> tensor<1x20x20x64xf32> {
    %w = weir.constant dense<2.0> : tensor<3x3x64x64xf32>
    %0 = weir.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, channels_last = true, accumulator = f32} : (tensor<1x22x22x64xf32>, tensor<3x3x64x64xf32>) -> tensor<1x20x20x64xf32>
    return %0 : tensor<1x20x20x64xf32>
  }

  // CHECK: weir_plan.kernel @conv_1_32_32_64_f32 schedule <winograd,
  // CHECK-SAME: block_tiles = 32 : i64, {{.*}}parts = array<i64: 1, 4, 32, {{.*}}tile = array<i64: 8, 2, 16>
  func.func @winograd(%x: tensor<1x34x34x64xf32>) -> tensor<1x32x32x64xf32> {
    %w = weir.constant dense<2.0> : tensor<3x3x64x64xf32>
    %0 = weir.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, channels_last = true, accumulator = f32} : (tensor<1x34x34x64xf32>, tensor<3x3x64x64xf32>) -> tensor<1x32x32x64xf32>
    return %0 : tensor<1x32x32x64xf32>
  }

  // A panel stays within a group, and the form is the one that there is.
  // CHECK: weir_plan.kernel @conv_1_20_20_96_f32 schedule <convolution,
  // CHECK-SAME: tile = array<i64: 10, 3, 16>
  func.func @groups(%x: tensor<1x22x22x32xf32>, %w: tensor<3x3x16x96xf32>) -> tensor<1x20x20x96xf32> {
    %0 = weir.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 2 : i64, channels_last = true, accumulator = f32} : (tensor<1x22x22x32xf32>, tensor<3x3x16x96xf32>) -> tensor<1x20x20x96xf32>
    return %0 : tensor<1x20x20x96xf32>
  }

  // A part has a line at least, whose tiles have as many rows as ever.
  // CHECK: weir_plan.kernel @conv_1_4_500_64_f32
  // CHECK-SAME: parts = array<i64: 1, 1, 500,
  // CHECK-SAME: pointwise, tile = array<i64: {{[1-9][0-9]*}}, {{[2-4]}}, 16>
  func.func @wide(%x: tensor<1x4x500x32xf32>, %w: tensor<1x1x32x64xf32>) -> tensor<1x4x500x64xf32> {
    %0 = weir.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, channels_last = true, accumulator = f32} : (tensor<1x4x500x32xf32>, tensor<1x1x32x64xf32>) -> tensor<1x4x500x64xf32>
    return %0 : tensor<1x4x500x64xf32>
  }
}
