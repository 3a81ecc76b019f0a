// Products that differ in what they are multiplied by.
module {
  func.func @main(%x: tensor<196x64xf32> {weir.name = "x"})
      -> (tensor<196x128xf32> {weir.name = "y"}, tensor<196x128xf32> {weir.name = "z"}, tensor<196x128xf32> {weir.name = "v"}) attributes {weir.entry = "main"} {
    %p = weir.constant dense<0.5> : tensor<64x128xf32>
    %q = weir.constant dense<0.25> : tensor<64x128xf32>
    %r = weir.constant dense<0.125> : tensor<64x128xf32>
    %a = weir.constant dense<3.0> : tensor<f32>
    %b = weir.constant dense<5.0> : tensor<f32>
    %c = weir.constant dense<7.0> : tensor<f32>
    %0 = weir.dot_general %x, %p {accumulator = f32, lhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_batch = array<i64>, rhs_contract = array<i64: 0>} : (tensor<196x64xf32>, tensor<64x128xf32>) -> tensor<196x128xf32>
    %1 = weir.mul %0, %a : (tensor<196x128xf32>, tensor<f32>) -> tensor<196x128xf32>
    %2 = weir.dot_general %x, %q {accumulator = f32, lhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_batch = array<i64>, rhs_contract = array<i64: 0>} : (tensor<196x64xf32>, tensor<64x128xf32>) -> tensor<196x128xf32>
    %3 = weir.mul %2, %b : (tensor<196x128xf32>, tensor<f32>) -> tensor<196x128xf32>
    %4 = weir.dot_general %x, %r {accumulator = f32, lhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_batch = array<i64>, rhs_contract = array<i64: 0>} : (tensor<196x64xf32>, tensor<64x128xf32>) -> tensor<196x128xf32>
    %5 = weir.mul %4, %c : (tensor<196x128xf32>, tensor<f32>) -> tensor<196x128xf32>
    return %1, %3, %5 : tensor<196x128xf32>, tensor<196x128xf32>, tensor<196x128xf32>
  }
}
