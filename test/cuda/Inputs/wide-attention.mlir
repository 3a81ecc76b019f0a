// Attentions by groups of warps: tiles of 128 queries, of one head or of a group that shares keys.
module {
  // Rows and keys that are no whole tiles.
  func.func @causal(%q: tensor<1x3x200x64xf16> {weir.name = "q"}, %k: tensor<1x3x200x64xf16> {weir.name = "k"}, %v: tensor<1x3x200x64xf16> {weir.name = "v"}) -> (tensor<1x3x200x64xf16> {weir.name = "out"}) attributes {weir.entry = "causal"} {
    %0 = weir.attention %q, %k, %v {scale = 0.125 : f64, causal = true} : (tensor<1x3x200x64xf16>, tensor<1x3x200x64xf16>, tensor<1x3x200x64xf16>) -> tensor<1x3x200x64xf16> loc("causal.attention")
    return %0 : tensor<1x3x200x64xf16>
  }
  // More blocks of keys than stages.
  func.func @long(%q: tensor<1x3x128x128xbf16> {weir.name = "q"}, %k: tensor<1x3x640x128xbf16> {weir.name = "k"}, %v: tensor<1x3x640x128xbf16> {weir.name = "v"}) -> (tensor<1x3x128x128xbf16> {weir.name = "out"}) attributes {weir.entry = "long"} {
    %0 = weir.attention %q, %k, %v {scale = 0.0883 : f64, causal = false} : (tensor<1x3x128x128xbf16>, tensor<1x3x640x128xbf16>, tensor<1x3x640x128xbf16>) -> tensor<1x3x128x128xbf16> loc("long.attention")
    return %0 : tensor<1x3x128x128xbf16>
  }
  // A mask that picks, and heads that are no whole lines.
  func.func @picks(%q: tensor<2x2x70x80xf16> {weir.name = "q"}, %k: tensor<2x2x150x80xf16> {weir.name = "k"}, %v: tensor<2x2x150x48xf16> {weir.name = "v"}, %m: tensor<2x1x70x150xi1> {weir.name = "m"}) -> (tensor<2x2x70x48xf16> {weir.name = "out"}) attributes {weir.entry = "picks"} {
    %0 = weir.attention %q, %k, %v, %m {scale = 0.125 : f64, causal = false} : (tensor<2x2x70x80xf16>, tensor<2x2x150x80xf16>, tensor<2x2x150x48xf16>, tensor<2x1x70x150xi1>) -> tensor<2x2x70x48xf16> loc("picks.attention")
    return %0 : tensor<2x2x70x48xf16>
  }
  // Few keys, a mask that adds, heads beside each other.
  func.func @beside(%q: tensor<2x100x2x64xbf16> {weir.name = "q"}, %k: tensor<2x50x2x64xbf16> {weir.name = "k"}, %v: tensor<2x50x2x64xbf16> {weir.name = "v"}, %m: tensor<1x1x100x50xf32> {weir.name = "m"}) -> (tensor<2x100x2x64xbf16> {weir.name = "out"}) attributes {weir.entry = "beside"} {
    %0 = weir.transpose %q {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x100x2x64xbf16>) -> tensor<2x2x100x64xbf16>
    %1 = weir.transpose %k {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x50x2x64xbf16>) -> tensor<2x2x50x64xbf16>
    %2 = weir.transpose %v {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x50x2x64xbf16>) -> tensor<2x2x50x64xbf16>
    %3 = weir.attention %0, %1, %2, %m {scale = 0.125 : f64, causal = false} : (tensor<2x2x100x64xbf16>, tensor<2x2x50x64xbf16>, tensor<2x2x50x64xbf16>, tensor<1x1x100x50xf32>) -> tensor<2x2x100x64xbf16> loc("beside.attention")
    %4 = weir.transpose %3 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x2x100x64xbf16>) -> tensor<2x100x2x64xbf16>
    return %4 : tensor<2x100x2x64xbf16>
  }
  // A tile has the queries of all heads of a group.
  func.func @grouped(%q: tensor<2x8x40x64xf16> {weir.name = "q"}, %k: tensor<2x2x75x64xf16> {weir.name = "k"}, %v: tensor<2x2x75x64xf16> {weir.name = "v"}, %m: tensor<2x8x40x75xf32> {weir.name = "m"}) -> (tensor<2x8x40x64xf16> {weir.name = "out"}) attributes {weir.entry = "grouped"} {
    %keys = weir.repeat %k {axis = 1 : i64, times = 4 : i64} : (tensor<2x2x75x64xf16>) -> tensor<2x8x75x64xf16>
    %values = weir.repeat %v {axis = 1 : i64, times = 4 : i64} : (tensor<2x2x75x64xf16>) -> tensor<2x8x75x64xf16>
    %0 = weir.attention %q, %keys, %values, %m {scale = 0.125 : f64, causal = false} : (tensor<2x8x40x64xf16>, tensor<2x8x75x64xf16>, tensor<2x8x75x64xf16>, tensor<2x8x40x75xf32>) -> tensor<2x8x40x64xf16> loc("grouped.attention")
    return %0 : tensor<2x8x40x64xf16>
  }
  // Heads of a group that do not fill a tile each have tiles of their own.
  func.func @uneven(%q: tensor<1x6x130x64xf16> {weir.name = "q"}, %k: tensor<1x2x130x64xf16> {weir.name = "k"}, %v: tensor<1x2x130x64xf16> {weir.name = "v"}) -> (tensor<1x6x130x64xf16> {weir.name = "out"}) attributes {weir.entry = "uneven"} {
    %keys = weir.repeat %k {axis = 1 : i64, times = 3 : i64} : (tensor<1x2x130x64xf16>) -> tensor<1x6x130x64xf16>
    %values = weir.repeat %v {axis = 1 : i64, times = 3 : i64} : (tensor<1x2x130x64xf16>) -> tensor<1x6x130x64xf16>
    %0 = weir.attention %q, %keys, %values {scale = 0.125 : f64, causal = true} : (tensor<1x6x130x64xf16>, tensor<1x6x130x64xf16>, tensor<1x6x130x64xf16>) -> tensor<1x6x130x64xf16> loc("uneven.attention")
    return %0 : tensor<1x6x130x64xf16>
  }
  func.func @open(%q: tensor<?x2x?x64xbf16> {weir.name = "q"}, %k: tensor<?x2x?x64xbf16> {weir.name = "k"}, %v: tensor<?x2x?x64xbf16> {weir.name = "v"}) -> (tensor<?x2x?x64xbf16> {weir.name = "out"}) attributes {weir.entry = "open"} {
    %0 = weir.attention %q, %k, %v {scale = 0.125 : f64, causal = true} : (tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>) -> tensor<?x2x?x64xbf16> loc("open.attention")
    return %0 : tensor<?x2x?x64xbf16>
  }
  // Keys that lie across are none that the engine brings as lines of a head.
  func.func @across(%q: tensor<1x3x128x64xf16> {weir.name = "q"}, %k: tensor<1x3x64x128xf16> {weir.name = "k"}, %v: tensor<1x3x128x64xf16> {weir.name = "v"}) -> (tensor<1x3x128x64xf16> {weir.name = "out"}) attributes {weir.entry = "across"} {
    %0 = weir.transpose %k {permutation = array<i64: 0, 1, 3, 2>} : (tensor<1x3x64x128xf16>) -> tensor<1x3x128x64xf16>
    %1 = weir.attention %q, %0, %v {scale = 0.125 : f64, causal = false} : (tensor<1x3x128x64xf16>, tensor<1x3x128x64xf16>, tensor<1x3x128x64xf16>) -> tensor<1x3x128x64xf16> loc("across.attention")
    return %1 : tensor<1x3x128x64xf16>
  }
}
