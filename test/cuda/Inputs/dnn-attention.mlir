// Attentions as cuDNN computes them: masks, heads that lie beside each other, a single query; and
// what is left to kernels.
module {
  func.func @causal(%q: tensor<1x2x70x64xf16> {weir.name = "q"}, %k: tensor<1x2x70x64xf16> {weir.name = "k"}, %v: tensor<1x2x70x64xf16> {weir.name = "v"}) -> (tensor<1x2x70x64xf16> {weir.name = "out"}) attributes {weir.entry = "causal"} {
    %3 = weir.attention %q, %k, %v {scale = 0.125 : f64, causal = true} : (tensor<1x2x70x64xf16>, tensor<1x2x70x64xf16>, tensor<1x2x70x64xf16>) -> tensor<1x2x70x64xf16> loc("causal.attention")
    return %3 : tensor<1x2x70x64xf16>
  }
  func.func @masked(%q: tensor<2x2x37x48xbf16> {weir.name = "q"}, %k: tensor<2x2x70x48xbf16> {weir.name = "k"}, %v: tensor<2x2x70x32xbf16> {weir.name = "v"}, %m: tensor<2x1x37x70xf32> {weir.name = "m"}) -> (tensor<2x2x37x32xbf16> {weir.name = "out"}) attributes {weir.entry = "masked"} {
    %3 = weir.attention %q, %k, %v, %m {scale = 0.125 : f64, causal = false} : (tensor<2x2x37x48xbf16>, tensor<2x2x70x48xbf16>, tensor<2x2x70x32xbf16>, tensor<2x1x37x70xf32>) -> tensor<2x2x37x32xbf16> loc("masked.attention")
    return %3 : tensor<2x2x37x32xbf16>
  }
  // Heads beside each other, in all four tensors.
  func.func @beside(%q: tensor<2x40x4x32xf16> {weir.name = "q"}, %k: tensor<2x50x4x32xf16> {weir.name = "k"}, %v: tensor<2x50x4x32xf16> {weir.name = "v"}) -> (tensor<2x40x4x32xf16> {weir.name = "out"}) attributes {weir.entry = "beside"} {
    %0 = weir.transpose %q {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x40x4x32xf16>) -> tensor<2x4x40x32xf16> loc("beside.q")
    %1 = weir.transpose %k {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x50x4x32xf16>) -> tensor<2x4x50x32xf16> loc("beside.k")
    %2 = weir.transpose %v {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x50x4x32xf16>) -> tensor<2x4x50x32xf16> loc("beside.v")
    %3 = weir.attention %0, %1, %2 {scale = 0.125 : f64, causal = false} : (tensor<2x4x40x32xf16>, tensor<2x4x50x32xf16>, tensor<2x4x50x32xf16>) -> tensor<2x4x40x32xf16> loc("beside.attention")
    %4 = weir.transpose %3 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x4x40x32xf16>) -> tensor<2x40x4x32xf16> loc("beside.out")
    return %4 : tensor<2x40x4x32xf16>
  }
  func.func @decode(%q: tensor<1x2x1x80xf16> {weir.name = "q"}, %k: tensor<1x2x45x80xf16> {weir.name = "k"}, %v: tensor<1x2x45x80xf16> {weir.name = "v"}) -> (tensor<1x2x1x80xf16> {weir.name = "out"}) attributes {weir.entry = "decode"} {
    %3 = weir.attention %q, %k, %v {scale = 1.0 : f64, causal = false} : (tensor<1x2x1x80xf16>, tensor<1x2x45x80xf16>, tensor<1x2x45x80xf16>) -> tensor<1x2x1x80xf16> loc("decode.attention")
    return %3 : tensor<1x2x1x80xf16>
  }
  func.func @both(%q: tensor<1x2x33x128xbf16> {weir.name = "q"}, %k: tensor<1x2x40x128xbf16> {weir.name = "k"}, %v: tensor<1x2x40x128xbf16> {weir.name = "v"}, %m: tensor<1x2x1x40xf32> {weir.name = "m"}) -> (tensor<1x2x33x128xbf16> {weir.name = "out"}) attributes {weir.entry = "both"} {
    %3 = weir.attention %q, %k, %v, %m {scale = 0.125 : f64, causal = true} : (tensor<1x2x33x128xbf16>, tensor<1x2x40x128xbf16>, tensor<1x2x40x128xbf16>, tensor<1x2x1x40xf32>) -> tensor<1x2x33x128xbf16> loc("both.attention")
    return %3 : tensor<1x2x33x128xbf16>
  }
  // The rest is not the library's: heads of 20.
  func.func @narrow(%q: tensor<1x2x33x20xf16> {weir.name = "q"}, %k: tensor<1x2x33x20xf16> {weir.name = "k"}, %v: tensor<1x2x33x20xf16> {weir.name = "v"}) -> (tensor<1x2x33x20xf16> {weir.name = "out"}) attributes {weir.entry = "narrow"} {
    %3 = weir.attention %q, %k, %v {scale = 0.125 : f64, causal = false} : (tensor<1x2x33x20xf16>, tensor<1x2x33x20xf16>, tensor<1x2x33x20xf16>) -> tensor<1x2x33x20xf16> loc("narrow.attention")
    return %3 : tensor<1x2x33x20xf16>
  }
  // A mask that picks.
  func.func @picks(%q: tensor<1x2x33x32xf16> {weir.name = "q"}, %k: tensor<1x2x33x32xf16> {weir.name = "k"}, %v: tensor<1x2x33x32xf16> {weir.name = "v"}, %m: tensor<1x1x33x33xi1> {weir.name = "m"}) -> (tensor<1x2x33x32xf16> {weir.name = "out"}) attributes {weir.entry = "picks"} {
    %3 = weir.attention %q, %k, %v, %m {scale = 0.125 : f64, causal = false} : (tensor<1x2x33x32xf16>, tensor<1x2x33x32xf16>, tensor<1x2x33x32xf16>, tensor<1x1x33x33xi1>) -> tensor<1x2x33x32xf16> loc("picks.attention")
    return %3 : tensor<1x2x33x32xf16>
  }
  func.func @single(%q: tensor<1x2x33x32xf32> {weir.name = "q"}, %k: tensor<1x2x33x32xf32> {weir.name = "k"}, %v: tensor<1x2x33x32xf32> {weir.name = "v"}) -> (tensor<1x2x33x32xf32> {weir.name = "out"}) attributes {weir.entry = "single"} {
    %3 = weir.attention %q, %k, %v {scale = 0.125 : f64, causal = false} : (tensor<1x2x33x32xf32>, tensor<1x2x33x32xf32>, tensor<1x2x33x32xf32>) -> tensor<1x2x33x32xf32> loc("single.attention")
    return %3 : tensor<1x2x33x32xf32>
  }
  func.func @open(%q: tensor<1x2x?x32xf16> {weir.name = "q"}, %k: tensor<1x2x33x32xf16> {weir.name = "k"}, %v: tensor<1x2x33x32xf16> {weir.name = "v"}) -> (tensor<1x2x?x32xf16> {weir.name = "out"}) attributes {weir.entry = "open"} {
    %3 = weir.attention %q, %k, %v {scale = 0.125 : f64, causal = false} : (tensor<1x2x?x32xf16>, tensor<1x2x33x32xf16>, tensor<1x2x33x32xf16>) -> tensor<1x2x?x32xf16> loc("open.attention")
    return %3 : tensor<1x2x?x32xf16>
  }
}
