// Products as cuBLASLt computes them: with what may follow, in all types, and in
// all ways that operands lie in memory.
module {
  func.func @bias_relu(%a: tensor<70x40xf32> {weir.name = "a"}, %b: tensor<40x72xf32> {weir.name = "b"}, %c: tensor<72xf32> {weir.name = "c"}) -> (tensor<70x72xf32> {weir.name = "out"}) attributes {weir.entry = "bias_relu"} {
    %0 = weir.dot_general %a, %b {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<70x40xf32>, tensor<40x72xf32>) -> tensor<70x72xf32> loc("bias_relu.dot")
    %1 = weir.add %0, %c : (tensor<70x72xf32>, tensor<72xf32>) -> tensor<70x72xf32> loc("bias_relu.bias")
    %2 = weir.relu %1 : (tensor<70x72xf32>) -> tensor<70x72xf32> loc("bias_relu.relu")
    return %2 : tensor<70x72xf32>
  }
  func.func @residual(%a: tensor<2x24x40xf32> {weir.name = "a"}, %b: tensor<40x48xf32> {weir.name = "b"}, %c: tensor<48xf32> {weir.name = "c"}, %d: tensor<2x24x48xf32> {weir.name = "d"}) -> (tensor<2x24x48xf32> {weir.name = "out"}) attributes {weir.entry = "residual"} {
    %0 = weir.dot_general %a, %b {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 2>, rhs_contract = array<i64: 0>} : (tensor<2x24x40xf32>, tensor<40x48xf32>) -> tensor<2x24x48xf32> loc("residual.dot")
    %1 = weir.add %0, %c : (tensor<2x24x48xf32>, tensor<48xf32>) -> tensor<2x24x48xf32> loc("residual.bias")
    %2 = weir.add %1, %d : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32> loc("residual.add")
    return %2 : tensor<2x24x48xf32>
  }
  func.func @gelu(%a: tensor<32x40xbf16> {weir.name = "a"}, %b: tensor<40x64xbf16> {weir.name = "b"}, %c: tensor<64xbf16> {weir.name = "c"}) -> (tensor<32x64xbf16> {weir.name = "out"}) attributes {weir.entry = "gelu"} {
    %0 = weir.dot_general %a, %b {accumulator = bf16, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<32x40xbf16>, tensor<40x64xbf16>) -> tensor<32x64xbf16> loc("gelu.dot")
    %1 = weir.add %0, %c : (tensor<32x64xbf16>, tensor<64xbf16>) -> tensor<32x64xbf16> loc("gelu.bias")
    %2 = weir.gelu %1 {approximate = true} : (tensor<32x64xbf16>) -> tensor<32x64xbf16> loc("gelu.gelu")
    return %2 : tensor<32x64xbf16>
  }
  // Batched, the right operand transposed, scaled; a mask for all lines.
  func.func @scores(%a: tensor<1x3x20x16xf32> {weir.name = "a"}, %b: tensor<1x3x24x16xf32> {weir.name = "b"}, %c: tensor<1x1x1x24xf32> {weir.name = "c"}) -> (tensor<1x3x20x24xf32> {weir.name = "out"}) attributes {weir.entry = "scores"} {
    %k = weir.constant dense<4.0> : tensor<f32> loc("scores.four")
    %0 = weir.dot_general %a, %b {accumulator = f32, lhs_batch = array<i64: 0, 1>, rhs_batch = array<i64: 0, 1>, lhs_contract = array<i64: 3>, rhs_contract = array<i64: 3>} : (tensor<1x3x20x16xf32>, tensor<1x3x24x16xf32>) -> tensor<1x3x20x24xf32> loc("scores.dot")
    %1 = weir.div %0, %k : (tensor<1x3x20x24xf32>, tensor<f32>) -> tensor<1x3x20x24xf32> loc("scores.scale")
    %2 = weir.add %1, %c : (tensor<1x3x20x24xf32>, tensor<1x1x1x24xf32>) -> tensor<1x3x20x24xf32> loc("scores.mask")
    return %2 : tensor<1x3x20x24xf32>
  }
  // Heads lie between rows and columns: a distance between lines that is no size.
  func.func @heads(%a: tensor<20x3x16xf32> {weir.name = "a"}, %b: tensor<24x3x16xf32> {weir.name = "b"}) -> (tensor<3x20x24xf32> {weir.name = "out"}) attributes {weir.entry = "heads"} {
    %0 = weir.dot_general %a, %b {accumulator = f32, lhs_batch = array<i64: 1>, rhs_batch = array<i64: 1>, lhs_contract = array<i64: 2>, rhs_contract = array<i64: 2>} : (tensor<20x3x16xf32>, tensor<24x3x16xf32>) -> tensor<3x20x24xf32> loc("heads.dot")
    return %0 : tensor<3x20x24xf32>
  }
  func.func @left_transposed(%a: tensor<40x24xf16> {weir.name = "a"}, %b: tensor<40x32xf16> {weir.name = "b"}) -> (tensor<24x32xf16> {weir.name = "out"}) attributes {weir.entry = "left_transposed"} {
    %0 = weir.dot_general %a, %b {accumulator = f16, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 0>, rhs_contract = array<i64: 0>} : (tensor<40x24xf16>, tensor<40x32xf16>) -> tensor<24x32xf16> loc("left_transposed.dot")
    return %0 : tensor<24x32xf16>
  }
  // What the library does not know follows in place.
  func.func @tanh(%a: tensor<1x40xf32> {weir.name = "a"}, %b: tensor<40x64xf32> {weir.name = "b"}, %c: tensor<64xf32> {weir.name = "c"}) -> (tensor<1x64xf32> {weir.name = "out"}) attributes {weir.entry = "tanh"} {
    %0 = weir.dot_general %a, %b {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<1x40xf32>, tensor<40x64xf32>) -> tensor<1x64xf32> loc("tanh.dot")
    %1 = weir.add %0, %c : (tensor<1x64xf32>, tensor<64xf32>) -> tensor<1x64xf32> loc("tanh.bias")
    %2 = weir.tanh %1 : (tensor<1x64xf32>) -> tensor<1x64xf32> loc("tanh.tanh")
    return %2 : tensor<1x64xf32>
  }
  // Sums in f32, a bias in f32, a narrow result: by way of memory of its own.
  func.func @narrow(%a: tensor<32x320xbf16> {weir.name = "a"}, %b: tensor<320x64xbf16> {weir.name = "b"}, %c: tensor<64xf32> {weir.name = "c"}) -> (tensor<32x64xbf16> {weir.name = "out"}) attributes {weir.entry = "narrow"} {
    %0 = weir.dot_general %a, %b {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<32x320xbf16>, tensor<320x64xbf16>) -> tensor<32x64xf32> loc("narrow.dot")
    %1 = weir.add %0, %c : (tensor<32x64xf32>, tensor<64xf32>) -> tensor<32x64xf32> loc("narrow.bias")
    %2 = weir.cast %1 {saturate = false} : (tensor<32x64xf32>) -> tensor<32x64xbf16> loc("narrow.cast")
    return %2 : tensor<32x64xbf16>
  }
  func.func @double(%a: tensor<20x24xf64> {weir.name = "a"}, %b: tensor<24x28xf64> {weir.name = "b"}, %c: tensor<28xf64> {weir.name = "c"}) -> (tensor<20x28xf64> {weir.name = "out"}) attributes {weir.entry = "double"} {
    %0 = weir.dot_general %a, %b {accumulator = f64, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<20x24xf64>, tensor<24x28xf64>) -> tensor<20x28xf64> loc("double.dot")
    %1 = weir.add %0, %c : (tensor<20x28xf64>, tensor<28xf64>) -> tensor<20x28xf64> loc("double.bias")
    return %1 : tensor<20x28xf64>
  }
  func.func @open(%a: tensor<?x40xf32> {weir.name = "a"}, %b: tensor<40x64xf32> {weir.name = "b"}, %c: tensor<64xf32> {weir.name = "c"}) -> (tensor<?x64xf32> {weir.name = "out"}) attributes {weir.entry = "open"} {
    %0 = weir.dot_general %a, %b {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<?x40xf32>, tensor<40x64xf32>) -> tensor<?x64xf32> loc("open.dot")
    %1 = weir.add %0, %c : (tensor<?x64xf32>, tensor<64xf32>) -> tensor<?x64xf32> loc("open.bias")
    %2 = weir.tanh %1 : (tensor<?x64xf32>) -> tensor<?x64xf32> loc("open.tanh")
    return %2 : tensor<?x64xf32>
  }
  // Rows of the left operand's two groups do not lie one after the other.
  func.func @refused(%a: tensor<6x5x16xf32> {weir.name = "a"}, %b: tensor<7x6x16xf32> {weir.name = "b"}) -> (tensor<5x7xf32> {weir.name = "out"}) attributes {weir.entry = "refused"} {
    %0 = weir.dot_general %a, %b {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 0, 2>, rhs_contract = array<i64: 1, 2>} : (tensor<6x5x16xf32>, tensor<7x6x16xf32>) -> tensor<5x7xf32> loc("refused.dot")
    return %0 : tensor<5x7xf32>
  }
}
