// A product that tensor cores bound, additions that memory bounds, and sizes that are open.
module {
  func.func @product(%a: tensor<512x4096xbf16> {weir.name = "a"}, %b: tensor<4096x4096xbf16> {weir.name = "b"}) -> (tensor<512x4096xbf16> {weir.name = "out"}) attributes {weir.entry = "product"} {
    %0 = weir.dot_general %a, %b {accumulator = bf16, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<512x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<512x4096xbf16> loc("product.dot")
    return %0 : tensor<512x4096xbf16>
  }
  func.func @sum(%a: tensor<4096x4096xf32> {weir.name = "a"}, %b: tensor<4096x4096xf32> {weir.name = "b"}) -> (tensor<4096x4096xf32> {weir.name = "out"}) attributes {weir.entry = "sum"} {
    %0 = weir.add %a, %b : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32> loc("sum.add")
    return %0 : tensor<4096x4096xf32>
  }
  func.func @open(%a: tensor<?xf32> {weir.name = "a"}) -> (tensor<?xf32> {weir.name = "out"}) attributes {weir.entry = "open"} {
    %0 = weir.neg %a : (tensor<?xf32>) -> tensor<?xf32> loc("open.neg")
    return %0 : tensor<?xf32>
  }
}
