// Products around a dropout.
func.func @main(%x: tensor<?x64xf32> {weir.name = "x"}) -> (tensor<?x64xf32> {weir.name = "y"})
    attributes {weir.entry = "main"} {
  %c0 = weir.constant dense<0.01> : tensor<64x64xf32>
  %w0 = weir.gate %c0 {weir.weight = "w0"} : tensor<64x64xf32> loc("w0")
  %0 = weir.dot_general %x, %w0 {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, accumulator = f32} : (tensor<?x64xf32>, tensor<64x64xf32>) -> tensor<?x64xf32> loc("first")
  %1 = weir.gate %0 {weir.dropout = 0.5 : f64} : tensor<?x64xf32> loc("dropout")
  %c1 = weir.constant dense<0.02> : tensor<64x64xf32>
  %w1 = weir.gate %c1 {weir.weight = "w1"} : tensor<64x64xf32> loc("w1")
  %2 = weir.dot_general %1, %w1 {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, accumulator = f32} : (tensor<?x64xf32>, tensor<64x64xf32>) -> tensor<?x64xf32> loc("second")
  return %2 : tensor<?x64xf32>
}
