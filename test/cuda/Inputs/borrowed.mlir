// A large feed and a large fetch, and small ones beside them.
module {
  func.func @main(%a: tensor<200x300xf32> {weir.name = "a"}, %b: tensor<300xf32> {weir.name = "b"}) -> (tensor<200x300xf32> {weir.name = "sum"}, tensor<300xf32> {weir.name = "twice"}) attributes {weir.entry = "main"} {
    %0 = weir.add %a, %b : (tensor<200x300xf32>, tensor<300xf32>) -> tensor<200x300xf32> loc("sum")
    %1 = weir.add %b, %b : (tensor<300xf32>, tensor<300xf32>) -> tensor<300xf32> loc("twice")
    return %0, %1 : tensor<200x300xf32>, tensor<300xf32>
  }
}
