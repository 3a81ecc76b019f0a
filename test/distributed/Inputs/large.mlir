// A row of large tensors there and back, in a loop, so that buffers are sent, and
// used again, while the other task is still at the last ones.
module {
  func.func @main(%x: tensor<512x600xf32> {weir.name = "x"}) -> (tensor<512x600xf32> {weir.name = "y"}, tensor<512x600xf32> {weir.name = "z"})
      attributes {weir.entry = "main", weir.device_requests = {less = "/job:worker/task:0", next = "/job:worker/task:0", here = "/job:worker/task:0", there = "/job:worker/task:1", a = "/job:worker/task:0", b = "/job:worker/task:1", c = "/job:worker/task:0", d = "/job:worker/task:1", e = "/job:worker/task:0"}} {
    %zero = weir.constant dense<0> : tensor<i64>
    %0:2 = weir.while %zero, %x : (tensor<i64>, tensor<512x600xf32>) -> (tensor<i64>, tensor<512x600xf32>) while {
    ^bb0(%i: tensor<i64>, %v: tensor<512x600xf32>):
      %twenty = weir.constant dense<20> : tensor<i64>
      %more = weir.compare %i, %twenty {predicate = "lt"} : (tensor<i64>, tensor<i64>) -> tensor<i1> loc("less")
      weir.yield %more : tensor<i1>
    } do {
    ^bb0(%i: tensor<i64>, %v: tensor<512x600xf32>):
      %one = weir.constant dense<1> : tensor<i64>
      %next = weir.add %i, %one : (tensor<i64>, tensor<i64>) -> tensor<i64> loc("next")
      %w = weir.sin %v : (tensor<512x600xf32>) -> tensor<512x600xf32> loc("here")
      %u = weir.cos %w : (tensor<512x600xf32>) -> tensor<512x600xf32> loc("there")
      weir.yield %next, %u : tensor<i64>, tensor<512x600xf32>
    } loc("loop")
    %a = weir.sin %x : (tensor<512x600xf32>) -> tensor<512x600xf32> loc("a")
    %b = weir.cos %a : (tensor<512x600xf32>) -> tensor<512x600xf32> loc("b")
    %c = weir.sin %b : (tensor<512x600xf32>) -> tensor<512x600xf32> loc("c")
    %d = weir.cos %c : (tensor<512x600xf32>) -> tensor<512x600xf32> loc("d")
    %e = weir.sin %d : (tensor<512x600xf32>) -> tensor<512x600xf32> loc("e")
    return %0#1, %e : tensor<512x600xf32>, tensor<512x600xf32>
  }
}
