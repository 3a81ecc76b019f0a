// A sum, and what no GPU kernel computes.
module {
  func.func @main(%a: tensor<64xf32> {weir.name = "a"}) -> (tensor<2xf32> {weir.name = "out"}) attributes {weir.entry = "main"} {
    %0 = weir.add %a, %a : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32> loc("sum")
    %k = weir.constant dense<2> : tensor<i64> loc("k")
    %1:2 = weir.top_k %0, %k {axis = 0 : i64, index_type = i64, largest = true, sorted = true} : (tensor<64xf32>, tensor<i64>) -> (tensor<2xf32>, tensor<2xi64>) loc("top")
    return %1#0 : tensor<2xf32>
  }
}
