// Two products whose weights have 4 MB each.
func.func @main(%x: tensor<?x1024xf32> {weir.name = "x"}) -> (tensor<?x1024xf32> {weir.name = "y"})
    attributes {weir.entry = "main"} {
  %c0 = weir.constant dense<0.01> : tensor<1024x1024xf32>
  %w0 = weir.gate %c0 {weir.weight = "w0"} : tensor<1024x1024xf32>
  %0 = weir.dot_general %x, %w0 {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, accumulator = f32} : (tensor<?x1024xf32>, tensor<1024x1024xf32>) -> tensor<?x1024xf32>
  %c1 = weir.constant dense<0.02> : tensor<1024x1024xf32>
  %w1 = weir.gate %c1 {weir.weight = "w1"} : tensor<1024x1024xf32>
  %1 = weir.dot_general %0, %w1 {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, accumulator = f32} : (tensor<?x1024xf32>, tensor<1024x1024xf32>) -> tensor<?x1024xf32>
  return %1 : tensor<?x1024xf32>
}
