// Few long lines whose length a run is the first to know, or has no divisors: reductions in parts.
module {
  func.func @lines(%x: tensor<?x?xi32> {weir.name = "x"}) -> (tensor<?xi32> {weir.name = "values"}) attributes {weir.entry = "lines"} {
    %0 = weir.reduce %x {axes = array<i64: 1>, keep_dims = false, kind = "sum"} : (tensor<?x?xi32>) -> tensor<?xi32> loc("lines.reduce")
    return %0 : tensor<?xi32>
  }
  func.func @columns(%x: tensor<?x?xi32> {weir.name = "x"}) -> (tensor<?xi32> {weir.name = "values"}) attributes {weir.entry = "columns"} {
    %0 = weir.reduce %x {axes = array<i64: 0>, keep_dims = false, kind = "sum"} : (tensor<?x?xi32>) -> tensor<?xi32> loc("columns.reduce")
    return %0 : tensor<?xi32>
  }
  func.func @batch(%x: tensor<?x20x5x7xi32> {weir.name = "x"}) -> (tensor<20xi32> {weir.name = "values"}) attributes {weir.entry = "batch"} {
    %0 = weir.reduce %x {axes = array<i64: 0, 2, 3>, keep_dims = false, kind = "sum"} : (tensor<?x20x5x7xi32>) -> tensor<20xi32> loc("batch.reduce")
    return %0 : tensor<20xi32>
  }
  func.func @channels_last(%x: tensor<?x?x?x17xi32> {weir.name = "x"}) -> (tensor<1x1x1x17xi32> {weir.name = "values"}) attributes {weir.entry = "channels_last"} {
    %0 = weir.reduce %x {axes = array<i64: 0, 1, 2>, keep_dims = true, kind = "max"} : (tensor<?x?x?x17xi32>) -> tensor<1x1x1x17xi32> loc("channels_last.reduce")
    return %0 : tensor<1x1x1x17xi32>
  }
  func.func @prime(%x: tensor<17x9001xi32> {weir.name = "x"}) -> (tensor<17xi32> {weir.name = "values"}) attributes {weir.entry = "prime"} {
    %0 = weir.reduce %x {axes = array<i64: 1>, keep_dims = false, kind = "min"} : (tensor<17x9001xi32>) -> tensor<17xi32> loc("prime.reduce")
    return %0 : tensor<17xi32>
  }
  func.func @whole(%x: tensor<3x9001xf32> {weir.name = "x"}) -> (tensor<f32> {weir.name = "values"}) attributes {weir.entry = "whole"} {
    %0 = weir.reduce %x {axes = array<i64: 0, 1>, keep_dims = false, kind = "sum"} : (tensor<3x9001xf32>) -> tensor<f32> loc("whole.reduce")
    return %0 : tensor<f32>
  }
  func.func @bits(%x: tensor<17x9001xi1> {weir.name = "x"}) -> (tensor<17xi1> {weir.name = "values"}) attributes {weir.entry = "bits"} {
    %0 = weir.reduce %x {axes = array<i64: 1>, keep_dims = false, kind = "all"} : (tensor<17x9001xi1>) -> tensor<17xi1> loc("bits.reduce")
    return %0 : tensor<17xi1>
  }
  func.func @mean(%x: tensor<?x4x90xf32> {weir.name = "x"}) -> (tensor<4xf32> {weir.name = "values"}) attributes {weir.entry = "mean"} {
    %0 = weir.reduce %x {axes = array<i64: 0, 2>, keep_dims = false, kind = "mean"} : (tensor<?x4x90xf32>) -> tensor<4xf32> loc("mean.reduce")
    return %0 : tensor<4xf32>
  }
}
