// One function for each way that kernels of a GPU work.
module {
  func.func @elementwise(%a: tensor<64x1000xf32> {weir.name = "a"}, %b: tensor<64x1000xf32> {weir.name = "b"}) -> (tensor<64x1000xf32> {weir.name = "out"}) attributes {weir.entry = "elementwise"} {
    %0 = weir.add %a, %b : (tensor<64x1000xf32>, tensor<64x1000xf32>) -> tensor<64x1000xf32> loc("sum")
    %1 = weir.tanh %0 : (tensor<64x1000xf32>) -> tensor<64x1000xf32> loc("tanh")
    return %1 : tensor<64x1000xf32>
  }
  func.func @bias(%a: tensor<5x32xf32> {weir.name = "a"}, %b: tensor<32xf32> {weir.name = "b"}) -> (tensor<5x32xf32> {weir.name = "out"}) attributes {weir.entry = "bias"} {
    %0 = weir.add %a, %b : (tensor<5x32xf32>, tensor<32xf32>) -> tensor<5x32xf32> loc("bias")
    return %0 : tensor<5x32xf32>
  }
  func.func @open(%a: tensor<?xf32> {weir.name = "a"}) -> (tensor<?xf32> {weir.name = "out"}) attributes {weir.entry = "open"} {
    %0 = weir.exp %a : (tensor<?xf32>) -> tensor<?xf32> loc("exp")
    return %0 : tensor<?xf32>
  }
  func.func @rows(%a: tensor<7x256xf32> {weir.name = "a"}) -> (tensor<7xf32> {weir.name = "out"}) attributes {weir.entry = "rows"} {
    %0 = weir.reduce %a {axes = array<i64: 1>, keep_dims = false, kind = "sum"} : (tensor<7x256xf32>) -> tensor<7xf32> loc("sum256")
    return %0 : tensor<7xf32>
  }
  func.func @long(%a: tensor<3x5000xf32> {weir.name = "a"}) -> (tensor<3xf32> {weir.name = "out"}) attributes {weir.entry = "long"} {
    %0 = weir.reduce %a {axes = array<i64: 1>, keep_dims = false, kind = "max"} : (tensor<3x5000xf32>) -> tensor<3xf32> loc("max5000")
    return %0 : tensor<3xf32>
  }
  func.func @transpose(%a: tensor<2x40x33xf32> {weir.name = "a"}) -> (tensor<2x33x40xf32> {weir.name = "out"}) attributes {weir.entry = "transpose"} {
    %0 = weir.transpose %a {permutation = array<i64: 0, 2, 1>} : (tensor<2x40x33xf32>) -> tensor<2x33x40xf32> loc("transpose")
    return %0 : tensor<2x33x40xf32>
  }
  func.func @product(%a: tensor<70x37xf32> {weir.name = "a"}, %b: tensor<37x66xf32> {weir.name = "b"}, %c: tensor<66xf32> {weir.name = "c"}) -> (tensor<70x66xf32> {weir.name = "out"}) attributes {weir.entry = "product"} {
    %0 = weir.dot_general %a, %b {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<70x37xf32>, tensor<37x66xf32>) -> tensor<70x66xf32> loc("dot")
    %1 = weir.add %0, %c : (tensor<70x66xf32>, tensor<66xf32>) -> tensor<70x66xf32> loc("bias2")
    return %1 : tensor<70x66xf32>
  }
  func.func @lookup(%a: tensor<10x8xf32> {weir.name = "a"}, %i: tensor<20xi32> {weir.name = "i"}) -> (tensor<20x8xf32> {weir.name = "out"}) attributes {weir.entry = "lookup"} {
    %0 = weir.gather %a, %i {axis = 0 : i64, batch_dims = 0 : i64, wrap_negative = false} : (tensor<10x8xf32>, tensor<20xi32>) -> tensor<20x8xf32> loc("lookup")
    return %0 : tensor<20x8xf32>
  }
}
