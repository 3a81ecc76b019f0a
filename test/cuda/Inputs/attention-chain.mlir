// Each product but the first could end one attention and begin the next.
module {
  func.func @main(%x: tensor<64x64xbf16> {weir.name = "x"}, %w0: tensor<64x64xbf16> {weir.name = "w0"}, %w1: tensor<64x64xbf16> {weir.name = "w1"}, %w2: tensor<64x64xbf16> {weir.name = "w2"}) -> (tensor<64x64xbf16> {weir.name = "out"}) attributes {weir.entry = "main"} {
    %quarter = weir.constant dense<0.25> : tensor<bf16>
    %d0 = weir.dot_general %x, %w0 {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, accumulator = bf16} : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xbf16> loc("0.product")
    %m0 = weir.mul %d0, %quarter : (tensor<64x64xbf16>, tensor<bf16>) -> tensor<64x64xbf16> loc("0.scaled")
    %s0 = weir.softmax %m0 {axis = 1 : i64, log = false} : (tensor<64x64xbf16>) -> tensor<64x64xbf16> loc("0.softmax")
    %d1 = weir.dot_general %s0, %w1 {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, accumulator = bf16} : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xbf16> loc("1.product")
    %m1 = weir.mul %d1, %quarter : (tensor<64x64xbf16>, tensor<bf16>) -> tensor<64x64xbf16> loc("1.scaled")
    %s1 = weir.softmax %m1 {axis = 1 : i64, log = false} : (tensor<64x64xbf16>) -> tensor<64x64xbf16> loc("1.softmax")
    %d2 = weir.dot_general %s1, %w2 {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, accumulator = bf16} : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xbf16> loc("2.product")
    %m2 = weir.mul %d2, %quarter : (tensor<64x64xbf16>, tensor<bf16>) -> tensor<64x64xbf16> loc("2.scaled")
    %s2 = weir.softmax %m2 {axis = 1 : i64, log = false} : (tensor<64x64xbf16>) -> tensor<64x64xbf16> loc("2.softmax")
    return %s2 : tensor<64x64xbf16>
  }
}
