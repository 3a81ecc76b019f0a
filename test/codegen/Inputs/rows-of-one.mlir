module {
  func.func @main(%a: tensor<3x2x1x24xf32> {weir.name = "a"}, %x: tensor<3x2x1x40xf32> {weir.name = "x"}, %w: tensor<24x40xf32> {weir.name = "w"}, %b: tensor<40xf32> {weir.name = "b"}) -> (tensor<3x2x1x40xf32> {weir.name = "out"}) attributes {weir.entry = "main"} {
    %0 = weir.dot_general %a, %w {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 3>, rhs_contract = array<i64: 0>} : (tensor<3x2x1x24xf32>, tensor<24x40xf32>) -> tensor<3x2x1x40xf32> loc("product")
    %1 = weir.add %0, %b : (tensor<3x2x1x40xf32>, tensor<40xf32>) -> tensor<3x2x1x40xf32> loc("bias")
    %2 = weir.add %x, %1 : (tensor<3x2x1x40xf32>, tensor<3x2x1x40xf32>) -> tensor<3x2x1x40xf32> loc("residual")
    return %2 : tensor<3x2x1x40xf32>
  }
}
