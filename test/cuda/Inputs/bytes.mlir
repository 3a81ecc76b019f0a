// Products of bytes by tensor cores of any architecture, with what follows.
module {
  // Both operands along the depth; a scale for each column.
  func.func @along(%a: tensor<70x96xi8> {weir.name = "a"}, %b: tensor<80x96xi8> {weir.name = "b"}, %s: tensor<80xf32> {weir.name = "s"}) -> (tensor<70x80xf32> {weir.name = "out"}) attributes {weir.entry = "along"} {
    %0 = weir.dot_general %a, %b {accumulator = i32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 1>} : (tensor<70x96xi8>, tensor<80x96xi8>) -> tensor<70x80xi32> loc("along.dot")
    %1 = weir.cast %0 {saturate = false} : (tensor<70x80xi32>) -> tensor<70x80xf32> loc("along.cast")
    %2 = weir.mul %1, %s : (tensor<70x80xf32>, tensor<80xf32>) -> tensor<70x80xf32> loc("along.scale")
    return %2 : tensor<70x80xf32>
  }
  // A depth that is no whole slice, and operands of which one is signed.
  func.func @mixed(%a: tensor<2x40x80xui8> {weir.name = "a"}, %b: tensor<2x72x80xi8> {weir.name = "b"}) -> (tensor<2x40x72xi32> {weir.name = "out"}) attributes {weir.entry = "mixed"} {
    %0 = weir.dot_general %a, %b {accumulator = i32, lhs_batch = array<i64: 0>, rhs_batch = array<i64: 0>, lhs_contract = array<i64: 2>, rhs_contract = array<i64: 2>} : (tensor<2x40x80xui8>, tensor<2x72x80xi8>) -> tensor<2x40x72xi32> loc("mixed.dot")
    return %0 : tensor<2x40x72xi32>
  }
  // The right operand lies across: element by element.
  func.func @across(%a: tensor<70x50xi8> {weir.name = "a"}, %b: tensor<50x36xui8> {weir.name = "b"}) -> (tensor<70x36xi32> {weir.name = "out"}) attributes {weir.entry = "across"} {
    %0 = weir.dot_general %a, %b {accumulator = i32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<70x50xi8>, tensor<50x36xui8>) -> tensor<70x36xi32> loc("across.dot")
    return %0 : tensor<70x36xi32>
  }
  // Windows of images.
  func.func @window(%a: tensor<2x9x10x12xui8> {weir.name = "a"}, %b: tensor<3x3x12x40xi8> {weir.name = "b"}) -> (tensor<2x9x10x40xi32> {weir.name = "out"}) attributes {weir.entry = "window"} {
    %0 = weir.conv %a, %b {accumulator = i32, channels_last = true, dilations = array<i64: 1, 1>, groups = 1 : i64, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>} : (tensor<2x9x10x12xui8>, tensor<3x3x12x40xi8>) -> tensor<2x9x10x40xi32> loc("window.conv")
    return %0 : tensor<2x9x10x40xi32>
  }
}
