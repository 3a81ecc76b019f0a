// Steps of several kernels.
module {
  // Softmaxes along the first dimension: columns are no lines, so that each reduction and
  // what is between is a kernel of its own.
  func.func @chain(%a: tensor<96x64xf32> {weir.name = "a"}) -> (tensor<64x96xf32> {weir.name = "out"}) attributes {weir.entry = "chain"} {
    %0 = weir.transpose %a {permutation = array<i64: 1, 0>} : (tensor<96x64xf32>) -> tensor<64x96xf32> loc("transpose")
    %1 = weir.reduce %0 {axes = array<i64: 0>, keep_dims = true, kind = "max"} : (tensor<64x96xf32>) -> tensor<1x96xf32> loc("max")
    %2 = weir.sub %0, %1 : (tensor<64x96xf32>, tensor<1x96xf32>) -> tensor<64x96xf32> loc("less")
    %3 = weir.exp %2 : (tensor<64x96xf32>) -> tensor<64x96xf32> loc("exp")
    %4 = weir.reduce %3 {axes = array<i64: 0>, keep_dims = true, kind = "sum"} : (tensor<64x96xf32>) -> tensor<1x96xf32> loc("total")
    %5 = weir.div %3, %4 : (tensor<64x96xf32>, tensor<1x96xf32>) -> tensor<64x96xf32> loc("share")
    return %5 : tensor<64x96xf32>
  }
  func.func @open_chain(%a: tensor<?x96xf32> {weir.name = "a"}) -> (tensor<?x96xf32> {weir.name = "out"}) attributes {weir.entry = "open_chain"} {
    %1 = weir.reduce %a {axes = array<i64: 0>, keep_dims = true, kind = "max"} : (tensor<?x96xf32>) -> tensor<1x96xf32> loc("open.max")
    %2 = weir.sub %a, %1 : (tensor<?x96xf32>, tensor<1x96xf32>) -> tensor<?x96xf32> loc("open.less")
    %3 = weir.exp %2 : (tensor<?x96xf32>) -> tensor<?x96xf32> loc("open.exp")
    %4 = weir.reduce %3 {axes = array<i64: 0>, keep_dims = true, kind = "sum"} : (tensor<?x96xf32>) -> tensor<1x96xf32> loc("open.total")
    %5 = weir.div %3, %4 : (tensor<?x96xf32>, tensor<1x96xf32>) -> tensor<?x96xf32> loc("open.share")
    return %5 : tensor<?x96xf32>
  }
  func.func @layers(%a: tensor<20x32xf32> {weir.name = "a"}, %b: tensor<32x48xf32> {weir.name = "b"}, %c: tensor<48x24xf32> {weir.name = "c"}) -> (tensor<20x24xf32> {weir.name = "out"}) attributes {weir.entry = "layers"} {
    %0 = weir.dot_general %a, %b {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<20x32xf32>, tensor<32x48xf32>) -> tensor<20x48xf32> loc("first")
    %1 = weir.tanh %0 : (tensor<20x48xf32>) -> tensor<20x48xf32> loc("tanh")
    %2 = weir.dot_general %1, %c {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<20x48xf32>, tensor<48x24xf32>) -> tensor<20x24xf32> loc("second")
    return %2 : tensor<20x24xf32>
  }
  // Its first feed is read by the host as well.
  func.func @shared(%a: tensor<96xf32> {weir.name = "a"}, %b: tensor<96xf32> {weir.name = "b"}) -> (tensor<96xf32> {weir.name = "out"}, tensor<2xf32> {weir.name = "top"}) attributes {weir.entry = "shared"} {
    %0 = weir.add %a, %b : (tensor<96xf32>, tensor<96xf32>) -> tensor<96xf32> loc("sum")
    %k = weir.constant dense<2> : tensor<i64> loc("k")
    %1:2 = weir.top_k %a, %k {axis = 0 : i64, index_type = i64, largest = true, sorted = true} : (tensor<96xf32>, tensor<i64>) -> (tensor<2xf32>, tensor<2xi64>) loc("top")
    return %0, %1#0 : tensor<96xf32>, tensor<2xf32>
  }
}
