// A counter in one task, its work in another.
module {
  func.func @main(%x: tensor<4xf32> {weir.name = "x"}) -> (tensor<4xf32> {weir.name = "y"}, tensor<i64> {weir.name = "n"})
      attributes {weir.entry = "main", weir.device_requests = {less = "/job:worker/task:0", next = "/job:worker/task:0", double = "/job:worker/task:1"}} {
    %zero = weir.constant dense<0> : tensor<i64>
    %0:2 = weir.while %zero, %x : (tensor<i64>, tensor<4xf32>) -> (tensor<i64>, tensor<4xf32>) while {
    ^bb0(%i: tensor<i64>, %v: tensor<4xf32>):
      %ten = weir.constant dense<100> : tensor<i64>
      %more = weir.compare %i, %ten {predicate = "lt"} : (tensor<i64>, tensor<i64>) -> tensor<i1> loc("less")
      weir.yield %more : tensor<i1>
    } do {
    ^bb0(%i: tensor<i64>, %v: tensor<4xf32>):
      %one = weir.constant dense<1> : tensor<i64>
      %next = weir.add %i, %one : (tensor<i64>, tensor<i64>) -> tensor<i64> loc("next")
      %w = weir.sin %v : (tensor<4xf32>) -> tensor<4xf32> loc("double")
      weir.yield %next, %w : tensor<i64>, tensor<4xf32>
    } loc("loop")
    return %0#1, %0#0 : tensor<4xf32>, tensor<i64>
  }
}
