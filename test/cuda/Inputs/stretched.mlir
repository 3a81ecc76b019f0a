// Open sizes that turn out to be one, and what only moves elements.
module {
  func.func @sum(%a: tensor<?x8xf32> {weir.name = "a"}, %b: tensor<?x8xf32> {weir.name = "b"}) -> (tensor<?x8xf32> {weir.name = "out"}) attributes {weir.entry = "sum"} {
    %0 = weir.add %a, %b : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32> loc("sum")
    return %0 : tensor<?x8xf32>
  }
  func.func @scatter(%o: tensor<100x64xf32> {weir.name = "o"}, %i: tensor<?x1xi64> {weir.name = "i"}, %a: tensor<?x64xf32> {weir.name = "a"}, %b: tensor<?x64xf32> {weir.name = "b"}) -> (tensor<100x64xf32> {weir.name = "out"}) attributes {weir.entry = "scatter"} {
    %u = weir.add %a, %b : (tensor<?x64xf32>, tensor<?x64xf32>) -> tensor<?x64xf32> loc("scatter.sum")
    %0 = weir.scatter_nd %o, %i, %u {reduction = "none", wrap_negative = false, drop_out_of_bounds = false} : (tensor<100x64xf32>, tensor<?x1xi64>, tensor<?x64xf32>) -> tensor<100x64xf32> loc("scatter")
    return %0 : tensor<100x64xf32>
  }
  func.func @moved(%a: tensor<3x5x16xbf16> {weir.name = "a"}, %b: tensor<?x16xbf16> {weir.name = "b"}, %i: tensor<40xi64> {weir.name = "i"}) -> (tensor<5x4x16xbf16> {weir.name = "joined"}, tensor<40x16xbf16> {weir.name = "picked"}) attributes {weir.entry = "moved"} {
    %0 = weir.transpose %a {permutation = array<i64: 1, 0, 2>} : (tensor<3x5x16xbf16>) -> tensor<5x3x16xbf16> loc("moved.turned")
    %from = weir.constant dense<[0]> : tensor<1xi64>
    %to = weir.constant dense<[1]> : tensor<1xi64>
    %one = weir.slice %0, %from, %to, %to {axes = array<i64: 1>, strict = false} : (tensor<5x3x16xbf16>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<5x1x16xbf16> loc("moved.slice")
    %1 = weir.concat %0, %one {axis = 1 : i64} : (tensor<5x3x16xbf16>, tensor<5x1x16xbf16>) -> tensor<5x4x16xbf16> loc("moved.concat")
    %2 = weir.gather %b, %i {axis = 0 : i64, batch_dims = 0 : i64, wrap_negative = true} : (tensor<?x16xbf16>, tensor<40xi64>) -> tensor<40x16xbf16> loc("moved.gather")
    return %1, %2 : tensor<5x4x16xbf16>, tensor<40x16xbf16>
  }
}
