// Statistics over more than a line of a kernel: normalisations of all kinds, and sums.
module {
  // A line is longer than a kernel keeps in registers.
  func.func @layer(%a: tensor<3x20000xf32> {weir.name = "a"}, %g: tensor<20000xf32> {weir.name = "g"}, %b: tensor<20000xf32> {weir.name = "b"}) -> (tensor<3x20000xf32> {weir.name = "out"}) attributes {weir.entry = "layer"} {
    %1 = weir.reduce %a {axes = array<i64: 1>, keep_dims = true, kind = "mean"} : (tensor<3x20000xf32>) -> tensor<3x1xf32> loc("layer.mean")
    %2 = weir.sub %a, %1 : (tensor<3x20000xf32>, tensor<3x1xf32>) -> tensor<3x20000xf32> loc("layer.centred")
    %3 = weir.mul %2, %2 : (tensor<3x20000xf32>, tensor<3x20000xf32>) -> tensor<3x20000xf32> loc("layer.square")
    %4 = weir.reduce %3 {axes = array<i64: 1>, keep_dims = true, kind = "mean"} : (tensor<3x20000xf32>) -> tensor<3x1xf32> loc("layer.variance")
    %5 = weir.constant dense<1.0e-5> : tensor<f32> loc("layer.c")
    %6 = weir.add %4, %5 : (tensor<3x1xf32>, tensor<f32>) -> tensor<3x1xf32> loc("layer.steady")
    %7 = weir.rsqrt %6 : (tensor<3x1xf32>) -> tensor<3x1xf32> loc("layer.rsqrt")
    %8 = weir.mul %2, %7 : (tensor<3x20000xf32>, tensor<3x1xf32>) -> tensor<3x20000xf32> loc("layer.unit")
    %9 = weir.mul %8, %g : (tensor<3x20000xf32>, tensor<20000xf32>) -> tensor<3x20000xf32> loc("layer.scaled")
    %10 = weir.add %9, %b : (tensor<3x20000xf32>, tensor<20000xf32>) -> tensor<3x20000xf32> loc("layer.shifted")
    return %10 : tensor<3x20000xf32>
  }
  // The same in f16, computed in f32.
  func.func @half(%a: tensor<2x16384xf16> {weir.name = "a"}) -> (tensor<2x16384xf16> {weir.name = "out"}) attributes {weir.entry = "half"} {
    %1 = weir.cast %a {saturate = false} : (tensor<2x16384xf16>) -> tensor<2x16384xf32> loc("half.wide")
    %2 = weir.reduce %1 {axes = array<i64: 1>, keep_dims = true, kind = "mean"} : (tensor<2x16384xf32>) -> tensor<2x1xf32> loc("half.mean")
    %3 = weir.sub %1, %2 : (tensor<2x16384xf32>, tensor<2x1xf32>) -> tensor<2x16384xf32> loc("half.centred")
    %4 = weir.mul %3, %3 : (tensor<2x16384xf32>, tensor<2x16384xf32>) -> tensor<2x16384xf32> loc("half.square")
    %5 = weir.reduce %4 {axes = array<i64: 1>, keep_dims = true, kind = "mean"} : (tensor<2x16384xf32>) -> tensor<2x1xf32> loc("half.variance")
    %6 = weir.constant dense<1.0e-5> : tensor<f32> loc("half.c")
    %7 = weir.add %5, %6 : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32> loc("half.steady")
    %8 = weir.rsqrt %7 : (tensor<2x1xf32>) -> tensor<2x1xf32> loc("half.rsqrt")
    %9 = weir.mul %3, %8 : (tensor<2x16384xf32>, tensor<2x1xf32>) -> tensor<2x16384xf32> loc("half.unit")
    %10 = weir.cast %9 {saturate = false} : (tensor<2x16384xf32>) -> tensor<2x16384xf16> loc("half.narrow")
    return %10 : tensor<2x16384xf16>
  }
  // Images of more elements than a line may have.
  func.func @instance(%a: tensor<2x4x96x96xf32> {weir.name = "a"}, %g: tensor<4x1x1xf32> {weir.name = "g"}) -> (tensor<2x4x96x96xf32> {weir.name = "out"}) attributes {weir.entry = "instance"} {
    %1 = weir.reduce %a {axes = array<i64: 2, 3>, keep_dims = true, kind = "mean"} : (tensor<2x4x96x96xf32>) -> tensor<2x4x1x1xf32> loc("instance.mean")
    %2 = weir.sub %a, %1 : (tensor<2x4x96x96xf32>, tensor<2x4x1x1xf32>) -> tensor<2x4x96x96xf32> loc("instance.centred")
    %3 = weir.mul %2, %2 : (tensor<2x4x96x96xf32>, tensor<2x4x96x96xf32>) -> tensor<2x4x96x96xf32> loc("instance.square")
    %4 = weir.reduce %3 {axes = array<i64: 2, 3>, keep_dims = true, kind = "mean"} : (tensor<2x4x96x96xf32>) -> tensor<2x4x1x1xf32> loc("instance.variance")
    %5 = weir.constant dense<1.0e-5> : tensor<f32> loc("instance.c")
    %6 = weir.add %4, %5 : (tensor<2x4x1x1xf32>, tensor<f32>) -> tensor<2x4x1x1xf32> loc("instance.steady")
    %7 = weir.rsqrt %6 : (tensor<2x4x1x1xf32>) -> tensor<2x4x1x1xf32> loc("instance.rsqrt")
    %8 = weir.mul %2, %7 : (tensor<2x4x96x96xf32>, tensor<2x4x1x1xf32>) -> tensor<2x4x96x96xf32> loc("instance.unit")
    %9 = weir.mul %8, %g : (tensor<2x4x96x96xf32>, tensor<4x1x1xf32>) -> tensor<2x4x96x96xf32> loc("instance.scaled")
    return %9 : tensor<2x4x96x96xf32>
  }
  // Images that are a line, and what follows: one kernel.
  func.func @small(%a: tensor<2x4x24x24xf32> {weir.name = "a"}, %g: tensor<4x1x1xf32> {weir.name = "g"}) -> (tensor<2x4x24x24xf32> {weir.name = "out"}) attributes {weir.entry = "small"} {
    %1 = weir.reduce %a {axes = array<i64: 2, 3>, keep_dims = true, kind = "mean"} : (tensor<2x4x24x24xf32>) -> tensor<2x4x1x1xf32> loc("small.mean")
    %2 = weir.sub %a, %1 : (tensor<2x4x24x24xf32>, tensor<2x4x1x1xf32>) -> tensor<2x4x24x24xf32> loc("small.centred")
    %3 = weir.mul %2, %2 : (tensor<2x4x24x24xf32>, tensor<2x4x24x24xf32>) -> tensor<2x4x24x24xf32> loc("small.square")
    %4 = weir.reduce %3 {axes = array<i64: 2, 3>, keep_dims = true, kind = "mean"} : (tensor<2x4x24x24xf32>) -> tensor<2x4x1x1xf32> loc("small.variance")
    %5 = weir.constant dense<1.0e-5> : tensor<f32> loc("small.c")
    %6 = weir.add %4, %5 : (tensor<2x4x1x1xf32>, tensor<f32>) -> tensor<2x4x1x1xf32> loc("small.steady")
    %7 = weir.rsqrt %6 : (tensor<2x4x1x1xf32>) -> tensor<2x4x1x1xf32> loc("small.rsqrt")
    %8 = weir.mul %2, %7 : (tensor<2x4x24x24xf32>, tensor<2x4x1x1xf32>) -> tensor<2x4x24x24xf32> loc("small.unit")
    %9 = weir.mul %8, %g : (tensor<2x4x24x24xf32>, tensor<4x1x1xf32>) -> tensor<2x4x24x24xf32> loc("small.scaled")
    %10 = weir.tanh %9 : (tensor<2x4x24x24xf32>) -> tensor<2x4x24x24xf32> loc("small.tanh")
    %11 = weir.mul %9, %10 : (tensor<2x4x24x24xf32>, tensor<2x4x24x24xf32>) -> tensor<2x4x24x24xf32> loc("small.gated")
    return %11 : tensor<2x4x24x24xf32>
  }
  // Groups of channels; what is one a channel comes behind a reshape.
  func.func @group(%a: tensor<2x8x72x64xf32> {weir.name = "a"}, %g: tensor<8x1x1xf32> {weir.name = "g"}, %b: tensor<8x1x1xf32> {weir.name = "b"}) -> (tensor<2x8x72x64xf32> {weir.name = "out"}) attributes {weir.entry = "group"} {
    %1 = weir.constant dense<[2, 2, 18432]> : tensor<3xi64> loc("group.c")
    %2 = weir.reshape %a, %1 : (tensor<2x8x72x64xf32>, tensor<3xi64>) -> tensor<2x2x18432xf32> loc("group.groups")
    %3 = weir.reduce %2 {axes = array<i64: 2>, keep_dims = true, kind = "mean"} : (tensor<2x2x18432xf32>) -> tensor<2x2x1xf32> loc("group.mean")
    %4 = weir.sub %2, %3 : (tensor<2x2x18432xf32>, tensor<2x2x1xf32>) -> tensor<2x2x18432xf32> loc("group.centred")
    %5 = weir.mul %4, %4 : (tensor<2x2x18432xf32>, tensor<2x2x18432xf32>) -> tensor<2x2x18432xf32> loc("group.square")
    %6 = weir.reduce %5 {axes = array<i64: 2>, keep_dims = true, kind = "mean"} : (tensor<2x2x18432xf32>) -> tensor<2x2x1xf32> loc("group.variance")
    %7 = weir.constant dense<1.0e-5> : tensor<f32> loc("group.c")
    %8 = weir.add %6, %7 : (tensor<2x2x1xf32>, tensor<f32>) -> tensor<2x2x1xf32> loc("group.steady")
    %9 = weir.rsqrt %8 : (tensor<2x2x1xf32>) -> tensor<2x2x1xf32> loc("group.rsqrt")
    %10 = weir.mul %4, %9 : (tensor<2x2x18432xf32>, tensor<2x2x1xf32>) -> tensor<2x2x18432xf32> loc("group.unit")
    %11 = weir.constant dense<[2, 8, 72, 64]> : tensor<4xi64> loc("group.c")
    %12 = weir.reshape %10, %11 : (tensor<2x2x18432xf32>, tensor<4xi64>) -> tensor<2x8x72x64xf32> loc("group.channels")
    %13 = weir.mul %12, %g : (tensor<2x8x72x64xf32>, tensor<8x1x1xf32>) -> tensor<2x8x72x64xf32> loc("group.scaled")
    %14 = weir.add %13, %b : (tensor<2x8x72x64xf32>, tensor<8x1x1xf32>) -> tensor<2x8x72x64xf32> loc("group.shifted")
    return %14 : tensor<2x8x72x64xf32>
  }
  // Statistics of a batch, channels first.
  func.func @first(%a: tensor<16x6x24x24xf32> {weir.name = "a"}) -> (tensor<16x6x24x24xf32> {weir.name = "out"}, tensor<6xf32> {weir.name = "mean"}, tensor<6xf32> {weir.name = "variance"}) attributes {weir.entry = "first"} {
    %1 = weir.reduce %a {axes = array<i64: 0, 2, 3>, keep_dims = false, kind = "mean"} : (tensor<16x6x24x24xf32>) -> tensor<6xf32> loc("first.mean")
    %2 = weir.constant dense<[6, 1, 1]> : tensor<3xi64> loc("first.c")
    %3 = weir.reshape %1, %2 : (tensor<6xf32>, tensor<3xi64>) -> tensor<6x1x1xf32> loc("first.placed")
    %4 = weir.sub %a, %3 : (tensor<16x6x24x24xf32>, tensor<6x1x1xf32>) -> tensor<16x6x24x24xf32> loc("first.centred")
    %5 = weir.mul %4, %4 : (tensor<16x6x24x24xf32>, tensor<16x6x24x24xf32>) -> tensor<16x6x24x24xf32> loc("first.square")
    %6 = weir.reduce %5 {axes = array<i64: 0, 2, 3>, keep_dims = false, kind = "mean"} : (tensor<16x6x24x24xf32>) -> tensor<6xf32> loc("first.variance")
    %7 = weir.constant dense<1.0e-5> : tensor<f32> loc("first.c")
    %8 = weir.add %6, %7 : (tensor<6xf32>, tensor<f32>) -> tensor<6xf32> loc("first.steady")
    %9 = weir.rsqrt %8 : (tensor<6xf32>) -> tensor<6xf32> loc("first.rsqrt")
    %10 = weir.constant dense<[6, 1, 1]> : tensor<3xi64> loc("first.c")
    %11 = weir.reshape %9, %10 : (tensor<6xf32>, tensor<3xi64>) -> tensor<6x1x1xf32> loc("first.spread")
    %12 = weir.mul %4, %11 : (tensor<16x6x24x24xf32>, tensor<6x1x1xf32>) -> tensor<16x6x24x24xf32> loc("first.unit")
    return %12, %1, %6 : tensor<16x6x24x24xf32>, tensor<6xf32>, tensor<6xf32>
  }
  // Channels last: lines lie across.
  func.func @last(%a: tensor<8x24x24x8xf32> {weir.name = "a"}) -> (tensor<8x24x24x8xf32> {weir.name = "out"}, tensor<8xf32> {weir.name = "mean"}, tensor<8xf32> {weir.name = "variance"}) attributes {weir.entry = "last"} {
    %1 = weir.reduce %a {axes = array<i64: 0, 1, 2>, keep_dims = false, kind = "mean"} : (tensor<8x24x24x8xf32>) -> tensor<8xf32> loc("last.mean")
    %2 = weir.sub %a, %1 : (tensor<8x24x24x8xf32>, tensor<8xf32>) -> tensor<8x24x24x8xf32> loc("last.centred")
    %3 = weir.mul %2, %2 : (tensor<8x24x24x8xf32>, tensor<8x24x24x8xf32>) -> tensor<8x24x24x8xf32> loc("last.square")
    %4 = weir.reduce %3 {axes = array<i64: 0, 1, 2>, keep_dims = false, kind = "mean"} : (tensor<8x24x24x8xf32>) -> tensor<8xf32> loc("last.variance")
    %5 = weir.constant dense<1.0e-5> : tensor<f32> loc("last.c")
    %6 = weir.add %4, %5 : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32> loc("last.steady")
    %7 = weir.rsqrt %6 : (tensor<8xf32>) -> tensor<8xf32> loc("last.rsqrt")
    %8 = weir.mul %2, %7 : (tensor<8x24x24x8xf32>, tensor<8xf32>) -> tensor<8x24x24x8xf32> loc("last.unit")
    return %8, %1, %4 : tensor<8x24x24x8xf32>, tensor<8xf32>, tensor<8xf32>
  }
  // Rows of which no number of parts is left that a thread keeps.
  func.func @uneven(%a: tensor<8x37x148x3xf32> {weir.name = "a"}) -> (tensor<1x1x1x3xf32> {weir.name = "mean"}, tensor<1x1x1x3xf32> {weir.name = "variance"}) attributes {weir.entry = "uneven"} {
    %1 = weir.reduce %a {axes = array<i64: 0, 1, 2>, keep_dims = true, kind = "mean"} : (tensor<8x37x148x3xf32>) -> tensor<1x1x1x3xf32> loc("uneven.mean")
    %2 = weir.sub %a, %1 : (tensor<8x37x148x3xf32>, tensor<1x1x1x3xf32>) -> tensor<8x37x148x3xf32> loc("uneven.centred")
    %3 = weir.mul %2, %2 : (tensor<8x37x148x3xf32>, tensor<8x37x148x3xf32>) -> tensor<8x37x148x3xf32> loc("uneven.square")
    %4 = weir.reduce %3 {axes = array<i64: 0, 1, 2>, keep_dims = true, kind = "mean"} : (tensor<8x37x148x3xf32>) -> tensor<1x1x1x3xf32> loc("uneven.variance")
    return %1, %4 : tensor<1x1x1x3xf32>, tensor<1x1x1x3xf32>
  }
  // Far from zero squares of numbers would hide their distances.
  func.func @far(%a: tensor<4x16384xf32> {weir.name = "a"}) -> (tensor<4x1xf32> {weir.name = "mean"}, tensor<4x1xf32> {weir.name = "variance"}) attributes {weir.entry = "far"} {
    %1 = weir.constant dense<4096.0> : tensor<f32> loc("far.c")
    %2 = weir.add %a, %1 : (tensor<4x16384xf32>, tensor<f32>) -> tensor<4x16384xf32> loc("far.moved")
    %3 = weir.reduce %2 {axes = array<i64: 1>, keep_dims = true, kind = "mean"} : (tensor<4x16384xf32>) -> tensor<4x1xf32> loc("far.mean")
    %4 = weir.sub %2, %3 : (tensor<4x16384xf32>, tensor<4x1xf32>) -> tensor<4x16384xf32> loc("far.centred")
    %5 = weir.mul %4, %4 : (tensor<4x16384xf32>, tensor<4x16384xf32>) -> tensor<4x16384xf32> loc("far.square")
    %6 = weir.reduce %5 {axes = array<i64: 1>, keep_dims = true, kind = "mean"} : (tensor<4x16384xf32>) -> tensor<4x1xf32> loc("far.variance")
    return %3, %6 : tensor<4x1xf32>, tensor<4x1xf32>
  }
  // The same down columns; what the host adds up one by one keeps fewer digits.
  func.func @across(%a: tensor<16384x4xf32> {weir.name = "a"}) -> (tensor<1x4xf32> {weir.name = "mean"}, tensor<1x4xf32> {weir.name = "variance"}) attributes {weir.entry = "across"} {
    %1 = weir.constant dense<64.0> : tensor<f32> loc("across.c")
    %2 = weir.add %a, %1 : (tensor<16384x4xf32>, tensor<f32>) -> tensor<16384x4xf32> loc("across.moved")
    %3 = weir.reduce %2 {axes = array<i64: 0>, keep_dims = true, kind = "mean"} : (tensor<16384x4xf32>) -> tensor<1x4xf32> loc("across.mean")
    %4 = weir.sub %2, %3 : (tensor<16384x4xf32>, tensor<1x4xf32>) -> tensor<16384x4xf32> loc("across.centred")
    %5 = weir.mul %4, %4 : (tensor<16384x4xf32>, tensor<16384x4xf32>) -> tensor<16384x4xf32> loc("across.square")
    %6 = weir.reduce %5 {axes = array<i64: 0>, keep_dims = true, kind = "mean"} : (tensor<16384x4xf32>) -> tensor<1x4xf32> loc("across.variance")
    return %3, %6 : tensor<1x4xf32>, tensor<1x4xf32>
  }
  // One line: its squares, with what they are made from.
  func.func @rms(%a: tensor<1x65536xf32> {weir.name = "a"}) -> (tensor<1x65536xf32> {weir.name = "out"}) attributes {weir.entry = "rms"} {
    %1 = weir.mul %a, %a : (tensor<1x65536xf32>, tensor<1x65536xf32>) -> tensor<1x65536xf32> loc("rms.square")
    %2 = weir.reduce %1 {axes = array<i64: 1>, keep_dims = true, kind = "mean"} : (tensor<1x65536xf32>) -> tensor<1x1xf32> loc("rms.mean")
    %3 = weir.constant dense<1.0e-5> : tensor<f32> loc("rms.c")
    %4 = weir.add %2, %3 : (tensor<1x1xf32>, tensor<f32>) -> tensor<1x1xf32> loc("rms.steady")
    %5 = weir.rsqrt %4 : (tensor<1x1xf32>) -> tensor<1x1xf32> loc("rms.rsqrt")
    %6 = weir.mul %a, %5 : (tensor<1x65536xf32>, tensor<1x1xf32>) -> tensor<1x65536xf32> loc("rms.unit")
    return %6 : tensor<1x65536xf32>
  }
  // A sum down columns, of a product in f16.
  func.func @gradient(%a: tensor<4096x20xf16> {weir.name = "a"}, %b: tensor<4096x20xf16> {weir.name = "b"}) -> (tensor<20xf16> {weir.name = "out"}) attributes {weir.entry = "gradient"} {
    %1 = weir.mul %a, %b : (tensor<4096x20xf16>, tensor<4096x20xf16>) -> tensor<4096x20xf16> loc("gradient.product")
    %2 = weir.reduce %1 {axes = array<i64: 0>, keep_dims = false, kind = "sum"} : (tensor<4096x20xf16>) -> tensor<20xf16> loc("gradient.sum")
    return %2 : tensor<20xf16>
  }
  // A maximum over all.
  func.func @extreme(%a: tensor<64x8x80xf32> {weir.name = "a"}) -> (tensor<f32> {weir.name = "out"}) attributes {weir.entry = "extreme"} {
    %1 = weir.reduce %a {axes = array<i64: 0, 1, 2>, keep_dims = false, kind = "max"} : (tensor<64x8x80xf32>) -> tensor<f32> loc("extreme.max")
    return %1 : tensor<f32>
  }
  // What has no parts stays as it is.
  func.func @prime(%a: tensor<3x10007xf32> {weir.name = "a"}) -> (tensor<3x10007xf32> {weir.name = "out"}) attributes {weir.entry = "prime"} {
    %1 = weir.reduce %a {axes = array<i64: 1>, keep_dims = true, kind = "mean"} : (tensor<3x10007xf32>) -> tensor<3x1xf32> loc("prime.mean")
    %2 = weir.sub %a, %1 : (tensor<3x10007xf32>, tensor<3x1xf32>) -> tensor<3x10007xf32> loc("prime.centred")
    %3 = weir.mul %2, %2 : (tensor<3x10007xf32>, tensor<3x10007xf32>) -> tensor<3x10007xf32> loc("prime.square")
    %4 = weir.reduce %3 {axes = array<i64: 1>, keep_dims = true, kind = "mean"} : (tensor<3x10007xf32>) -> tensor<3x1xf32> loc("prime.variance")
    %5 = weir.constant dense<1.0e-5> : tensor<f32> loc("prime.c")
    %6 = weir.add %4, %5 : (tensor<3x1xf32>, tensor<f32>) -> tensor<3x1xf32> loc("prime.steady")
    %7 = weir.rsqrt %6 : (tensor<3x1xf32>) -> tensor<3x1xf32> loc("prime.rsqrt")
    %8 = weir.mul %2, %7 : (tensor<3x10007xf32>, tensor<3x1xf32>) -> tensor<3x10007xf32> loc("prime.unit")
    return %8 : tensor<3x10007xf32>
  }
}
