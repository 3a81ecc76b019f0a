// Products of 8-bit floats: of both kinds, along the depth and across, batches, a convolution, an open
// number of rows, with scales behind.
module {
  func.func @along(%a: tensor<300x272xf32> {weir.name = "a"}, %b: tensor<384x272xf32> {weir.name = "b"}, %s: tensor<384xf32> {weir.name = "s"}) -> (tensor<300x384xf32> {weir.name = "out"}) attributes {weir.entry = "along"} {
    %p = weir.cast %a {saturate = true} : (tensor<300x272xf32>) -> tensor<300x272xf8E4M3FN> loc("along.left")
    %q = weir.cast %b {saturate = true} : (tensor<384x272xf32>) -> tensor<384x272xf8E4M3FN> loc("along.right")
    %0 = weir.dot_general %p, %q {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 1>} : (tensor<300x272xf8E4M3FN>, tensor<384x272xf8E4M3FN>) -> tensor<300x384xf32> loc("along.dot")
    %1 = weir.mul %0, %s : (tensor<300x384xf32>, tensor<384xf32>) -> tensor<300x384xf32> loc("along.scale")
    return %1 : tensor<300x384xf32>
  }
  func.func @mixed(%a: tensor<2x40x96xf32> {weir.name = "a"}, %b: tensor<2x96x72xf32> {weir.name = "b"}) -> (tensor<2x40x72xf32> {weir.name = "out"}) attributes {weir.entry = "mixed"} {
    %p = weir.cast %a {saturate = true} : (tensor<2x40x96xf32>) -> tensor<2x40x96xf8E5M2> loc("mixed.left")
    %q = weir.cast %b {saturate = true} : (tensor<2x96x72xf32>) -> tensor<2x96x72xf8E4M3FN> loc("mixed.right")
    %0 = weir.dot_general %p, %q {accumulator = f32, lhs_batch = array<i64: 0>, rhs_batch = array<i64: 0>, lhs_contract = array<i64: 2>, rhs_contract = array<i64: 1>} : (tensor<2x40x96xf8E5M2>, tensor<2x96x72xf8E4M3FN>) -> tensor<2x40x72xf32> loc("mixed.dot")
    return %0 : tensor<2x40x72xf32>
  }
  func.func @window(%a: tensor<2x9x10x16xf32> {weir.name = "a"}, %b: tensor<3x3x16x40xf32> {weir.name = "b"}) -> (tensor<2x9x10x40xf32> {weir.name = "out"}) attributes {weir.entry = "window"} {
    %p = weir.cast %a {saturate = true} : (tensor<2x9x10x16xf32>) -> tensor<2x9x10x16xf8E4M3FN> loc("window.left")
    %q = weir.cast %b {saturate = true} : (tensor<3x3x16x40xf32>) -> tensor<3x3x16x40xf8E5M2> loc("window.right")
    %0 = weir.conv %p, %q {accumulator = f32, channels_last = true, dilations = array<i64: 1, 1>, groups = 1 : i64, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>} : (tensor<2x9x10x16xf8E4M3FN>, tensor<3x3x16x40xf8E5M2>) -> tensor<2x9x10x40xf32> loc("window.conv")
    return %0 : tensor<2x9x10x40xf32>
  }
  // What a model says of dequantized operands: scales of rows and of columns go behind the product.
  func.func @dequantized(%a: tensor<?x64xf32> {weir.name = "a"}, %b: tensor<64x48xf32> {weir.name = "b"}, %r: tensor<f32> {weir.name = "r"}, %s: tensor<48xf32> {weir.name = "s"}) -> (tensor<?x48xf32> {weir.name = "out"}) attributes {weir.entry = "dequantized"} {
    %p = weir.cast %a {saturate = true} : (tensor<?x64xf32>) -> tensor<?x64xf8E4M3FN> loc("dequantized.left")
    %q = weir.cast %b {saturate = true} : (tensor<64x48xf32>) -> tensor<64x48xf8E4M3FN> loc("dequantized.right")
    %x = weir.cast %p {saturate = false} : (tensor<?x64xf8E4M3FN>) -> tensor<?x64xf32> loc("dequantized.x")
    %w = weir.cast %q {saturate = false} : (tensor<64x48xf8E4M3FN>) -> tensor<64x48xf32> loc("dequantized.w")
    %xs = weir.mul %x, %r : (tensor<?x64xf32>, tensor<f32>) -> tensor<?x64xf32> loc("dequantized.xs")
    %ws = weir.mul %w, %s : (tensor<64x48xf32>, tensor<48xf32>) -> tensor<64x48xf32> loc("dequantized.ws")
    %0 = weir.dot_general %xs, %ws {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<?x64xf32>, tensor<64x48xf32>) -> tensor<?x48xf32> loc("dequantized.dot")
    return %0 : tensor<?x48xf32>
  }
}
