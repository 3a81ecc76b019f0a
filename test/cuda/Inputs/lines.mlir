// Reductions of lines and what is around them: a kernel each.
module {
  func.func @whole(%a: tensor<9x768xf32> {weir.name = "a"}) -> (tensor<9x768xf32> {weir.name = "out"}) attributes {weir.entry = "whole"} {
    %1 = weir.reduce %a {axes = array<i64: 1>, keep_dims = true, kind = "max"} : (tensor<9x768xf32>) -> tensor<9x1xf32> loc("whole.max")
    %2 = weir.sub %a, %1 : (tensor<9x768xf32>, tensor<9x1xf32>) -> tensor<9x768xf32> loc("whole.less")
    %3 = weir.exp %2 : (tensor<9x768xf32>) -> tensor<9x768xf32> loc("whole.exp")
    %4 = weir.reduce %3 {axes = array<i64: 1>, keep_dims = true, kind = "sum"} : (tensor<9x768xf32>) -> tensor<9x1xf32> loc("whole.total")
    %5 = weir.div %3, %4 : (tensor<9x768xf32>, tensor<9x1xf32>) -> tensor<9x768xf32> loc("whole.share")
    return %5 : tensor<9x768xf32>
  }
  func.func @odd(%a: tensor<5x50xf32> {weir.name = "a"}) -> (tensor<5x50xf32> {weir.name = "out"}) attributes {weir.entry = "odd"} {
    %1 = weir.reduce %a {axes = array<i64: 1>, keep_dims = true, kind = "max"} : (tensor<5x50xf32>) -> tensor<5x1xf32> loc("odd.max")
    %2 = weir.sub %a, %1 : (tensor<5x50xf32>, tensor<5x1xf32>) -> tensor<5x50xf32> loc("odd.less")
    %3 = weir.exp %2 : (tensor<5x50xf32>) -> tensor<5x50xf32> loc("odd.exp")
    %4 = weir.reduce %3 {axes = array<i64: 1>, keep_dims = true, kind = "sum"} : (tensor<5x50xf32>) -> tensor<5x1xf32> loc("odd.total")
    %5 = weir.div %3, %4 : (tensor<5x50xf32>, tensor<5x1xf32>) -> tensor<5x50xf32> loc("odd.share")
    return %5 : tensor<5x50xf32>
  }
  func.func @block(%a: tensor<3x1536xf32> {weir.name = "a"}) -> (tensor<3x1536xf32> {weir.name = "out"}) attributes {weir.entry = "block"} {
    %1 = weir.reduce %a {axes = array<i64: 1>, keep_dims = true, kind = "max"} : (tensor<3x1536xf32>) -> tensor<3x1xf32> loc("block.max")
    %2 = weir.sub %a, %1 : (tensor<3x1536xf32>, tensor<3x1xf32>) -> tensor<3x1536xf32> loc("block.less")
    %3 = weir.exp %2 : (tensor<3x1536xf32>) -> tensor<3x1536xf32> loc("block.exp")
    %4 = weir.reduce %3 {axes = array<i64: 1>, keep_dims = true, kind = "sum"} : (tensor<3x1536xf32>) -> tensor<3x1xf32> loc("block.total")
    %5 = weir.div %3, %4 : (tensor<3x1536xf32>, tensor<3x1xf32>) -> tensor<3x1536xf32> loc("block.share")
    return %5 : tensor<3x1536xf32>
  }
  func.func @long(%a: tensor<2x5001xf32> {weir.name = "a"}) -> (tensor<2x5001xf32> {weir.name = "out"}) attributes {weir.entry = "long"} {
    %1 = weir.reduce %a {axes = array<i64: 1>, keep_dims = true, kind = "max"} : (tensor<2x5001xf32>) -> tensor<2x1xf32> loc("long.max")
    %2 = weir.sub %a, %1 : (tensor<2x5001xf32>, tensor<2x1xf32>) -> tensor<2x5001xf32> loc("long.less")
    %3 = weir.exp %2 : (tensor<2x5001xf32>) -> tensor<2x5001xf32> loc("long.exp")
    %4 = weir.reduce %3 {axes = array<i64: 1>, keep_dims = true, kind = "sum"} : (tensor<2x5001xf32>) -> tensor<2x1xf32> loc("long.total")
    %5 = weir.div %3, %4 : (tensor<2x5001xf32>, tensor<2x1xf32>) -> tensor<2x5001xf32> loc("long.share")
    return %5 : tensor<2x5001xf32>
  }
  func.func @open(%a: tensor<?x96xf32> {weir.name = "a"}) -> (tensor<?x96xf32> {weir.name = "out"}) attributes {weir.entry = "open"} {
    %1 = weir.reduce %a {axes = array<i64: 1>, keep_dims = true, kind = "max"} : (tensor<?x96xf32>) -> tensor<?x1xf32> loc("open.max")
    %2 = weir.sub %a, %1 : (tensor<?x96xf32>, tensor<?x1xf32>) -> tensor<?x96xf32> loc("open.less")
    %3 = weir.exp %2 : (tensor<?x96xf32>) -> tensor<?x96xf32> loc("open.exp")
    %4 = weir.reduce %3 {axes = array<i64: 1>, keep_dims = true, kind = "sum"} : (tensor<?x96xf32>) -> tensor<?x1xf32> loc("open.total")
    %5 = weir.div %3, %4 : (tensor<?x96xf32>, tensor<?x1xf32>) -> tensor<?x96xf32> loc("open.share")
    return %5 : tensor<?x96xf32>
  }
  // A normalisation of a sum, scaled and shifted.
  func.func @norm(%a: tensor<7x200xf32> {weir.name = "a"}, %b: tensor<7x200xf32> {weir.name = "b"}, %g: tensor<200xf32> {weir.name = "g"}, %s: tensor<200xf32> {weir.name = "s"}) -> (tensor<7x200xf32> {weir.name = "out"}) attributes {weir.entry = "norm"} {
    %e = weir.constant dense<1.0e-5> : tensor<f32> loc("epsilon")
    %0 = weir.add %a, %b : (tensor<7x200xf32>, tensor<7x200xf32>) -> tensor<7x200xf32> loc("norm.sum")
    %1 = weir.reduce %0 {axes = array<i64: 1>, keep_dims = true, kind = "mean"} : (tensor<7x200xf32>) -> tensor<7x1xf32> loc("norm.mean")
    %2 = weir.sub %0, %1 : (tensor<7x200xf32>, tensor<7x1xf32>) -> tensor<7x200xf32> loc("norm.centred")
    %3 = weir.mul %2, %2 : (tensor<7x200xf32>, tensor<7x200xf32>) -> tensor<7x200xf32> loc("norm.square")
    %4 = weir.reduce %3 {axes = array<i64: 1>, keep_dims = true, kind = "mean"} : (tensor<7x200xf32>) -> tensor<7x1xf32> loc("norm.variance")
    %5 = weir.add %4, %e : (tensor<7x1xf32>, tensor<f32>) -> tensor<7x1xf32> loc("norm.steady")
    %6 = weir.rsqrt %5 : (tensor<7x1xf32>) -> tensor<7x1xf32> loc("norm.rsqrt")
    %7 = weir.mul %2, %6 : (tensor<7x200xf32>, tensor<7x1xf32>) -> tensor<7x200xf32> loc("norm.unit")
    %8 = weir.mul %7, %g : (tensor<7x200xf32>, tensor<200xf32>) -> tensor<7x200xf32> loc("norm.scaled")
    %9 = weir.add %8, %s : (tensor<7x200xf32>, tensor<200xf32>) -> tensor<7x200xf32> loc("norm.shifted")
    return %9 : tensor<7x200xf32>
  }
  // What there is one of for a line is written, too, as others on the GPU read it; one
  // line a block, and one a warp.
  func.func @beside(%a: tensor<5x1100xf32> {weir.name = "a"}, %b: tensor<6x52xf32> {weir.name = "b"}) -> (tensor<5x1100xf32> {weir.name = "out"}, tensor<5x1xf32> {weir.name = "both"}, tensor<6x1xf32> {weir.name = "variance"}) attributes {weir.entry = "beside"} {
    %e = weir.constant dense<1.0e-5> : tensor<f32> loc("little")
    %1 = weir.reduce %a {axes = array<i64: 1>, keep_dims = true, kind = "mean"} : (tensor<5x1100xf32>) -> tensor<5x1xf32> loc("beside.mean")
    %2 = weir.sub %a, %1 : (tensor<5x1100xf32>, tensor<5x1xf32>) -> tensor<5x1100xf32> loc("beside.centred")
    %3 = weir.mul %2, %2 : (tensor<5x1100xf32>, tensor<5x1100xf32>) -> tensor<5x1100xf32> loc("beside.square")
    %4 = weir.reduce %3 {axes = array<i64: 1>, keep_dims = true, kind = "mean"} : (tensor<5x1100xf32>) -> tensor<5x1xf32> loc("beside.variance")
    %5 = weir.add %4, %e : (tensor<5x1xf32>, tensor<f32>) -> tensor<5x1xf32> loc("beside.steady")
    %6 = weir.rsqrt %5 : (tensor<5x1xf32>) -> tensor<5x1xf32> loc("beside.rsqrt")
    %7 = weir.mul %2, %6 : (tensor<5x1100xf32>, tensor<5x1xf32>) -> tensor<5x1100xf32> loc("beside.unit")
    %8 = weir.reduce %b {axes = array<i64: 1>, keep_dims = true, kind = "mean"} : (tensor<6x52xf32>) -> tensor<6x1xf32> loc("beside.mean2")
    %9 = weir.sub %b, %8 : (tensor<6x52xf32>, tensor<6x1xf32>) -> tensor<6x52xf32> loc("beside.centred2")
    %10 = weir.mul %9, %9 : (tensor<6x52xf32>, tensor<6x52xf32>) -> tensor<6x52xf32> loc("beside.square2")
    %11 = weir.reduce %10 {axes = array<i64: 1>, keep_dims = true, kind = "mean"} : (tensor<6x52xf32>) -> tensor<6x1xf32> loc("beside.variance2")
    %12 = weir.mul %1, %6 : (tensor<5x1xf32>, tensor<5x1xf32>) -> tensor<5x1xf32> loc("beside.both")
    return %7, %12, %11 : tensor<5x1100xf32>, tensor<5x1xf32>, tensor<6x1xf32>
  }
}
