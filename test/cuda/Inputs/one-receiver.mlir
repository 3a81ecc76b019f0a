// A reduction of three GPUs' values that one of them uses.
module {
  func.func @lone(%a: tensor<30x50xf32> {weir.name = "a"}) -> (tensor<30x50xf32> {weir.name = "x"}) attributes {weir.entry = "lone"} {
    %0 = weir.tanh %a : (tensor<30x50xf32>) -> tensor<30x50xf32> loc("zero.part")
    %1 = weir.exp %a : (tensor<30x50xf32>) -> tensor<30x50xf32> loc("one.part")
    %2 = weir.sin %a : (tensor<30x50xf32>) -> tensor<30x50xf32> loc("two.part")
    %3 = weir.all_reduce %0, %1, %2 {kind = "sum"} : (tensor<30x50xf32>, tensor<30x50xf32>, tensor<30x50xf32>) -> tensor<30x50xf32> loc("zero.all")
    %4 = weir.cos %3 : (tensor<30x50xf32>) -> tensor<30x50xf32> loc("one.use")
    return %4 : tensor<30x50xf32>
  }
}
