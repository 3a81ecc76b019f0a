// GELU by tanh, in sums, products and powers as models write it.
module {
  func.func @powers(%x: tensor<6x16xf32> {weir.name = "x"}, %w: tensor<16x40xf32> {weir.name = "w"}, %b: tensor<40xf32> {weir.name = "b"}) -> (tensor<6x40xf32> {weir.name = "out"}) attributes {weir.entry = "powers"} {
    %half = weir.constant dense<0.5> : tensor<f32>
    %one = weir.constant dense<1.0> : tensor<f32>
    %root = weir.constant dense<0.7978845608> : tensor<f32>
    %few = weir.constant dense<0.044715> : tensor<f32>
    %three = weir.constant dense<3.0> : tensor<f32>
    %d = weir.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, accumulator = f32} : (tensor<6x16xf32>, tensor<16x40xf32>) -> tensor<6x40xf32> loc("powers.dot")
    %y = weir.add %d, %b : (tensor<6x40xf32>, tensor<40xf32>) -> tensor<6x40xf32> loc("powers.bias")
    %c = weir.pow %y, %three : (tensor<6x40xf32>, tensor<f32>) -> tensor<6x40xf32> loc("powers.cube")
    %s = weir.mul %c, %few : (tensor<6x40xf32>, tensor<f32>) -> tensor<6x40xf32> loc("powers.scaled")
    %i = weir.add %s, %y : (tensor<6x40xf32>, tensor<6x40xf32>) -> tensor<6x40xf32> loc("powers.inner")
    %f = weir.mul %i, %root : (tensor<6x40xf32>, tensor<f32>) -> tensor<6x40xf32> loc("powers.factor")
    %t = weir.tanh %f : (tensor<6x40xf32>) -> tensor<6x40xf32> loc("powers.tanh")
    %o = weir.add %t, %one : (tensor<6x40xf32>, tensor<f32>) -> tensor<6x40xf32> loc("powers.one")
    %h = weir.mul %y, %half : (tensor<6x40xf32>, tensor<f32>) -> tensor<6x40xf32> loc("powers.half")
    %r = weir.mul %h, %o : (tensor<6x40xf32>, tensor<6x40xf32>) -> tensor<6x40xf32> loc("powers.gelu")
    return %r : tensor<6x40xf32>
  }
  func.func @products(%x: tensor<6x16xf32> {weir.name = "x"}, %w: tensor<16x40xf32> {weir.name = "w"}, %b: tensor<40xf32> {weir.name = "b"}) -> (tensor<6x40xf32> {weir.name = "out"}) attributes {weir.entry = "products"} {
    %half = weir.constant dense<0.5> : tensor<f32>
    %one = weir.constant dense<1.0> : tensor<f32>
    %root = weir.constant dense<0.7978845608> : tensor<f32>
    %few = weir.constant dense<0.044715> : tensor<f32>
    %three = weir.constant dense<3.0> : tensor<f32>
    %d = weir.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, accumulator = f32} : (tensor<6x16xf32>, tensor<16x40xf32>) -> tensor<6x40xf32> loc("products.dot")
    %y = weir.add %d, %b : (tensor<6x40xf32>, tensor<40xf32>) -> tensor<6x40xf32> loc("products.bias")
    %q = weir.mul %y, %y : (tensor<6x40xf32>, tensor<6x40xf32>) -> tensor<6x40xf32> loc("products.square")
    %c = weir.mul %y, %q : (tensor<6x40xf32>, tensor<6x40xf32>) -> tensor<6x40xf32> loc("products.cube")
    %s = weir.mul %c, %few : (tensor<6x40xf32>, tensor<f32>) -> tensor<6x40xf32> loc("products.scaled")
    %i = weir.add %s, %y : (tensor<6x40xf32>, tensor<6x40xf32>) -> tensor<6x40xf32> loc("products.inner")
    %f = weir.mul %i, %root : (tensor<6x40xf32>, tensor<f32>) -> tensor<6x40xf32> loc("products.factor")
    %t = weir.tanh %f : (tensor<6x40xf32>) -> tensor<6x40xf32> loc("products.tanh")
    %o = weir.add %t, %one : (tensor<6x40xf32>, tensor<f32>) -> tensor<6x40xf32> loc("products.one")
    %h = weir.mul %y, %o : (tensor<6x40xf32>, tensor<6x40xf32>) -> tensor<6x40xf32> loc("products.both")
    %r = weir.mul %h, %half : (tensor<6x40xf32>, tensor<f32>) -> tensor<6x40xf32> loc("products.gelu")
    return %r : tensor<6x40xf32>
  }
  func.func @brain(%x: tensor<6x16xbf16> {weir.name = "x"}, %w: tensor<16x40xbf16> {weir.name = "w"}, %b: tensor<40xbf16> {weir.name = "b"}) -> (tensor<6x40xbf16> {weir.name = "out"}) attributes {weir.entry = "brain"} {
    %half = weir.constant dense<0.5> : tensor<bf16>
    %one = weir.constant dense<1.0> : tensor<bf16>
    %root = weir.constant dense<0.7978845608> : tensor<bf16>
    %few = weir.constant dense<0.044715> : tensor<bf16>
    %three = weir.constant dense<3.0> : tensor<bf16>
    %d = weir.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, accumulator = bf16} : (tensor<6x16xbf16>, tensor<16x40xbf16>) -> tensor<6x40xbf16> loc("brain.dot")
    %y = weir.add %d, %b : (tensor<6x40xbf16>, tensor<40xbf16>) -> tensor<6x40xbf16> loc("brain.bias")
    %c = weir.pow %y, %three : (tensor<6x40xbf16>, tensor<bf16>) -> tensor<6x40xbf16> loc("brain.cube")
    %s = weir.mul %c, %few : (tensor<6x40xbf16>, tensor<bf16>) -> tensor<6x40xbf16> loc("brain.scaled")
    %i = weir.add %s, %y : (tensor<6x40xbf16>, tensor<6x40xbf16>) -> tensor<6x40xbf16> loc("brain.inner")
    %f = weir.mul %i, %root : (tensor<6x40xbf16>, tensor<bf16>) -> tensor<6x40xbf16> loc("brain.factor")
    %t = weir.tanh %f : (tensor<6x40xbf16>) -> tensor<6x40xbf16> loc("brain.tanh")
    %o = weir.add %t, %one : (tensor<6x40xbf16>, tensor<bf16>) -> tensor<6x40xbf16> loc("brain.one")
    %h = weir.mul %y, %half : (tensor<6x40xbf16>, tensor<bf16>) -> tensor<6x40xbf16> loc("brain.half")
    %r = weir.mul %h, %o : (tensor<6x40xbf16>, tensor<6x40xbf16>) -> tensor<6x40xbf16> loc("brain.gelu")
    return %r : tensor<6x40xbf16>
  }
  // Another function, and a sum that something else reads.
  func.func @others(%x: tensor<6x16xf32> {weir.name = "x"}, %w: tensor<16x40xf32> {weir.name = "w"}, %b: tensor<40xf32> {weir.name = "b"}) -> (tensor<6x40xf32> {weir.name = "out"}) attributes {weir.entry = "others"} {
    %half = weir.constant dense<0.5> : tensor<f32>
    %one = weir.constant dense<1.0> : tensor<f32>
    %root = weir.constant dense<0.7978845608> : tensor<f32>
    %few = weir.constant dense<0.05> : tensor<f32>
    %three = weir.constant dense<3.0> : tensor<f32>
    %d = weir.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, accumulator = f32} : (tensor<6x16xf32>, tensor<16x40xf32>) -> tensor<6x40xf32> loc("others.dot")
    %y = weir.add %d, %b : (tensor<6x40xf32>, tensor<40xf32>) -> tensor<6x40xf32> loc("others.bias")
    %c = weir.pow %y, %three : (tensor<6x40xf32>, tensor<f32>) -> tensor<6x40xf32> loc("others.cube")
    %s = weir.mul %c, %few : (tensor<6x40xf32>, tensor<f32>) -> tensor<6x40xf32> loc("others.scaled")
    %i = weir.add %s, %y : (tensor<6x40xf32>, tensor<6x40xf32>) -> tensor<6x40xf32> loc("others.inner")
    %f = weir.mul %i, %root : (tensor<6x40xf32>, tensor<f32>) -> tensor<6x40xf32> loc("others.factor")
    %t = weir.tanh %f : (tensor<6x40xf32>) -> tensor<6x40xf32> loc("others.tanh")
    %o = weir.add %t, %one : (tensor<6x40xf32>, tensor<f32>) -> tensor<6x40xf32> loc("others.one")
    %h = weir.mul %y, %half : (tensor<6x40xf32>, tensor<f32>) -> tensor<6x40xf32> loc("others.half")
    %r = weir.mul %h, %o : (tensor<6x40xf32>, tensor<6x40xf32>) -> tensor<6x40xf32> loc("others.gelu")
    return %r : tensor<6x40xf32>
  }
  func.func @shared(%x: tensor<6x16xf32> {weir.name = "x"}, %w: tensor<16x40xf32> {weir.name = "w"}, %b: tensor<40xf32> {weir.name = "b"}) -> (tensor<6x40xf32> {weir.name = "out"}, tensor<6x40xf32> {weir.name = "sum"}) attributes {weir.entry = "shared"} {
    %half = weir.constant dense<0.5> : tensor<f32>
    %one = weir.constant dense<1.0> : tensor<f32>
    %root = weir.constant dense<0.7978845608> : tensor<f32>
    %few = weir.constant dense<0.044715> : tensor<f32>
    %three = weir.constant dense<3.0> : tensor<f32>
    %d = weir.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, accumulator = f32} : (tensor<6x16xf32>, tensor<16x40xf32>) -> tensor<6x40xf32> loc("shared.dot")
    %y = weir.add %d, %b : (tensor<6x40xf32>, tensor<40xf32>) -> tensor<6x40xf32> loc("shared.bias")
    %c = weir.pow %y, %three : (tensor<6x40xf32>, tensor<f32>) -> tensor<6x40xf32> loc("shared.cube")
    %s = weir.mul %c, %few : (tensor<6x40xf32>, tensor<f32>) -> tensor<6x40xf32> loc("shared.scaled")
    %i = weir.add %s, %y : (tensor<6x40xf32>, tensor<6x40xf32>) -> tensor<6x40xf32> loc("shared.inner")
    %f = weir.mul %i, %root : (tensor<6x40xf32>, tensor<f32>) -> tensor<6x40xf32> loc("shared.factor")
    %t = weir.tanh %f : (tensor<6x40xf32>) -> tensor<6x40xf32> loc("shared.tanh")
    %o = weir.add %t, %one : (tensor<6x40xf32>, tensor<f32>) -> tensor<6x40xf32> loc("shared.one")
    %h = weir.mul %y, %half : (tensor<6x40xf32>, tensor<f32>) -> tensor<6x40xf32> loc("shared.half")
    %r = weir.mul %h, %o : (tensor<6x40xf32>, tensor<6x40xf32>) -> tensor<6x40xf32> loc("shared.gelu")
    return %r, %y : tensor<6x40xf32>, tensor<6x40xf32>
  }
}
