// Attentions of wide heads.
module {
  func.func @f16_80(%q: tensor<2x8x512x80xf16> {weir.name = "q"}, %k: tensor<2x8x512x80xf16> {weir.name = "k"}, %v: tensor<2x8x512x80xf16> {weir.name = "v"}) -> (tensor<2x8x512x80xf16> {weir.name = "out"}) attributes {weir.entry = "f16_80"} {
    %0 = weir.attention %q, %k, %v {scale = 0.125 : f64, causal = false} : (tensor<2x8x512x80xf16>, tensor<2x8x512x80xf16>, tensor<2x8x512x80xf16>) -> tensor<2x8x512x80xf16>
    return %0 : tensor<2x8x512x80xf16>
  }
  func.func @f16_80_open(%q: tensor<?x8x?x80xf16> {weir.name = "q"}, %k: tensor<?x8x?x80xf16> {weir.name = "k"}, %v: tensor<?x8x?x80xf16> {weir.name = "v"}) -> (tensor<?x8x?x80xf16> {weir.name = "out"}) attributes {weir.entry = "f16_80_open"} {
    %0 = weir.attention %q, %k, %v {scale = 0.125 : f64, causal = false} : (tensor<?x8x?x80xf16>, tensor<?x8x?x80xf16>, tensor<?x8x?x80xf16>) -> tensor<?x8x?x80xf16>
    return %0 : tensor<?x8x?x80xf16>
  }
  func.func @bf16_96(%q: tensor<2x8x512x96xbf16> {weir.name = "q"}, %k: tensor<2x8x512x96xbf16> {weir.name = "k"}, %v: tensor<2x8x512x96xbf16> {weir.name = "v"}) -> (tensor<2x8x512x96xbf16> {weir.name = "out"}) attributes {weir.entry = "bf16_96"} {
    %0 = weir.attention %q, %k, %v {scale = 0.125 : f64, causal = false} : (tensor<2x8x512x96xbf16>, tensor<2x8x512x96xbf16>, tensor<2x8x512x96xbf16>) -> tensor<2x8x512x96xbf16>
    return %0 : tensor<2x8x512x96xbf16>
  }
  func.func @bf16_96_open(%q: tensor<?x8x?x96xbf16> {weir.name = "q"}, %k: tensor<?x8x?x96xbf16> {weir.name = "k"}, %v: tensor<?x8x?x96xbf16> {weir.name = "v"}) -> (tensor<?x8x?x96xbf16> {weir.name = "out"}) attributes {weir.entry = "bf16_96_open"} {
    %0 = weir.attention %q, %k, %v {scale = 0.125 : f64, causal = false} : (tensor<?x8x?x96xbf16>, tensor<?x8x?x96xbf16>, tensor<?x8x?x96xbf16>) -> tensor<?x8x?x96xbf16>
    return %0 : tensor<?x8x?x96xbf16>
  }
  func.func @f16_112(%q: tensor<2x8x512x112xf16> {weir.name = "q"}, %k: tensor<2x8x512x112xf16> {weir.name = "k"}, %v: tensor<2x8x512x112xf16> {weir.name = "v"}) -> (tensor<2x8x512x112xf16> {weir.name = "out"}) attributes {weir.entry = "f16_112"} {
    %0 = weir.attention %q, %k, %v {scale = 0.125 : f64, causal = false} : (tensor<2x8x512x112xf16>, tensor<2x8x512x112xf16>, tensor<2x8x512x112xf16>) -> tensor<2x8x512x112xf16>
    return %0 : tensor<2x8x512x112xf16>
  }
  func.func @f16_112_open(%q: tensor<?x8x?x112xf16> {weir.name = "q"}, %k: tensor<?x8x?x112xf16> {weir.name = "k"}, %v: tensor<?x8x?x112xf16> {weir.name = "v"}) -> (tensor<?x8x?x112xf16> {weir.name = "out"}) attributes {weir.entry = "f16_112_open"} {
    %0 = weir.attention %q, %k, %v {scale = 0.125 : f64, causal = false} : (tensor<?x8x?x112xf16>, tensor<?x8x?x112xf16>, tensor<?x8x?x112xf16>) -> tensor<?x8x?x112xf16>
    return %0 : tensor<?x8x?x112xf16>
  }
  func.func @f16_128(%q: tensor<2x8x512x128xf16> {weir.name = "q"}, %k: tensor<2x8x512x128xf16> {weir.name = "k"}, %v: tensor<2x8x512x128xf16> {weir.name = "v"}) -> (tensor<2x8x512x128xf16> {weir.name = "out"}) attributes {weir.entry = "f16_128"} {
    %0 = weir.attention %q, %k, %v {scale = 0.125 : f64, causal = false} : (tensor<2x8x512x128xf16>, tensor<2x8x512x128xf16>, tensor<2x8x512x128xf16>) -> tensor<2x8x512x128xf16>
    return %0 : tensor<2x8x512x128xf16>
  }
  func.func @f16_128_open(%q: tensor<?x8x?x128xf16> {weir.name = "q"}, %k: tensor<?x8x?x128xf16> {weir.name = "k"}, %v: tensor<?x8x?x128xf16> {weir.name = "v"}) -> (tensor<?x8x?x128xf16> {weir.name = "out"}) attributes {weir.entry = "f16_128_open"} {
    %0 = weir.attention %q, %k, %v {scale = 0.125 : f64, causal = false} : (tensor<?x8x?x128xf16>, tensor<?x8x?x128xf16>, tensor<?x8x?x128xf16>) -> tensor<?x8x?x128xf16>
    return %0 : tensor<?x8x?x128xf16>
  }
}
