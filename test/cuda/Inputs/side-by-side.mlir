// Kernels that need nothing of each other, and some that do. Products behind them keep their results
// in the arena.
module {
  // Blocks of 256 and of 128 threads, a feed in between.
  func.func @apart(%a: tensor<512x300xf32> {weir.name = "a"}, %b: tensor<300x7xf32> {weir.name = "b"}) -> (tensor<512x300xf32> {weir.name = "large"}, tensor<300x7xf32> {weir.name = "small"}, tensor<512x7xf32> {weir.name = "out"}) attributes {weir.entry = "apart"} {
    %0 = weir.neg %a : (tensor<512x300xf32>) -> tensor<512x300xf32> loc("apart.large")
    %1 = weir.mul %b, %b : (tensor<300x7xf32>, tensor<300x7xf32>) -> tensor<300x7xf32> loc("apart.small")
    %2 = weir.dot_general %0, %1 {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<512x300xf32>, tensor<300x7xf32>) -> tensor<512x7xf32> loc("apart.product")
    return %0, %1, %2 : tensor<512x300xf32>, tensor<300x7xf32>, tensor<512x7xf32>
  }
  // Two, and three behind a product.
  func.func @many(%a: tensor<16x24xf32> {weir.name = "a"}, %b: tensor<24x8xf32> {weir.name = "b"}) -> (tensor<16x24xf32> {weir.name = "v"}, tensor<24x8xf32> {weir.name = "w"}, tensor<32x24xf32> {weir.name = "x"}, tensor<24x16xf32> {weir.name = "y"}, tensor<8x24xf32> {weir.name = "z"}, tensor<16x8xf32> {weir.name = "p"}, tensor<32x16xf32> {weir.name = "q"}, tensor<8x16xf32> {weir.name = "r"}) attributes {weir.entry = "many"} {
    %0 = weir.neg %a : (tensor<16x24xf32>) -> tensor<16x24xf32> loc("many.v")
    %1 = weir.mul %b, %b : (tensor<24x8xf32>, tensor<24x8xf32>) -> tensor<24x8xf32> loc("many.w")
    %2 = weir.concat %a, %a {axis = 0 : i64} : (tensor<16x24xf32>, tensor<16x24xf32>) -> tensor<32x24xf32> loc("many.x")
    %3 = weir.concat %b, %b {axis = 1 : i64} : (tensor<24x8xf32>, tensor<24x8xf32>) -> tensor<24x16xf32> loc("many.y")
    %starts = weir.constant dense<8> : tensor<1xi64>
    %ends = weir.constant dense<16> : tensor<1xi64>
    %steps = weir.constant dense<1> : tensor<1xi64>
    %4 = weir.slice %a, %starts, %ends, %steps {axes = array<i64: 0>, strict = false} : (tensor<16x24xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<8x24xf32> loc("many.z")
    %5 = weir.dot_general %0, %1 {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<16x24xf32>, tensor<24x8xf32>) -> tensor<16x8xf32> loc("many.p")
    %6 = weir.dot_general %2, %3 {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<32x24xf32>, tensor<24x16xf32>) -> tensor<32x16xf32> loc("many.q")
    %7 = weir.dot_general %4, %3 {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<8x24xf32>, tensor<24x16xf32>) -> tensor<8x16xf32> loc("many.r")
    return %0, %1, %2, %3, %4, %5, %6, %7 : tensor<16x24xf32>, tensor<24x8xf32>, tensor<32x24xf32>, tensor<24x16xf32>, tensor<8x24xf32>, tensor<16x8xf32>, tensor<32x16xf32>, tensor<8x16xf32>
  }
  // The second one reads what the first one has made: two launches.
  func.func @chain(%a: tensor<16x24xf32> {weir.name = "a"}, %i: tensor<5xi64> {weir.name = "i"}) -> (tensor<32x24xf32> {weir.name = "x"}, tensor<5x24xf32> {weir.name = "y"}) attributes {weir.entry = "chain"} {
    %0 = weir.concat %a, %a {axis = 0 : i64} : (tensor<16x24xf32>, tensor<16x24xf32>) -> tensor<32x24xf32> loc("chain.x")
    %1 = weir.gather %0, %i {axis = 0 : i64, batch_dims = 0 : i64, wrap_negative = false} : (tensor<32x24xf32>, tensor<5xi64>) -> tensor<5x24xf32> loc("chain.y")
    return %0, %1 : tensor<32x24xf32>, tensor<5x24xf32>
  }
  // Ten times as many rows are too large to gain by it.
  func.func @large(%a: tensor<4096x1024xf32> {weir.name = "a"}, %b: tensor<1024x7xf32> {weir.name = "b"}) -> (tensor<4096x1024xf32> {weir.name = "large"}, tensor<1024x7xf32> {weir.name = "small"}, tensor<4096x7xf32> {weir.name = "out"}) attributes {weir.entry = "large"} {
    %0 = weir.neg %a : (tensor<4096x1024xf32>) -> tensor<4096x1024xf32> loc("large.large")
    %1 = weir.mul %b, %b : (tensor<1024x7xf32>, tensor<1024x7xf32>) -> tensor<1024x7xf32> loc("large.small")
    %2 = weir.dot_general %0, %1 {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<4096x1024xf32>, tensor<1024x7xf32>) -> tensor<4096x7xf32> loc("large.product")
    return %0, %1, %2 : tensor<4096x1024xf32>, tensor<1024x7xf32>, tensor<4096x7xf32>
  }
  func.func @open(%a: tensor<?x24xf32> {weir.name = "a"}, %b: tensor<?x7xf32> {weir.name = "b"}) -> (tensor<?x24xf32> {weir.name = "x"}, tensor<?x7xf32> {weir.name = "y"}) attributes {weir.entry = "open"} {
    %0 = weir.neg %a : (tensor<?x24xf32>) -> tensor<?x24xf32> loc("open.x")
    %1 = weir.mul %b, %b : (tensor<?x7xf32>, tensor<?x7xf32>) -> tensor<?x7xf32> loc("open.y")
    return %0, %1 : tensor<?x24xf32>, tensor<?x7xf32>
  }
  // An index outside is the second one's.
  func.func @failing(%a: tensor<16x24xf32> {weir.name = "a"}, %i: tensor<20xi64> {weir.name = "i"}, %c: tensor<1x24xf32> {weir.name = "c"}) -> (tensor<20x24xf32> {weir.name = "x"}, tensor<20x24xf32> {weir.name = "y"}, tensor<20x20xf32> {weir.name = "z"}) attributes {weir.entry = "failing"} {
    %0 = weir.gather %a, %i {axis = 0 : i64, batch_dims = 0 : i64, wrap_negative = false} : (tensor<16x24xf32>, tensor<20xi64>) -> tensor<20x24xf32> loc("failing.x")
    %1 = weir.gather %c, %i {axis = 0 : i64, batch_dims = 0 : i64, wrap_negative = false} : (tensor<1x24xf32>, tensor<20xi64>) -> tensor<20x24xf32> loc("failing.y")
    %2 = weir.dot_general %0, %1 {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 1>} : (tensor<20x24xf32>, tensor<20x24xf32>) -> tensor<20x20xf32> loc("failing.z")
    return %0, %1, %2 : tensor<20x24xf32>, tensor<20x24xf32>, tensor<20x20xf32>
  }
}
