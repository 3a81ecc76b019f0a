// What was fed is read behind the update: it must stay as it was.
module {
  func.func @difference(%cache: tensor<64x32xf32> {weir.name = "cache"}, %at: tensor<4x1xi64> {weir.name = "at"}, %new: tensor<4x32xf32> {weir.name = "new"}) -> (tensor<64x32xf32> {weir.name = "out"}, tensor<64x1xf32> {weir.name = "change"}) attributes {weir.entry = "difference"} {
    %0 = weir.scatter_nd %cache, %at, %new {reduction = "none", wrap_negative = false, drop_out_of_bounds = false} : (tensor<64x32xf32>, tensor<4x1xi64>, tensor<4x32xf32>) -> tensor<64x32xf32> loc("update")
    %1 = weir.sub %0, %cache : (tensor<64x32xf32>, tensor<64x32xf32>) -> tensor<64x32xf32> loc("less")
    %2 = weir.reduce %1 {axes = array<i64: 1>, keep_dims = true, kind = "max"} : (tensor<64x32xf32>) -> tensor<64x1xf32> loc("change")
    return %0, %2 : tensor<64x32xf32>, tensor<64x1xf32>
  }
}
