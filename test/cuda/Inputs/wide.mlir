// Products by groups of warps: operands of either order, sizes that are no tiles.
module {
  func.func @plain(%a: tensor<300x136xbf16> {weir.name = "a"}, %b: tensor<136x400xbf16> {weir.name = "b"}) -> (tensor<300x400xbf16> {weir.name = "out"}) attributes {weir.entry = "plain"} {
    %0 = weir.dot_general %a, %b {accumulator = bf16, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<300x136xbf16>, tensor<136x400xbf16>) -> tensor<300x400xbf16> loc("plain.dot")
    return %0 : tensor<300x400xbf16>
  }
  func.func @turned(%a: tensor<300x136xf16> {weir.name = "a"}, %b: tensor<392x136xf16> {weir.name = "b"}) -> (tensor<300x392xf16> {weir.name = "out"}) attributes {weir.entry = "turned"} {
    %0 = weir.dot_general %a, %b {accumulator = f16, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 1>} : (tensor<300x136xf16>, tensor<392x136xf16>) -> tensor<300x392xf16> loc("turned.dot")
    return %0 : tensor<300x392xf16>
  }
  func.func @left_turned(%a: tensor<72x304xf16> {weir.name = "a"}, %b: tensor<72x400xf16> {weir.name = "b"}) -> (tensor<304x400xf32> {weir.name = "out"}) attributes {weir.entry = "left_turned"} {
    %0 = weir.dot_general %a, %b {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 0>, rhs_contract = array<i64: 0>} : (tensor<72x304xf16>, tensor<72x400xf16>) -> tensor<304x400xf32> loc("left_turned.dot")
    return %0 : tensor<304x400xf32>
  }
  func.func @both_turned(%a: tensor<104x264xbf16> {weir.name = "a"}, %b: tensor<400x104xbf16> {weir.name = "b"}) -> (tensor<264x400xbf16> {weir.name = "out"}) attributes {weir.entry = "both_turned"} {
    %0 = weir.dot_general %a, %b {accumulator = bf16, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 0>, rhs_contract = array<i64: 1>} : (tensor<104x264xbf16>, tensor<400x104xbf16>) -> tensor<264x400xbf16> loc("both_turned.dot")
    return %0 : tensor<264x400xbf16>
  }
  // More slices than stages, and more tiles than blocks.
  func.func @deep(%a: tensor<256x840xbf16> {weir.name = "a"}, %b: tensor<840x520xbf16> {weir.name = "b"}) -> (tensor<256x520xbf16> {weir.name = "out"}) attributes {weir.entry = "deep"} {
    %0 = weir.dot_general %a, %b {accumulator = bf16, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<256x840xbf16>, tensor<840x520xbf16>) -> tensor<256x520xbf16> loc("deep.dot")
    return %0 : tensor<256x520xbf16>
  }
  // Enough tiles of 128 by 256.
  func.func @wide(%a: tensor<66x140x72xbf16> {weir.name = "a"}, %b: tensor<66x72x80xbf16> {weir.name = "b"}) -> (tensor<66x140x80xbf16> {weir.name = "out"}) attributes {weir.entry = "wide"} {
    %0 = weir.dot_general %a, %b {accumulator = bf16, lhs_batch = array<i64: 0>, rhs_batch = array<i64: 0>, lhs_contract = array<i64: 2>, rhs_contract = array<i64: 1>} : (tensor<66x140x72xbf16>, tensor<66x72x80xbf16>) -> tensor<66x140x80xbf16> loc("wide.dot")
    return %0 : tensor<66x140x80xbf16>
  }
  // An open number of rows, and an open depth.
  func.func @open(%a: tensor<?x136xbf16> {weir.name = "a"}, %b: tensor<136x576xbf16> {weir.name = "b"}) -> (tensor<?x576xbf16> {weir.name = "out"}) attributes {weir.entry = "open"} {
    %0 = weir.dot_general %a, %b {accumulator = bf16, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<?x136xbf16>, tensor<136x576xbf16>) -> tensor<?x576xbf16> loc("open.dot")
    return %0 : tensor<?x576xbf16>
  }
  // What follows is computed on vectors.
  func.func @behind(%a: tensor<300x64xbf16> {weir.name = "a"}, %b: tensor<64x400xbf16> {weir.name = "b"}, %c: tensor<400xbf16> {weir.name = "c"}, %d: tensor<300x400xbf16> {weir.name = "d"}) -> (tensor<300x400xbf16> {weir.name = "out"}) attributes {weir.entry = "behind"} {
    %0 = weir.dot_general %a, %b {accumulator = bf16, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<300x64xbf16>, tensor<64x400xbf16>) -> tensor<300x400xbf16> loc("behind.dot")
    %1 = weir.add %0, %c : (tensor<300x400xbf16>, tensor<400xbf16>) -> tensor<300x400xbf16> loc("behind.bias")
    %2 = weir.gelu %1 {approximate = false} : (tensor<300x400xbf16>) -> tensor<300x400xbf16> loc("behind.gelu")
    %4 = weir.add %2, %d : (tensor<300x400xbf16>, tensor<300x400xbf16>) -> tensor<300x400xbf16> loc("behind.residual")
    return %4 : tensor<300x400xbf16>
  }
  // A convolution whose window is one position.
  func.func @point(%a: tensor<2x13x13x72xf16> {weir.name = "a"}, %b: tensor<1x1x72x384xf16> {weir.name = "b"}) -> (tensor<2x13x13x384xf16> {weir.name = "out"}) attributes {weir.entry = "point"} {
    %0 = weir.conv %a, %b {accumulator = f16, channels_last = true, dilations = array<i64: 1, 1>, groups = 1 : i64, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>} : (tensor<2x13x13x72xf16>, tensor<1x1x72x384xf16>) -> tensor<2x13x13x384xf16> loc("point.conv")
    return %0 : tensor<2x13x13x384xf16>
  }
  // Channels that are no whole slices.
  func.func @window(%a: tensor<3x13x12x72xf16> {weir.name = "a"}, %b: tensor<3x3x72x384xf16> {weir.name = "b"}, %c: tensor<384xf16> {weir.name = "c"}) -> (tensor<3x13x12x384xf16> {weir.name = "out"}) attributes {weir.entry = "window"} {
    %0 = weir.conv %a, %b {accumulator = f16, channels_last = true, dilations = array<i64: 1, 1>, groups = 1 : i64, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>} : (tensor<3x13x12x72xf16>, tensor<3x3x72x384xf16>) -> tensor<3x13x12x384xf16> loc("window.conv")
    %1 = weir.add %0, %c : (tensor<3x13x12x384xf16>, tensor<384xf16>) -> tensor<3x13x12x384xf16> loc("window.bias")
    %2 = weir.relu %1 : (tensor<3x13x12x384xf16>) -> tensor<3x13x12x384xf16> loc("window.relu")
    return %2 : tensor<3x13x12x384xf16>
  }
  func.func @strided(%a: tensor<2x29x33x64xbf16> {weir.name = "a"}, %b: tensor<3x2x64x264xbf16> {weir.name = "b"}) -> (tensor<2x13x17x264xbf16> {weir.name = "out"}) attributes {weir.entry = "strided"} {
    %0 = weir.conv %a, %b {accumulator = bf16, channels_last = true, dilations = array<i64: 2, 1>, groups = 1 : i64, pads = array<i64: 1, 0, 0, 1>, strides = array<i64: 2, 2>} : (tensor<2x29x33x64xbf16>, tensor<3x2x64x264xbf16>) -> tensor<2x13x17x264xbf16> loc("strided.conv")
    return %0 : tensor<2x13x17x264xbf16>
  }
  // Bytes along the depth, with a scale for each column.
  func.func @bytes(%a: tensor<300x272xi8> {weir.name = "a"}, %b: tensor<384x272xi8> {weir.name = "b"}, %s: tensor<384xf32> {weir.name = "s"}) -> (tensor<300x384xf32> {weir.name = "out"}) attributes {weir.entry = "bytes"} {
    %0 = weir.dot_general %a, %b {accumulator = i32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 1>} : (tensor<300x272xi8>, tensor<384x272xi8>) -> tensor<300x384xi32> loc("bytes.dot")
    %1 = weir.cast %0 {saturate = false} : (tensor<300x384xi32>) -> tensor<300x384xf32> loc("bytes.cast")
    %2 = weir.mul %1, %s : (tensor<300x384xf32>, tensor<384xf32>) -> tensor<300x384xf32> loc("bytes.scale")
    return %2 : tensor<300x384xf32>
  }
  // Two kernels, the second of which may begin before the first has ended.
  func.func @chain(%a: tensor<300x136xbf16> {weir.name = "a"}, %b: tensor<136x400xbf16> {weir.name = "b"}, %c: tensor<400x384xbf16> {weir.name = "c"}) -> (tensor<300x384xbf16> {weir.name = "out"}) attributes {weir.entry = "chain"} {
    %0 = weir.dot_general %a, %b {accumulator = bf16, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<300x136xbf16>, tensor<136x400xbf16>) -> tensor<300x400xbf16> loc("chain.first")
    %1 = weir.dot_general %0, %c {accumulator = bf16, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<300x400xbf16>, tensor<400x384xbf16>) -> tensor<300x384xbf16> loc("chain.second")
    return %1 : tensor<300x384xbf16>
  }
  // Lines of 36 halves are none that the engine reads.
  func.func @unaligned(%a: tensor<300x36xbf16> {weir.name = "a"}, %b: tensor<36x400xbf16> {weir.name = "b"}) -> (tensor<300x400xbf16> {weir.name = "out"}) attributes {weir.entry = "unaligned"} {
    %0 = weir.dot_general %a, %b {accumulator = bf16, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<300x36xbf16>, tensor<36x400xbf16>) -> tensor<300x400xbf16> loc("unaligned.dot")
    return %0 : tensor<300x400xbf16>
  }
}
