// Tensors that go from one GPU to the other and back; in "turns" in each of six turns.
module {
  func.func @there_and_back(%a: tensor<64x96xf32> {weir.name = "a"}) -> (tensor<64x96xf32> {weir.name = "out"}, tensor<64xf32> {weir.name = "sums"}) attributes {weir.entry = "there_and_back"} {
    %0 = weir.tanh %a : (tensor<64x96xf32>) -> tensor<64x96xf32> loc("zero.tanh")
    %1 = weir.reduce %0 {axes = array<i64: 1>, keep_dims = true, kind = "max"} : (tensor<64x96xf32>) -> tensor<64x1xf32> loc("one.max")
    %2 = weir.exp %0 : (tensor<64x96xf32>) -> tensor<64x96xf32> loc("one.exp")
    %3 = weir.sub %2, %1 : (tensor<64x96xf32>, tensor<64x1xf32>) -> tensor<64x96xf32> loc("zero.less")
    %4 = weir.add %3, %0 : (tensor<64x96xf32>, tensor<64x96xf32>) -> tensor<64x96xf32> loc("zero.sum")
    %5 = weir.reduce %4 {axes = array<i64: 1>, keep_dims = false, kind = "sum"} : (tensor<64x96xf32>) -> tensor<64xf32> loc("one.sums")
    return %4, %5 : tensor<64x96xf32>, tensor<64xf32>
  }
  func.func @open(%a: tensor<?x96xf32> {weir.name = "a"}) -> (tensor<?x96xf32> {weir.name = "out"}) attributes {weir.entry = "open"} {
    %0 = weir.tanh %a : (tensor<?x96xf32>) -> tensor<?x96xf32> loc("zero.open")
    %1 = weir.reduce %0 {axes = array<i64: 1>, keep_dims = true, kind = "max"} : (tensor<?x96xf32>) -> tensor<?x1xf32> loc("one.open_max")
    %2 = weir.sub %0, %1 : (tensor<?x96xf32>, tensor<?x1xf32>) -> tensor<?x96xf32> loc("one.open_less")
    %3 = weir.exp %2 : (tensor<?x96xf32>) -> tensor<?x96xf32> loc("zero.open_exp")
    return %3 : tensor<?x96xf32>
  }
  func.func @turns(%a: tensor<64x96xf32> {weir.name = "a"}) -> (tensor<64x96xf32> {weir.name = "out"}) attributes {weir.entry = "turns"} {
    %zero = weir.constant dense<0> : tensor<i32>
    %one = weir.constant dense<1> : tensor<i32>
    %six = weir.constant dense<6> : tensor<i32>
    %end:2 = weir.while %six, %a : (tensor<i32>, tensor<64x96xf32>) -> (tensor<i32>, tensor<64x96xf32>) while {
    ^bb0(%i: tensor<i32>, %x: tensor<64x96xf32>):
      %go = weir.compare %i, %zero {predicate = "gt"} : (tensor<i32>, tensor<i32>) -> tensor<i1> loc("host.go")
      weir.yield %go : tensor<i1>
    } do {
    ^bb0(%i: tensor<i32>, %x: tensor<64x96xf32>):
      %next = weir.sub %i, %one : (tensor<i32>, tensor<i32>) -> tensor<i32> loc("host.next")
      %0 = weir.tanh %x : (tensor<64x96xf32>) -> tensor<64x96xf32> loc("zero.turn")
      %1 = weir.reduce %0 {axes = array<i64: 1>, keep_dims = true, kind = "max"} : (tensor<64x96xf32>) -> tensor<64x1xf32> loc("one.turn_max")
      %2 = weir.sub %0, %1 : (tensor<64x96xf32>, tensor<64x1xf32>) -> tensor<64x96xf32> loc("one.turn_less")
      %3 = weir.add %2, %0 : (tensor<64x96xf32>, tensor<64x96xf32>) -> tensor<64x96xf32> loc("zero.turn_sum")
      weir.yield %next, %3 : tensor<i32>, tensor<64x96xf32>
    } loc("zero.loop")
    return %end#1 : tensor<64x96xf32>
  }
  // The first may be turns ahead of the second.
  func.func @ahead(%a: tensor<64x96xf32> {weir.name = "a"}) -> (tensor<64x96xf32> {weir.name = "out"}) attributes {weir.entry = "ahead"} {
    %zero = weir.constant dense<0> : tensor<i32>
    %one = weir.constant dense<1> : tensor<i32>
    %six = weir.constant dense<6> : tensor<i32>
    %start = weir.exp %a : (tensor<64x96xf32>) -> tensor<64x96xf32> loc("one.start")
    %end:3 = weir.while %six, %a, %start : (tensor<i32>, tensor<64x96xf32>, tensor<64x96xf32>) -> (tensor<i32>, tensor<64x96xf32>, tensor<64x96xf32>) while {
    ^bb0(%i: tensor<i32>, %x: tensor<64x96xf32>, %y: tensor<64x96xf32>):
      %go = weir.compare %i, %zero {predicate = "gt"} : (tensor<i32>, tensor<i32>) -> tensor<i1> loc("host.go2")
      weir.yield %go : tensor<i1>
    } do {
    ^bb0(%i: tensor<i32>, %x: tensor<64x96xf32>, %y: tensor<64x96xf32>):
      %next = weir.sub %i, %one : (tensor<i32>, tensor<i32>) -> tensor<i32> loc("host.next2")
      %0 = weir.tanh %x : (tensor<64x96xf32>) -> tensor<64x96xf32> loc("zero.step")
      %1 = weir.add %y, %0 : (tensor<64x96xf32>, tensor<64x96xf32>) -> tensor<64x96xf32> loc("one.step")
      weir.yield %next, %0, %1 : tensor<i32>, tensor<64x96xf32>, tensor<64x96xf32>
    } loc("zero.loop2")
    return %end#2 : tensor<64x96xf32>
  }
}
