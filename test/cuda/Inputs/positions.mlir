// A step of many kernels, of which one reads how many lines were fed, as a decoder its position.
module {
  func.func @position(%x: tensor<16x16xf32> {weir.name = "x"}, %c: tensor<?x16xf32> {weir.name = "c"}) -> (tensor<16x16xf32> {weir.name = "out"}) attributes {weir.entry = "position"} {
    %p0 = weir.dot_general %x, %x {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32> loc("product0")
    %p1 = weir.dot_general %p0, %x {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32> loc("product1")
    %p2 = weir.dot_general %p1, %x {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32> loc("product2")
    %p3 = weir.dot_general %p2, %x {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32> loc("product3")
    %p4 = weir.dot_general %p3, %x {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32> loc("product4")
    %p5 = weir.dot_general %p4, %x {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32> loc("product5")
    %p6 = weir.dot_general %p5, %x {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32> loc("product6")
    %p7 = weir.dot_general %p6, %x {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32> loc("product7")
    %size = weir.shape_of %c {index_type = i64} : (tensor<?x16xf32>) -> tensor<2xi64> loc("size")
    %zero = weir.constant dense<0> : tensor<1xi64>
    %one = weir.constant dense<1> : tensor<1xi64>
    %lines = weir.slice %size, %zero, %one, %one {axes = array<i64: 0>, strict = false} : (tensor<2xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64> loc("lines")
    %n = weir.cast %lines {saturate = false} : (tensor<1xi64>) -> tensor<1xf32> loc("number")
    %y = weir.add %p7, %n : (tensor<16x16xf32>, tensor<1xf32>) -> tensor<16x16xf32> loc("sum")
    return %y : tensor<16x16xf32>
  }
}
