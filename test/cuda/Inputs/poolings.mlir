// Poolings as cuDNN computes them: maximum and average, one to three dimensions, channels
// first and last, in all types; and what is left to kernels.
module {
  func.func @max(%x: tensor<2x9x10x8xf32> {weir.name = "x"}) -> (tensor<2x5x5x8xf32> {weir.name = "out"}) attributes {weir.entry = "max"} {
    %0 = weir.pool %x {kind = "max", window = array<i64: 3, 3>, strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, ceil_mode = false, count_include_pad = false, p = 0 : i64, channels_last = true} : (tensor<2x9x10x8xf32>) -> tensor<2x5x5x8xf32> loc("max.pool")
    return %0 : tensor<2x5x5x8xf32>
  }
  func.func @inside(%x: tensor<2x9x10x8xf32> {weir.name = "x"}) -> (tensor<2x5x5x8xf32> {weir.name = "out"}) attributes {weir.entry = "inside"} {
    %0 = weir.pool %x {kind = "average", window = array<i64: 3, 3>, strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, ceil_mode = false, count_include_pad = false, p = 0 : i64, channels_last = true} : (tensor<2x9x10x8xf32>) -> tensor<2x5x5x8xf32> loc("inside.pool")
    return %0 : tensor<2x5x5x8xf32>
  }
  func.func @padded(%x: tensor<2x9x10x8xf16> {weir.name = "x"}) -> (tensor<2x5x5x8xf16> {weir.name = "out"}) attributes {weir.entry = "padded"} {
    %0 = weir.pool %x {kind = "average", window = array<i64: 3, 3>, strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, ceil_mode = false, count_include_pad = true, p = 0 : i64, channels_last = true} : (tensor<2x9x10x8xf16>) -> tensor<2x5x5x8xf16> loc("padded.pool")
    return %0 : tensor<2x5x5x8xf16>
  }
  // Windows, strides and pads unlike in each dimension; the last columns are not read.
  func.func @uneven(%x: tensor<1x11x12x9xbf16> {weir.name = "x"}) -> (tensor<1x6x4x9xbf16> {weir.name = "out"}) attributes {weir.entry = "uneven"} {
    %0 = weir.pool %x {kind = "max", window = array<i64: 3, 2>, strides = array<i64: 2, 3>, pads = array<i64: 0, 2, 1, 0>, dilations = array<i64: 1, 1>, ceil_mode = false, count_include_pad = false, p = 0 : i64, channels_last = true} : (tensor<1x11x12x9xbf16>) -> tensor<1x6x4x9xbf16> loc("uneven.pool")
    return %0 : tensor<1x6x4x9xbf16>
  }
  func.func @first(%x: tensor<2x3x9x10xf32> {weir.name = "x"}) -> (tensor<2x3x4x5xf32> {weir.name = "out"}) attributes {weir.entry = "first"} {
    %0 = weir.pool %x {kind = "average", window = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, ceil_mode = false, count_include_pad = true, p = 0 : i64, channels_last = false} : (tensor<2x3x9x10xf32>) -> tensor<2x3x4x5xf32> loc("first.pool")
    return %0 : tensor<2x3x4x5xf32>
  }
  // Rounded up, windows reach beyond the padding.
  func.func @ceil(%x: tensor<1x8x8x8xf32> {weir.name = "x"}) -> (tensor<1x4x4x8xf32> {weir.name = "out"}) attributes {weir.entry = "ceil"} {
    %0 = weir.pool %x {kind = "average", window = array<i64: 3, 3>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, ceil_mode = true, count_include_pad = false, p = 0 : i64, channels_last = true} : (tensor<1x8x8x8xf32>) -> tensor<1x4x4x8xf32> loc("ceil.pool")
    return %0 : tensor<1x4x4x8xf32>
  }
  func.func @line(%x: tensor<2x20x8xf32> {weir.name = "x"}) -> (tensor<2x9x8xf32> {weir.name = "out"}) attributes {weir.entry = "line"} {
    %0 = weir.pool %x {kind = "max", window = array<i64: 4>, strides = array<i64: 2>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, ceil_mode = false, count_include_pad = false, p = 0 : i64, channels_last = true} : (tensor<2x20x8xf32>) -> tensor<2x9x8xf32> loc("line.pool")
    return %0 : tensor<2x9x8xf32>
  }
  func.func @volume(%x: tensor<1x6x7x8x8xf16> {weir.name = "x"}) -> (tensor<1x3x4x4x8xf16> {weir.name = "out"}) attributes {weir.entry = "volume"} {
    %0 = weir.pool %x {kind = "average", window = array<i64: 2, 3, 3>, strides = array<i64: 2, 2, 2>, pads = array<i64: 0, 0, 1, 1, 1, 0>, dilations = array<i64: 1, 1, 1>, ceil_mode = false, count_include_pad = false, p = 0 : i64, channels_last = true} : (tensor<1x6x7x8x8xf16>) -> tensor<1x3x4x4x8xf16> loc("volume.pool")
    return %0 : tensor<1x3x4x4x8xf16>
  }
  // The rest is not the library's. What it counts behind the padding is not counted here.
  func.func @beyond(%x: tensor<1x8x8x8xf32> {weir.name = "x"}) -> (tensor<1x4x4x8xf32> {weir.name = "out"}) attributes {weir.entry = "beyond"} {
    %0 = weir.pool %x {kind = "average", window = array<i64: 3, 3>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, ceil_mode = true, count_include_pad = true, p = 0 : i64, channels_last = true} : (tensor<1x8x8x8xf32>) -> tensor<1x4x4x8xf32> loc("beyond.pool")
    return %0 : tensor<1x4x4x8xf32>
  }
  // A window of nothing but padding.
  func.func @empty(%x: tensor<1x4x4x8xf32> {weir.name = "x"}) -> (tensor<1x6x6x8xf32> {weir.name = "out"}) attributes {weir.entry = "empty"} {
    %0 = weir.pool %x {kind = "average", window = array<i64: 1, 1>, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, ceil_mode = false, count_include_pad = true, p = 0 : i64, channels_last = true} : (tensor<1x4x4x8xf32>) -> tensor<1x6x6x8xf32> loc("empty.pool")
    return %0 : tensor<1x6x6x8xf32>
  }
  func.func @dilated(%x: tensor<1x9x9x8xf32> {weir.name = "x"}) -> (tensor<1x5x5x8xf32> {weir.name = "out"}) attributes {weir.entry = "dilated"} {
    %0 = weir.pool %x {kind = "max", window = array<i64: 3, 3>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 2, 2>, ceil_mode = false, count_include_pad = false, p = 0 : i64, channels_last = true} : (tensor<1x9x9x8xf32>) -> tensor<1x5x5x8xf32> loc("dilated.pool")
    return %0 : tensor<1x5x5x8xf32>
  }
  func.func @followed(%x: tensor<1x8x8x8xf32> {weir.name = "x"}) -> (tensor<1x4x4x8xf32> {weir.name = "out"}) attributes {weir.entry = "followed"} {
    %0 = weir.pool %x {kind = "average", window = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, ceil_mode = false, count_include_pad = false, p = 0 : i64, channels_last = true} : (tensor<1x8x8x8xf32>) -> tensor<1x4x4x8xf32> loc("followed.pool")
    %1 = weir.relu %0 : (tensor<1x4x4x8xf32>) -> tensor<1x4x4x8xf32> loc("followed.relu")
    return %1 : tensor<1x4x4x8xf32>
  }
  func.func @sum(%x: tensor<1x8x8x8xf32> {weir.name = "x"}) -> (tensor<1x4x4x8xf32> {weir.name = "out"}) attributes {weir.entry = "sum"} {
    %0 = weir.pool %x {kind = "sum", window = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, ceil_mode = false, count_include_pad = false, p = 0 : i64, channels_last = true} : (tensor<1x8x8x8xf32>) -> tensor<1x4x4x8xf32> loc("sum.pool")
    return %0 : tensor<1x4x4x8xf32>
  }
  func.func @open(%x: tensor<?x8x8x8xf32> {weir.name = "x"}) -> (tensor<?x4x4x8xf32> {weir.name = "out"}) attributes {weir.entry = "open"} {
    %0 = weir.pool %x {kind = "max", window = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, ceil_mode = false, count_include_pad = false, p = 0 : i64, channels_last = true} : (tensor<?x8x8x8xf32>) -> tensor<?x4x4x8xf32> loc("open.pool")
    return %0 : tensor<?x4x4x8xf32>
  }
  func.func @double(%x: tensor<1x8x8x8xf64> {weir.name = "x"}) -> (tensor<1x4x4x8xf64> {weir.name = "out"}) attributes {weir.entry = "double"} {
    %0 = weir.pool %x {kind = "max", window = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, ceil_mode = false, count_include_pad = false, p = 0 : i64, channels_last = true} : (tensor<1x8x8x8xf64>) -> tensor<1x4x4x8xf64> loc("double.pool")
    return %0 : tensor<1x4x4x8xf64>
  }
}
