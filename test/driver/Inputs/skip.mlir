// a is there soon, and needed last; b, from the same device, is needed first.
module {
  func.func @main(%x: tensor<256x256xf32> {weir.name = "x"}, %y: tensor<512x512xf32> {weir.name = "y"}, %p: tensor<256x512xf32> {weir.name = "p"}) -> (tensor<256x256xf32> {weir.name = "z"})
      attributes {weir.entry = "main"} {
    %a = weir.exp %x : (tensor<256x256xf32>) -> tensor<256x256xf32> loc("a")
    %b = weir.tanh %y : (tensor<512x512xf32>) -> tensor<512x512xf32> loc("b")
    %m1 = weir.dot_general %y, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, accumulator = f32} : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32> loc("m1")
    %m2 = weir.dot_general %m1, %m1 {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, accumulator = f32} : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32> loc("m2")
    %m3 = weir.dot_general %p, %m2 {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, accumulator = f32} : (tensor<256x512xf32>, tensor<512x512xf32>) -> tensor<256x512xf32> loc("m3")
    %m4 = weir.dot_general %m3, %p {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 1>, accumulator = f32} : (tensor<256x512xf32>, tensor<256x512xf32>) -> tensor<256x256xf32> loc("m4")
    %e = weir.add %m4, %a : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32> loc("e")
    return %e : tensor<256x256xf32>
  }
}
