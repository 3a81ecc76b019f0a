// Products and convolutions of halves without a library: slices of both operands are
// copied ahead.
module {
  // Rows and columns beyond the tile's, and a depth of no whole slices.
  func.func @plain(%a: tensor<70x40xbf16> {weir.name = "a"}, %b: tensor<40x72xbf16> {weir.name = "b"}) -> (tensor<70x72xbf16> {weir.name = "out"}) attributes {weir.entry = "plain"} {
    %0 = weir.dot_general %a, %b {accumulator = bf16, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<70x40xbf16>, tensor<40x72xbf16>) -> tensor<70x72xbf16> loc("plain.dot")
    return %0 : tensor<70x72xbf16>
  }
  // The right operand lies along the depth.
  func.func @turned(%a: tensor<70x64xf16> {weir.name = "a"}, %b: tensor<72x64xf16> {weir.name = "b"}) -> (tensor<70x72xf16> {weir.name = "out"}) attributes {weir.entry = "turned"} {
    %0 = weir.dot_general %a, %b {accumulator = f16, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 1>} : (tensor<70x64xf16>, tensor<72x64xf16>) -> tensor<70x72xf16> loc("turned.dot")
    return %0 : tensor<70x72xf16>
  }
  // The left one does not.
  func.func @left_turned(%a: tensor<40x72xf16> {weir.name = "a"}, %b: tensor<40x64xf16> {weir.name = "b"}) -> (tensor<72x64xf16> {weir.name = "out"}) attributes {weir.entry = "left_turned"} {
    %0 = weir.dot_general %a, %b {accumulator = f16, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 0>, rhs_contract = array<i64: 0>} : (tensor<40x72xf16>, tensor<40x64xf16>) -> tensor<72x64xf16> loc("left_turned.dot")
    return %0 : tensor<72x64xf16>
  }
  func.func @both_turned(%a: tensor<96x80xbf16> {weir.name = "a"}, %b: tensor<72x96xbf16> {weir.name = "b"}) -> (tensor<80x72xbf16> {weir.name = "out"}) attributes {weir.entry = "both_turned"} {
    %0 = weir.dot_general %a, %b {accumulator = bf16, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 0>, rhs_contract = array<i64: 1>} : (tensor<96x80xbf16>, tensor<72x96xbf16>) -> tensor<80x72xbf16> loc("both_turned.dot")
    return %0 : tensor<80x72xbf16>
  }
  // Few rows: tiles of 16.
  func.func @flat(%a: tensor<12x72xbf16> {weir.name = "a"}, %b: tensor<72x136xbf16> {weir.name = "b"}) -> (tensor<12x136xbf16> {weir.name = "out"}) attributes {weir.entry = "flat"} {
    %0 = weir.dot_general %a, %b {accumulator = bf16, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<12x72xbf16>, tensor<72x136xbf16>) -> tensor<12x136xbf16> loc("flat.dot")
    return %0 : tensor<12x136xbf16>
  }
  // Lines of two chunks.
  func.func @flat_turned(%a: tensor<32x8xf16> {weir.name = "a"}, %b: tensor<32x128xf16> {weir.name = "b"}) -> (tensor<8x128xf16> {weir.name = "out"}) attributes {weir.entry = "flat_turned"} {
    %0 = weir.dot_general %a, %b {accumulator = f16, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 0>, rhs_contract = array<i64: 0>} : (tensor<32x8xf16>, tensor<32x128xf16>) -> tensor<8x128xf16> loc("flat_turned.dot")
    return %0 : tensor<8x128xf16>
  }
  // Enough tiles of 128 by 128.
  func.func @large(%a: tensor<1664x32xbf16> {weir.name = "a"}, %b: tensor<32x1408xbf16> {weir.name = "b"}) -> (tensor<1664x1408xbf16> {weir.name = "out"}) attributes {weir.entry = "large"} {
    %0 = weir.dot_general %a, %b {accumulator = bf16, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<1664x32xbf16>, tensor<32x1408xbf16>) -> tensor<1664x1408xbf16> loc("large.dot")
    return %0 : tensor<1664x1408xbf16>
  }
  // More slices than stages.
  func.func @deep(%a: tensor<24x520xf16> {weir.name = "a"}, %b: tensor<520x24xf16> {weir.name = "b"}) -> (tensor<24x24xf16> {weir.name = "out"}) attributes {weir.entry = "deep"} {
    %0 = weir.dot_general %a, %b {accumulator = f16, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<24x520xf16>, tensor<520x24xf16>) -> tensor<24x24xf16> loc("deep.dot")
    return %0 : tensor<24x24xf16>
  }
  func.func @batched(%a: tensor<2x3x20x64xf16> {weir.name = "a"}, %b: tensor<2x3x24x64xf16> {weir.name = "b"}) -> (tensor<2x3x20x24xf16> {weir.name = "out"}) attributes {weir.entry = "batched"} {
    %0 = weir.dot_general %a, %b {accumulator = f16, lhs_batch = array<i64: 0, 1>, rhs_batch = array<i64: 0, 1>, lhs_contract = array<i64: 3>, rhs_contract = array<i64: 3>} : (tensor<2x3x20x64xf16>, tensor<2x3x24x64xf16>) -> tensor<2x3x20x24xf16> loc("batched.dot")
    return %0 : tensor<2x3x20x24xf16>
  }
  // An open number of rows.
  func.func @open(%a: tensor<?x48xbf16> {weir.name = "a"}, %b: tensor<48x64xbf16> {weir.name = "b"}) -> (tensor<?x64xbf16> {weir.name = "out"}) attributes {weir.entry = "open"} {
    %0 = weir.dot_general %a, %b {accumulator = bf16, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<?x48xbf16>, tensor<48x64xbf16>) -> tensor<?x64xbf16> loc("open.dot")
    return %0 : tensor<?x64xbf16>
  }
  // What follows is computed on vectors.
  func.func @behind(%a: tensor<40x48xbf16> {weir.name = "a"}, %b: tensor<48x64xbf16> {weir.name = "b"}, %c: tensor<64xbf16> {weir.name = "c"}, %d: tensor<40x64xbf16> {weir.name = "d"}) -> (tensor<40x64xbf16> {weir.name = "out"}) attributes {weir.entry = "behind"} {
    %0 = weir.dot_general %a, %b {accumulator = bf16, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<40x48xbf16>, tensor<48x64xbf16>) -> tensor<40x64xbf16> loc("behind.dot")
    %1 = weir.add %0, %c : (tensor<40x64xbf16>, tensor<64xbf16>) -> tensor<40x64xbf16> loc("behind.bias")
    %2 = weir.gelu %1 {approximate = false} : (tensor<40x64xbf16>) -> tensor<40x64xbf16> loc("behind.gelu")
    %4 = weir.add %2, %d : (tensor<40x64xbf16>, tensor<40x64xbf16>) -> tensor<40x64xbf16> loc("behind.residual")
    return %4 : tensor<40x64xbf16>
  }
  // Lines that are not made of chunks are copied element by element.
  func.func @unaligned(%a: tensor<33x36xbf16> {weir.name = "a"}, %b: tensor<36x50xbf16> {weir.name = "b"}) -> (tensor<33x50xbf16> {weir.name = "out"}) attributes {weir.entry = "unaligned"} {
    %0 = weir.dot_general %a, %b {accumulator = bf16, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<33x36xbf16>, tensor<36x50xbf16>) -> tensor<33x50xbf16> loc("unaligned.dot")
    return %0 : tensor<33x50xbf16>
  }
  // A convolution's windows, with a border of zeros.
  func.func @window(%a: tensor<2x9x10x16xbf16> {weir.name = "a"}, %w: tensor<3x3x16x24xbf16> {weir.name = "w"}) -> (tensor<2x9x10x24xbf16> {weir.name = "out"}) attributes {weir.entry = "window"} {
    %0 = weir.conv %a, %w {accumulator = bf16, channels_last = true, dilations = array<i64: 1, 1>, groups = 1 : i64, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>} : (tensor<2x9x10x16xbf16>, tensor<3x3x16x24xbf16>) -> tensor<2x9x10x24xbf16> loc("window.conv")
    %1 = weir.relu %0 : (tensor<2x9x10x24xbf16>) -> tensor<2x9x10x24xbf16> loc("window.relu")
    return %1 : tensor<2x9x10x24xbf16>
  }
  // Strides, and 48 places of the depth.
  func.func @strided(%a: tensor<1x11x12x8xf16> {weir.name = "a"}, %w: tensor<3x2x8x40xf16> {weir.name = "w"}) -> (tensor<1x5x6x40xf16> {weir.name = "out"}) attributes {weir.entry = "strided"} {
    %0 = weir.conv %a, %w {accumulator = f16, channels_last = true, dilations = array<i64: 1, 1>, groups = 1 : i64, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 2, 2>} : (tensor<1x11x12x8xf16>, tensor<3x2x8x40xf16>) -> tensor<1x5x6x40xf16> loc("strided.conv")
    %1 = weir.relu %0 : (tensor<1x5x6x40xf16>) -> tensor<1x5x6x40xf16> loc("strided.relu")
    return %1 : tensor<1x5x6x40xf16>
  }
  // Dilations.
  func.func @dilated(%a: tensor<1x12x12x32xf16> {weir.name = "a"}, %w: tensor<3x3x32x16xf16> {weir.name = "w"}) -> (tensor<1x10x10x16xf16> {weir.name = "out"}) attributes {weir.entry = "dilated"} {
    %0 = weir.conv %a, %w {accumulator = f16, channels_last = true, dilations = array<i64: 2, 2>, groups = 1 : i64, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>} : (tensor<1x12x12x32xf16>, tensor<3x3x32x16xf16>) -> tensor<1x10x10x16xf16> loc("dilated.conv")
    %1 = weir.relu %0 : (tensor<1x10x10x16xf16>) -> tensor<1x10x10x16xf16> loc("dilated.relu")
    return %1 : tensor<1x10x10x16xf16>
  }
}
