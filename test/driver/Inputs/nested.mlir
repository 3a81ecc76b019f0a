// A loop in a loop with a conditional in it, of which one branch is dead in each
// round: rounds are counted on one device, work is done on others.
module {
  func.func @main(%x: tensor<8xf32> {weir.name = "x"}) -> (tensor<8xf32> {weir.name = "y"}, tensor<i64> {weir.name = "n"})
      attributes {weir.entry = "main"} {
    %zero = weir.constant dense<0> : tensor<i64>
    %one = weir.constant dense<1> : tensor<i64>
    %five = weir.constant dense<5> : tensor<i64>
    %0:2 = weir.while %zero, %x : (tensor<i64>, tensor<8xf32>) -> (tensor<i64>, tensor<8xf32>) while {
    ^bb0(%i: tensor<i64>, %v: tensor<8xf32>):
      %more = weir.compare %i, %five {predicate = "lt"} : (tensor<i64>, tensor<i64>) -> tensor<i1> loc("outer/less")
      weir.yield %more : tensor<i1>
    } do {
    ^bb0(%i: tensor<i64>, %v: tensor<8xf32>):
      %before = weir.sin %v : (tensor<8xf32>) -> tensor<8xf32> loc("outer/sin")
      %1:2 = weir.while %zero, %before : (tensor<i64>, tensor<8xf32>) -> (tensor<i64>, tensor<8xf32>) while {
      ^bb0(%j: tensor<i64>, %w: tensor<8xf32>):
        %more = weir.compare %j, %i {predicate = "le"} : (tensor<i64>, tensor<i64>) -> tensor<i1> loc("inner/less")
        weir.yield %more : tensor<i1>
      } do {
      ^bb0(%j: tensor<i64>, %w: tensor<8xf32>):
        %first = weir.compare %j, %one {predicate = "lt"} : (tensor<i64>, tensor<i64>) -> tensor<i1> loc("inner/first")
        %r = weir.if %first : (tensor<i1>) -> tensor<8xf32> then {
          %c = weir.cos %w : (tensor<8xf32>) -> tensor<8xf32> loc("inner/cos")
          %d = weir.add %c, %v : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32> loc("inner/add")
          weir.yield %d : tensor<8xf32>
        } else {
          %e = weir.exp %w : (tensor<8xf32>) -> tensor<8xf32> loc("inner/exp")
          %s = weir.tanh %e : (tensor<8xf32>) -> tensor<8xf32> loc("inner/tanh")
          weir.yield %s : tensor<8xf32>
        } loc("inner/if")
        %next = weir.add %j, %one : (tensor<i64>, tensor<i64>) -> tensor<i64> loc("inner/next")
        weir.yield %next, %r : tensor<i64>, tensor<8xf32>
      } loc("inner")
      %next = weir.add %i, %one : (tensor<i64>, tensor<i64>) -> tensor<i64> loc("outer/next")
      %after = weir.mul %1#1, %before : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32> loc("outer/mul")
      weir.yield %next, %after : tensor<i64>, tensor<8xf32>
    } loc("outer")
    return %0#1, %0#0 : tensor<8xf32>, tensor<i64>
  }
}
