// Attention of f16 around a softmax of f32, of heads that share keys, whose result is rounded and
// then brought into rows.
module attributes {weir.stage = "simplify"} {
  func.func @main(%q: tensor<1x?x4x16xf16> {weir.name = "q"}, %k: tensor<1x40x2x16xf16> {weir.name = "k"}, %v: tensor<1x40x2x16xf16> {weir.name = "v"}) -> (tensor<1x?x4x16xf16> {weir.name = "y"}) {
    %scale = weir.constant dense<2.500000e-01> : tensor<f32>
    %0 = weir.transpose %q {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x?x4x16xf16>) -> tensor<1x4x?x16xf16>
    %1 = weir.transpose %k {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x40x2x16xf16>) -> tensor<1x2x40x16xf16>
    %2 = weir.repeat %1 {axis = 1 : i64, times = 2 : i64} : (tensor<1x2x40x16xf16>) -> tensor<1x4x40x16xf16>
    %3 = weir.transpose %v {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x40x2x16xf16>) -> tensor<1x2x40x16xf16>
    %4 = weir.repeat %3 {axis = 1 : i64, times = 2 : i64} : (tensor<1x2x40x16xf16>) -> tensor<1x4x40x16xf16>
    %5 = weir.cast %0 {saturate = true} : (tensor<1x4x?x16xf16>) -> tensor<1x4x?x16xf32>
    %6 = weir.cast %2 {saturate = true} : (tensor<1x4x40x16xf16>) -> tensor<1x4x40x16xf32>
    %7 = weir.transpose %6 {permutation = array<i64: 0, 1, 3, 2>} : (tensor<1x4x40x16xf32>) -> tensor<1x4x16x40xf32>
    %8 = weir.dot_general %5, %7 {accumulator = f32, lhs_batch = array<i64: 0, 1>, lhs_contract = array<i64: 3>, rhs_batch = array<i64: 0, 1>, rhs_contract = array<i64: 2>} : (tensor<1x4x?x16xf32>, tensor<1x4x16x40xf32>) -> tensor<1x4x?x40xf32>
    %9 = weir.mul %8, %scale : (tensor<1x4x?x40xf32>, tensor<f32>) -> tensor<1x4x?x40xf32>
    %10 = weir.reduce %9 {axes = array<i64: 3>, keep_dims = true, kind = "max"} : (tensor<1x4x?x40xf32>) -> tensor<1x4x?x1xf32>
    %11 = weir.sub %9, %10 : (tensor<1x4x?x40xf32>, tensor<1x4x?x1xf32>) -> tensor<1x4x?x40xf32>
    %12 = weir.exp %11 : (tensor<1x4x?x40xf32>) -> tensor<1x4x?x40xf32>
    %13 = weir.reduce %12 {axes = array<i64: 3>, keep_dims = true, kind = "sum"} : (tensor<1x4x?x40xf32>) -> tensor<1x4x?x1xf32>
    %14 = weir.div %12, %13 : (tensor<1x4x?x40xf32>, tensor<1x4x?x1xf32>) -> tensor<1x4x?x40xf32>
    %15 = weir.cast %4 {saturate = true} : (tensor<1x4x40x16xf16>) -> tensor<1x4x40x16xf32>
    %16 = weir.dot_general %14, %15 {accumulator = f32, lhs_batch = array<i64: 0, 1>, lhs_contract = array<i64: 3>, rhs_batch = array<i64: 0, 1>, rhs_contract = array<i64: 2>} : (tensor<1x4x?x40xf32>, tensor<1x4x40x16xf32>) -> tensor<1x4x?x16xf32>
    %17 = weir.cast %16 {saturate = true} : (tensor<1x4x?x16xf32>) -> tensor<1x4x?x16xf16>
    %18 = weir.transpose %17 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x4x?x16xf16>) -> tensor<1x?x4x16xf16>
    return %18 : tensor<1x?x4x16xf16>
  }
}
