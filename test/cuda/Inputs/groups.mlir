// Attentions whose query heads share heads of keys and values.
module {
  func.func @one(%q: tensor<1x8x1x64xf16> {weir.name = "q"}, %k: tensor<1x2x700x64xf16> {weir.name = "k"}, %v: tensor<1x2x700x64xf16> {weir.name = "v"}) -> (tensor<1x8x1x64xf16> {weir.name = "out"}) attributes {weir.entry = "one"} {
    %keys = weir.repeat %k {axis = 1 : i64, times = 4 : i64} : (tensor<1x2x700x64xf16>) -> tensor<1x8x700x64xf16>
    %values = weir.repeat %v {axis = 1 : i64, times = 4 : i64} : (tensor<1x2x700x64xf16>) -> tensor<1x8x700x64xf16>
    %0 = weir.attention %q, %keys, %values {scale = 0.125 : f64, causal = false} : (tensor<1x8x1x64xf16>, tensor<1x8x700x64xf16>, tensor<1x8x700x64xf16>) -> tensor<1x8x1x64xf16>
    return %0 : tensor<1x8x1x64xf16>
  }
  func.func @eight(%q: tensor<2x16x1x128xbf16> {weir.name = "q"}, %k: tensor<2x2x300x128xbf16> {weir.name = "k"}, %v: tensor<2x2x300x128xbf16> {weir.name = "v"}, %m: tensor<2x1x1x300xf32> {weir.name = "m"}) -> (tensor<2x16x1x128xbf16> {weir.name = "out"}) attributes {weir.entry = "eight"} {
    %keys = weir.repeat %k {axis = 1 : i64, times = 8 : i64} : (tensor<2x2x300x128xbf16>) -> tensor<2x16x300x128xbf16>
    %values = weir.repeat %v {axis = 1 : i64, times = 8 : i64} : (tensor<2x2x300x128xbf16>) -> tensor<2x16x300x128xbf16>
    %0 = weir.attention %q, %keys, %values, %m {scale = 0.125 : f64, causal = false} : (tensor<2x16x1x128xbf16>, tensor<2x16x300x128xbf16>, tensor<2x16x300x128xbf16>, tensor<2x1x1x300xf32>) -> tensor<2x16x1x128xbf16>
    return %0 : tensor<2x16x1x128xbf16>
  }
  func.func @twelve(%q: tensor<1x12x1x32xf32> {weir.name = "q"}, %k: tensor<1x1x?x32xf32> {weir.name = "k"}, %v: tensor<1x1x?x32xf32> {weir.name = "v"}, %m: tensor<1x12x1x?xf32> {weir.name = "m"}) -> (tensor<1x12x1x32xf32> {weir.name = "out"}) attributes {weir.entry = "twelve"} {
    %keys = weir.repeat %k {axis = 1 : i64, times = 12 : i64} : (tensor<1x1x?x32xf32>) -> tensor<1x12x?x32xf32>
    %values = weir.repeat %v {axis = 1 : i64, times = 12 : i64} : (tensor<1x1x?x32xf32>) -> tensor<1x12x?x32xf32>
    %0 = weir.attention %q, %keys, %values, %m {scale = 0.125 : f64, causal = false} : (tensor<1x12x1x32xf32>, tensor<1x12x?x32xf32>, tensor<1x12x?x32xf32>, tensor<1x12x1x?xf32>) -> tensor<1x12x1x32xf32>
    return %0 : tensor<1x12x1x32xf32>
  }
  func.func @several(%q: tensor<2x8x40x64xf16> {weir.name = "q"}, %k: tensor<2x2x75x64xf16> {weir.name = "k"}, %v: tensor<2x2x75x64xf16> {weir.name = "v"}, %m: tensor<2x1x40x75xf32> {weir.name = "m"}) -> (tensor<2x8x40x64xf16> {weir.name = "out"}) attributes {weir.entry = "several"} {
    %keys = weir.repeat %k {axis = 1 : i64, times = 4 : i64} : (tensor<2x2x75x64xf16>) -> tensor<2x8x75x64xf16>
    %values = weir.repeat %v {axis = 1 : i64, times = 4 : i64} : (tensor<2x2x75x64xf16>) -> tensor<2x8x75x64xf16>
    %0 = weir.attention %q, %keys, %values, %m {scale = 0.125 : f64, causal = false} : (tensor<2x8x40x64xf16>, tensor<2x8x75x64xf16>, tensor<2x8x75x64xf16>, tensor<2x1x40x75xf32>) -> tensor<2x8x40x64xf16>
    return %0 : tensor<2x8x40x64xf16>
  }
  func.func @open(%q: tensor<?x6x?x48xf32> {weir.name = "q"}, %k: tensor<?x2x?x48xf32> {weir.name = "k"}, %v: tensor<?x2x?x48xf32> {weir.name = "v"}) -> (tensor<?x6x?x48xf32> {weir.name = "out"}) attributes {weir.entry = "open"} {
    %keys = weir.repeat %k {axis = 1 : i64, times = 3 : i64} : (tensor<?x2x?x48xf32>) -> tensor<?x6x?x48xf32>
    %values = weir.repeat %v {axis = 1 : i64, times = 3 : i64} : (tensor<?x2x?x48xf32>) -> tensor<?x6x?x48xf32>
    %0 = weir.attention %q, %keys, %values {scale = 0.125 : f64, causal = false} : (tensor<?x6x?x48xf32>, tensor<?x6x?x48xf32>, tensor<?x6x?x48xf32>) -> tensor<?x6x?x48xf32>
    return %0 : tensor<?x6x?x48xf32>
  }
}
