// How the ranges of products and convolutions are cut.
//
// RUN: weir-opt --weir-kernelize %s | FileCheck %s

module attributes {weir.target = #weir.target<vector_bytes = 64>} {
  // Rows of several dimensions are cut as one, and the bias is added in registers.
  // CHECK: weir_plan.kernel @dot_general_add_d_d_48_f32
  // CHECK-SAME: schedule <gemm,
  // CHECK-SAME: merged = array<i64: 0, 2>
  // CHECK-SAME: parts = array<i64: 144, 48>, tile = array<i64: 8, 3, 16>
  func.func @rows(%x: tensor<?x?x16xf32>, %w: tensor<16x48xf32>, %b: tensor<48xf32>) -> tensor<?x?x48xf32> {
    %0 = weir.dot_general %x, %w {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 2>, rhs_contract = array<i64: 0>} : (tensor<?x?x16xf32>, tensor<16x48xf32>) -> tensor<?x?x48xf32>
    %1 = weir.add %0, %b : (tensor<?x?x48xf32>, tensor<48xf32>) -> tensor<?x?x48xf32>
    return %1 : tensor<?x?x48xf32>
  }

  // A batch is no row.
  // CHECK: weir_plan.kernel @dot_general_4_6_20_48_f32
  // CHECK-SAME: merged = array<i64: 1, 3>
  // CHECK-SAME: parts = array<i64: 1, 120, 48>
  func.func @batch(%x: tensor<4x6x20x16xf32>, %w: tensor<4x16x48xf32>) -> tensor<4x6x20x48xf32> {
    %0 = weir.dot_general %x, %w {accumulator = f32, lhs_batch = array<i64: 0>, rhs_batch = array<i64: 0>, lhs_contract = array<i64: 3>, rhs_contract = array<i64: 1>} : (tensor<4x6x20x16xf32>, tensor<4x16x48xf32>) -> tensor<4x6x20x48xf32>
    return %0 : tensor<4x6x20x48xf32>
  }

  // Lines of 7 positions: a tile holds two.
  // CHECK: weir_plan.kernel @conv_1_7_7_64_f32
  // CHECK-SAME: lines = 2 : i64
  // CHECK-SAME: tile = array<i64: 14, 2, 16>
  func.func @lines(%x: tensor<1x9x9x32xf32>, %w: tensor<3x3x32x64xf32>) -> tensor<1x7x7x64xf32> {
    %0 = weir.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, channels_last = true, accumulator = f32} : (tensor<1x9x9x32xf32>, tensor<3x3x32x64xf32>) -> tensor<1x7x7x64xf32>
    return %0 : tensor<1x7x7x64xf32>
  }

  // A window of one element, as many positions as leave no rest worth having: of tiles that take as
  // many steps the one that loads less, …
  // CHECK: weir_plan.kernel @conv_1_28_28_128_f32
  // CHECK-SAME: parts = array<i64: 1, 7, 28, 64>, pointwise, tile = array<i64: 6, 4, 16>
  func.func @wide(%x: tensor<1x28x28x256xf32>, %w: tensor<1x1x256x128xf32>) -> tensor<1x28x28x128xf32> {
    %0 = weir.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, channels_last = true, accumulator = f32} : (tensor<1x28x28x256xf32>, tensor<1x1x256x128xf32>) -> tensor<1x28x28x128xf32>
    return %0 : tensor<1x28x28x128xf32>
  }

  // … but not where its panels are long.
  // CHECK: weir_plan.kernel @conv_1_28_28_128_f32
  // CHECK-SAME: parts = array<i64: 1, 7, 28, 32>, pointwise, tile = array<i64: 14, 2, 16>
  func.func @long(%x: tensor<1x28x28x1040xf32>, %w: tensor<1x1x1040x128xf32>) -> tensor<1x28x28x128xf32> {
    %0 = weir.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, channels_last = true, accumulator = f32} : (tensor<1x28x28x1040xf32>, tensor<1x1x1040x128xf32>) -> tensor<1x28x28x128xf32>
    return %0 : tensor<1x28x28x128xf32>
  }

  // Three panels of a whole image: the range counts their lines. …
  // CHECK: weir_plan.kernel @conv_1_14_14_96_f32
  // CHECK-SAME: block_tiles = {{[0-9]+}} : i64, grain = 1 : i64, parts = array<i64: 1, 1, 14, {{[0-9]+}}>, pointwise
  func.func @panel_lines(%x: tensor<1x14x14x576xf32>, %w: tensor<1x1x576x96xf32>) -> tensor<1x14x14x96xf32> {
    %0 = weir.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, channels_last = true, accumulator = f32} : (tensor<1x14x14x576xf32>, tensor<1x1x576x96xf32>) -> tensor<1x14x14x96xf32>
    return %0 : tensor<1x14x14x96xf32>
  }

  // … Many panels are parts.
  // CHECK: weir_plan.kernel @conv_1_7_7_2048_f32
  // CHECK-NOT: block_tiles
  // CHECK: weir.conv
  func.func @many_panels(%x: tensor<1x7x7x64xf32>, %w: tensor<1x1x64x2048xf32>) -> tensor<1x7x7x2048xf32> {
    %0 = weir.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, channels_last = true, accumulator = f32} : (tensor<1x7x7x64xf32>, tensor<1x1x64x2048xf32>) -> tensor<1x7x7x2048xf32>
    return %0 : tensor<1x7x7x2048xf32>
  }

  // A window of one element: tiles run across lines …
  // CHECK: weir_plan.kernel @conv_1_7_9_64_f32
  // CHECK-SAME: pointwise
  func.func @pointwise(%x: tensor<1x7x9x32xf32>, %w: tensor<1x1x32x64xf32>) -> tensor<1x7x9x64xf32> {
    %0 = weir.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, channels_last = true, accumulator = f32} : (tensor<1x7x9x32xf32>, tensor<1x1x32x64xf32>) -> tensor<1x7x9x64xf32>
    return %0 : tensor<1x7x9x64xf32>
  }

  // … unless what follows reads something that differs from line to line.
  // CHECK: weir_plan.kernel @conv_add_1_7_9_64_f32
  // CHECK-NOT: pointwise
  // CHECK: weir.conv
  func.func @by_line(%x: tensor<1x7x9x32xf32>, %w: tensor<1x1x32x64xf32>, %y: tensor<7x1x64xf32>) -> tensor<1x7x9x64xf32> {
    %0 = weir.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, channels_last = true, accumulator = f32} : (tensor<1x7x9x32xf32>, tensor<1x1x32x64xf32>) -> tensor<1x7x9x64xf32>
    %1 = weir.add %0, %y : (tensor<1x7x9x64xf32>, tensor<7x1x64xf32>) -> tensor<1x7x9x64xf32>
    return %1 : tensor<1x7x9x64xf32>
  }

  // Groups of 48 channels: panels of one vector, none of which belongs to two.
  // CHECK: weir_plan.kernel @conv_1_20_20_96_f32
  // CHECK-SAME: schedule <convolution,
  // CHECK-SAME: tile = array<i64: {{[0-9]+}}, 1, 16>
  func.func @groups(%x: tensor<1x22x22x32xf32>, %w: tensor<3x3x16x96xf32>) -> tensor<1x20x20x96xf32> {
    %0 = weir.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 2 : i64, channels_last = true, accumulator = f32} : (tensor<1x22x22x32xf32>, tensor<3x3x16x96xf32>) -> tensor<1x20x20x96xf32>
    return %0 : tensor<1x20x20x96xf32>
  }

  // Narrow groups that are no whole vectors: each lane takes the channels of its group.
  // CHECK: weir_plan.kernel @conv_1_20_20_24_f32
  // CHECK-SAME: schedule <lanes,
  // CHECK-SAME: tile = array<i64: 1, 1, 48>
  func.func @narrow_groups(%x: tensor<1x22x22x32xf32>, %w: tensor<3x3x8x24xf32>) -> tensor<1x20x20x24xf32> {
    %0 = weir.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 4 : i64, channels_last = true, accumulator = f32} : (tensor<1x22x22x32xf32>, tensor<3x3x8x24xf32>) -> tensor<1x20x20x24xf32>
    return %0 : tensor<1x20x20x24xf32>
  }

  // What a tile adds is computed before it unless it is elementwise, too.
  // CHECK: weir_plan.kernel @gather_48_f32
  // CHECK: weir_plan.kernel @dot_general_add_30_48_f32
  // CHECK-SAME: schedule <gemm,
  func.func @gathered(%x: tensor<30x16xf32>, %w: tensor<16x48xf32>, %t: tensor<5x48xf32>, %i: tensor<i64>) -> tensor<30x48xf32> {
    %0 = weir.dot_general %x, %w {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<30x16xf32>, tensor<16x48xf32>) -> tensor<30x48xf32>
    %1 = weir.gather %t, %i {axis = 0 : i64, batch_dims = 0 : i64, wrap_negative = true} : (tensor<5x48xf32>, tensor<i64>) -> tensor<48xf32>
    %2 = weir.add %0, %1 : (tensor<30x48xf32>, tensor<48xf32>) -> tensor<30x48xf32>
    return %2 : tensor<30x48xf32>
  }

  // Vectors run along the last dimension.
  // CHECK: weir_plan.kernel @reduce_7_5_f32
  // CHECK-SAME: schedule <lanes,
  func.func @lanes(%x: tensor<?x7x5xf32>) -> tensor<7x5xf32> {
    %0 = weir.reduce %x {axes = array<i64: 0>, keep_dims = false, kind = "sum"} : (tensor<?x7x5xf32>) -> tensor<7x5xf32>
    return %0 : tensor<7x5xf32>
  }

  // What is reduced may be computed on the way, and what follows it: gradients of biases and
  // of normalisations are such sums.
  // CHECK: weir_plan.kernel @add_32_f32
  // CHECK-SAME: schedule <lanes
  func.func @computed_lanes(%x: tensor<8x9x32xf32>, %y: tensor<8x9x1xf32>, %z: tensor<32xf32>) -> tensor<32xf32> {
    %0 = weir.mul %x, %y : (tensor<8x9x32xf32>, tensor<8x9x1xf32>) -> tensor<8x9x32xf32>
    %1 = weir.neg %0 : (tensor<8x9x32xf32>) -> tensor<8x9x32xf32>
    %2 = weir.reduce %1 {axes = array<i64: 0, 1>, keep_dims = false, kind = "sum"} : (tensor<8x9x32xf32>) -> tensor<32xf32>
    %3 = weir.add %2, %z : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
    return %3 : tensor<32xf32>
  }

  // What vectors are not computed of stays as it was.
  // CHECK: weir_plan.kernel @reduce_33_f32 schedule <loops
  func.func @chosen_lanes(%x: tensor<8x33xf32>, %c: tensor<8x33xi1>) -> tensor<33xf32> {
    %zero = weir.constant dense<0.0> : tensor<f32>
    %0 = weir.select %c, %x, %zero : (tensor<8x33xi1>, tensor<8x33xf32>, tensor<f32>) -> tensor<8x33xf32>
    %1 = weir.reduce %0 {axes = array<i64: 0>, keep_dims = false, kind = "sum"} : (tensor<8x33xf32>) -> tensor<33xf32>
    return %1 : tensor<33xf32>
  }

  // The result's type may say less than the operand's: parts of an open number of columns.
  // CHECK: weir_plan.kernel @reduce_d_d_f32
  // CHECK-SAME: schedule <lanes,
  // CHECK-SAME: parts = array<i64: 1, 512>
  func.func @open_lanes(%x: tensor<?x7x5xf32>) -> tensor<?x?xf32> {
    %0 = weir.reduce %x {axes = array<i64: 0>, keep_dims = false, kind = "sum"} : (tensor<?x7x5xf32>) -> tensor<?x?xf32>
    return %0 : tensor<?x?xf32>
  }

  // An outer product has no sum to keep in registers.
  // CHECK: weir_plan.kernel @dot_general_4_32_5_6_f32 schedule <loops,
  func.func @outer(%x: tensor<4x32xf32>, %w: tensor<5x6xf32>) -> tensor<4x32x5x6xf32> {
    %0 = weir.dot_general %x, %w {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64>, rhs_contract = array<i64>} : (tensor<4x32xf32>, tensor<5x6xf32>) -> tensor<4x32x5x6xf32>
    return %0 : tensor<4x32x5x6xf32>
  }

  // Rows 4 KiB apart share a set of the first-level cache: no more of them than it
  // has ways.
  // CHECK: weir_plan.kernel @dot_general_196_128_f32
  // CHECK-NOT: depth_block
  // CHECK-SAME: parts = array<i64: 196, 64>, tile = array<i64: 6, 4, 16>
  func.func @same_set(%x: tensor<196x1024xf32>, %w: tensor<1024x128xf32>) -> tensor<196x128xf32> {
    %0 = weir.dot_general %x, %w {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<196x1024xf32>, tensor<1024x128xf32>) -> tensor<196x128xf32>
    return %0 : tensor<196x128xf32>
  }

  // Others may have more.
  // CHECK: weir_plan.kernel @dot_general_196_128_f32
  // CHECK-SAME: parts = array<i64: 196, 32>, tile = array<i64: 14, 2, 16>
  func.func @other_sets(%x: tensor<196x1008xf32>, %w: tensor<1008x128xf32>) -> tensor<196x128xf32> {
    %0 = weir.dot_general %x, %w {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<196x1008xf32>, tensor<1008x128xf32>) -> tensor<196x128xf32>
    return %0 : tensor<196x128xf32>
  }

  // A panel of 3072 rows and 48 columns is read in three blocks.
  // CHECK: weir_plan.kernel @dot_general_128_768_f32
  // CHECK-SAME: depth_block = 1024 : i64
  // CHECK-SAME: tile = array<i64: 8, 3, 16>
  func.func @deep(%x: tensor<128x3072xf32>, %w: tensor<3072x768xf32>) -> tensor<128x768xf32> {
    %0 = weir.dot_general %x, %w {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<128x3072xf32>, tensor<3072x768xf32>) -> tensor<128x768xf32>
    return %0 : tensor<128x768xf32>
  }

  // Blocks of lines have as many each: 28 are four times 7, not three times 8 and 4.
  // CHECK: weir_plan.kernel @conv_1_28_28_64_f32
  // CHECK-SAME: parts = array<i64: 1, 7, 28,
  func.func @even_blocks(%x: tensor<1x28x28x32xf32>, %w: tensor<1x1x32x64xf32>) -> tensor<1x28x28x64xf32> {
    %0 = weir.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, channels_last = true, accumulator = f32} : (tensor<1x28x28x32xf32>, tensor<1x1x32x64xf32>) -> tensor<1x28x28x64xf32>
    return %0 : tensor<1x28x28x64xf32>
  }

  // One row reads four narrow panels of its weights side by side; a matrix that is fed has no panels.
  // CHECK: weir_plan.kernel @dot_general_1_300_f32 schedule <gemm,
  // CHECK-SAME: parts = array<i64: 1, 128>, tile = array<i64: 1, 2, 16>
  // CHECK-NEXT: ^bb0(%{{.+}}: tensor<1x64xf32>{{.*}}, %{{.+}}: tensor<10x64x32xf32>
  // CHECK: weir_plan.kernel @dot_general_1_301_f32 schedule <gemm,
  // CHECK-SAME: tile = array<i64: 1, 8, 16>
  func.func @one_row(%x: tensor<1x64xf32>, %fed: tensor<64x301xf32>) -> (tensor<1x300xf32>, tensor<1x301xf32>) {
    %w = weir.constant #weir.blob<"w.bin", 0, 76800, "00"> : tensor<64x300xf32>
    %0 = weir.dot_general %x, %w {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<1x64xf32>, tensor<64x300xf32>) -> tensor<1x300xf32>
    %1 = weir.dot_general %x, %fed {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<1x64xf32>, tensor<64x301xf32>) -> tensor<1x301xf32>
    return %0, %1 : tensor<1x300xf32>, tensor<1x301xf32>
  }

  // Groups of 40 channels, which are no whole vectors: a part is a group, and so is a panel of the
  // filter.
  // CHECK: weir_plan.kernel @conv_1_20_20_120_f32 schedule <convolution,
  // CHECK-SAME: parts = array<i64: 1, {{[0-9]+}}, 20, 40>, tile = array<i64: {{[0-9]+}}, {{[0-9]+}}, 16>
  // CHECK-NEXT: ^bb0(%{{.+}}: tensor<1x22x22x240xf32>{{.*}}, %[[FILTER:.+]]: tensor<3x3x3x80x40xf32>
  // CHECK-NEXT: %[[PANELS:.+]] = weir.unpack_panels %[[FILTER]]
  // CHECK-NEXT: weir.conv %{{.+}}, %[[PANELS]]
  func.func @groups_of_forty(%x: tensor<1x22x22x240xf32>) -> tensor<1x20x20x120xf32> {
    %w = weir.constant #weir.blob<"w.bin", 0, 345600, "00"> : tensor<3x3x80x120xf32>
    %0 = weir.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 3 : i64, channels_last = true, accumulator = f32} : (tensor<1x22x22x240xf32>, tensor<3x3x80x120xf32>) -> tensor<1x20x20x120xf32>
    return %0 : tensor<1x20x20x120xf32>
  }

  // Long sums of many rows and columns: blocks of rows are packed, and sums wait in the result. Tiles
  // are as high as registers allow, however far apart rows lie.
  // CHECK: weir_plan.kernel @dot_general_700_2048_f32
  // CHECK-SAME: depth_block = 512 : i64
  // CHECK-SAME: packs_rows
  // CHECK-SAME: parts = array<i64: 280, 32>, tile = array<i64: 14, 2, 16>
  func.func @large(%x: tensor<700x2048xf32>, %w: tensor<2048x2048xf32>) -> tensor<700x2048xf32> {
    %0 = weir.dot_general %x, %w {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<700x2048xf32>, tensor<2048x2048xf32>) -> tensor<700x2048xf32>
    return %0 : tensor<700x2048xf32>
  }

  // Not where the result has no room for sums …
  // CHECK: weir_plan.kernel @dot_general_cast_700_2048_bf16
  // CHECK-NOT: packs_rows
  // CHECK: weir.dot_general
  func.func @narrowed(%x: tensor<700x2048xf32>, %w: tensor<2048x2048xf32>) -> tensor<700x2048xbf16> {
    %0 = weir.dot_general %x, %w {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<700x2048xf32>, tensor<2048x2048xf32>) -> tensor<700x2048xf32>
    %1 = weir.cast %0 {saturate = true} : (tensor<700x2048xf32>) -> tensor<700x2048xbf16>
    return %1 : tensor<700x2048xbf16>
  }

  // … nor where few rows share a panel.
  // CHECK: weir_plan.kernel @dot_general_70_2048_f32
  // CHECK-NOT: packs_rows
  // CHECK: weir.dot_general
  func.func @few(%x: tensor<70x2048xf32>, %w: tensor<2048x2048xf32>) -> tensor<70x2048xf32> {
    %0 = weir.dot_general %x, %w {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<70x2048xf32>, tensor<2048x2048xf32>) -> tensor<70x2048xf32>
    return %0 : tensor<70x2048xf32>
  }
}
