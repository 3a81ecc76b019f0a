// A reduction of tensors whose sizes only a run knows.
module {
  func.func @main(%a: tensor<?x50xf32> {weir.name = "a"}, %b: tensor<?x50xf32> {weir.name = "b"}) -> (tensor<?x50xf32> {weir.name = "x"}, tensor<?x50xf32> {weir.name = "y"}) attributes {weir.entry = "main"} {
    %0 = weir.tanh %a : (tensor<?x50xf32>) -> tensor<?x50xf32> loc("zero.part")
    %1 = weir.exp %b : (tensor<?x50xf32>) -> tensor<?x50xf32> loc("one.part")
    %2 = weir.all_reduce %0, %1 {kind = "sum"} : (tensor<?x50xf32>, tensor<?x50xf32>) -> tensor<?x50xf32> loc("zero.all")
    %3 = weir.sin %2 : (tensor<?x50xf32>) -> tensor<?x50xf32> loc("zero.use")
    %4 = weir.cos %2 : (tensor<?x50xf32>) -> tensor<?x50xf32> loc("one.use")
    return %3, %4 : tensor<?x50xf32>, tensor<?x50xf32>
  }
}
