// Caches that are fed, updated and fetched: what a caller keeps in the GPU's memory between steps.
module {
  func.func @lines(%cache: tensor<4x64x32xf16> {weir.name = "cache"}, %at: tensor<4x2xi64> {weir.name = "at"}, %new: tensor<4x32xf16> {weir.name = "new"}) -> (tensor<4x64x32xf16> {weir.name = "out"}, tensor<4x64xf16> {weir.name = "largest"}) attributes {weir.entry = "lines"} {
    %0 = weir.scatter_nd %cache, %at, %new {reduction = "none", wrap_negative = false, drop_out_of_bounds = false} : (tensor<4x64x32xf16>, tensor<4x2xi64>, tensor<4x32xf16>) -> tensor<4x64x32xf16> loc("lines.update")
    %1 = weir.reduce %0 {axes = array<i64: 2>, keep_dims = false, kind = "max"} : (tensor<4x64x32xf16>) -> tensor<4x64xf16> loc("lines.largest")
    return %0, %1 : tensor<4x64x32xf16>, tensor<4x64xf16>
  }
  func.func @sums(%cache: tensor<40x30xf32> {weir.name = "cache"}, %at: tensor<3x30xi64> {weir.name = "at"}, %new: tensor<3x30xf32> {weir.name = "new"}) -> (tensor<40x30xf32> {weir.name = "out"}) attributes {weir.entry = "sums"} {
    %0 = weir.scatter_elements %cache, %at, %new {axis = 0 : i64, reduction = "add", wrap_negative = false} : (tensor<40x30xf32>, tensor<3x30xi64>, tensor<3x30xf32>) -> tensor<40x30xf32> loc("sums.update")
    return %0 : tensor<40x30xf32>
  }
  func.func @open(%cache: tensor<?x64xf32> {weir.name = "cache"}, %at: tensor<3x1xi64> {weir.name = "at"}, %new: tensor<3x64xf32> {weir.name = "new"}) -> (tensor<?x64xf32> {weir.name = "out"}) attributes {weir.entry = "open"} {
    %0 = weir.scatter_nd %cache, %at, %new {reduction = "none", wrap_negative = false, drop_out_of_bounds = true} : (tensor<?x64xf32>, tensor<3x1xi64>, tensor<3x64xf32>) -> tensor<?x64xf32> loc("open.update")
    return %0 : tensor<?x64xf32>
  }
  // The updates are lines of the cache itself, read in front of it.
  func.func @moved(%cache: tensor<64x32xf32> {weir.name = "cache"}, %at: tensor<4x1xi64> {weir.name = "at"}, %from: tensor<4xi64> {weir.name = "from"}) -> (tensor<64x32xf32> {weir.name = "out"}) attributes {weir.entry = "moved"} {
    %0 = weir.gather %cache, %from {axis = 0 : i64, batch_dims = 0 : i64, wrap_negative = false} : (tensor<64x32xf32>, tensor<4xi64>) -> tensor<4x32xf32> loc("taken")
    %1 = weir.scatter_nd %cache, %at, %0 {reduction = "add", wrap_negative = false, drop_out_of_bounds = false} : (tensor<64x32xf32>, tensor<4x1xi64>, tensor<4x32xf32>) -> tensor<64x32xf32> loc("moved")
    return %1 : tensor<64x32xf32>
  }
  // Keys of tokens so far, and those of a step behind them, as exporters write caches: what lies there stays where the fetch begins
  // where the feed does.
  func.func @grown(%cache: tensor<1x?x2x32xf16> {weir.name = "cache"}, %new: tensor<1x3x2x32xf16> {weir.name = "new"}) -> (tensor<1x?x2x32xf16> {weir.name = "out"}, tensor<1x?x2xf16> {weir.name = "largest"}) attributes {weir.entry = "grown"} {
    %0 = weir.concat %cache, %new {axis = 1 : i64} : (tensor<1x?x2x32xf16>, tensor<1x3x2x32xf16>) -> tensor<1x?x2x32xf16> loc("grown.append")
    %1 = weir.reduce %0 {axes = array<i64: 3>, keep_dims = false, kind = "max"} : (tensor<1x?x2x32xf16>) -> tensor<1x?x2xf16> loc("grown.largest")
    return %0, %1 : tensor<1x?x2x32xf16>, tensor<1x?x2xf16>
  }
  func.func @appended(%cache: tensor<1x40x30xf32> {weir.name = "cache"}, %new: tensor<1x1x30xf32> {weir.name = "new"}) -> (tensor<1x41x30xf32> {weir.name = "out"}) attributes {weir.entry = "appended"} {
    %0 = weir.concat %cache, %new {axis = 1 : i64} : (tensor<1x40x30xf32>, tensor<1x1x30xf32>) -> tensor<1x41x30xf32> loc("appended.append")
    return %0 : tensor<1x41x30xf32>
  }
}
