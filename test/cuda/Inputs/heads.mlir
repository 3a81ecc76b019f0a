// Attentions of wide heads.
module {
  func.func @f16_64_open_masked(%q: tensor<?x8x?x64xf16> {weir.name = "q"}, %k: tensor<?x8x?x64xf16> {weir.name = "k"}, %v: tensor<?x8x?x64xf16> {weir.name = "v"}, %m: tensor<?x1x?x?xf16> {weir.name = "m"}) -> (tensor<?x8x?x64xf16> {weir.name = "out"}) attributes {weir.entry = "f16_64_open_masked"} {
    %0 = weir.attention %q, %k, %v, %m {scale = 0.125 : f64, causal = false} : (tensor<?x8x?x64xf16>, tensor<?x8x?x64xf16>, tensor<?x8x?x64xf16>, tensor<?x1x?x?xf16>) -> tensor<?x8x?x64xf16>
    return %0 : tensor<?x8x?x64xf16>
  }
  func.func @f16_80_open(%q: tensor<?x8x?x80xf16> {weir.name = "q"}, %k: tensor<?x8x?x80xf16> {weir.name = "k"}, %v: tensor<?x8x?x80xf16> {weir.name = "v"}) -> (tensor<?x8x?x80xf16> {weir.name = "out"}) attributes {weir.entry = "f16_80_open"} {
    %0 = weir.attention %q, %k, %v {scale = 0.125 : f64, causal = false} : (tensor<?x8x?x80xf16>, tensor<?x8x?x80xf16>, tensor<?x8x?x80xf16>) -> tensor<?x8x?x80xf16>
    return %0 : tensor<?x8x?x80xf16>
  }
  func.func @bf16_96(%q: tensor<2x8x512x96xbf16> {weir.name = "q"}, %k: tensor<2x8x512x96xbf16> {weir.name = "k"}, %v: tensor<2x8x512x96xbf16> {weir.name = "v"}) -> (tensor<2x8x512x96xbf16> {weir.name = "out"}) attributes {weir.entry = "bf16_96"} {
    %0 = weir.attention %q, %k, %v {scale = 0.125 : f64, causal = false} : (tensor<2x8x512x96xbf16>, tensor<2x8x512x96xbf16>, tensor<2x8x512x96xbf16>) -> tensor<2x8x512x96xbf16>
    return %0 : tensor<2x8x512x96xbf16>
  }
  func.func @f16_96_open_masked(%q: tensor<?x8x?x96xf16> {weir.name = "q"}, %k: tensor<?x8x?x96xf16> {weir.name = "k"}, %v: tensor<?x8x?x96xf16> {weir.name = "v"}, %m: tensor<?x1x?x?xf16> {weir.name = "m"}) -> (tensor<?x8x?x96xf16> {weir.name = "out"}) attributes {weir.entry = "f16_96_open_masked"} {
    %0 = weir.attention %q, %k, %v, %m {scale = 0.125 : f64, causal = false} : (tensor<?x8x?x96xf16>, tensor<?x8x?x96xf16>, tensor<?x8x?x96xf16>, tensor<?x1x?x?xf16>) -> tensor<?x8x?x96xf16>
    return %0 : tensor<?x8x?x96xf16>
  }
  func.func @f16_112_masked(%q: tensor<2x8x512x112xf16> {weir.name = "q"}, %k: tensor<2x8x512x112xf16> {weir.name = "k"}, %v: tensor<2x8x512x112xf16> {weir.name = "v"}, %m: tensor<2x1x512x512xf16> {weir.name = "m"}) -> (tensor<2x8x512x112xf16> {weir.name = "out"}) attributes {weir.entry = "f16_112_masked"} {
    %0 = weir.attention %q, %k, %v, %m {scale = 0.125 : f64, causal = false} : (tensor<2x8x512x112xf16>, tensor<2x8x512x112xf16>, tensor<2x8x512x112xf16>, tensor<2x1x512x512xf16>) -> tensor<2x8x512x112xf16>
    return %0 : tensor<2x8x512x112xf16>
  }
  func.func @f16_128(%q: tensor<2x8x512x128xf16> {weir.name = "q"}, %k: tensor<2x8x512x128xf16> {weir.name = "k"}, %v: tensor<2x8x512x128xf16> {weir.name = "v"}) -> (tensor<2x8x512x128xf16> {weir.name = "out"}) attributes {weir.entry = "f16_128"} {
    %0 = weir.attention %q, %k, %v {scale = 0.125 : f64, causal = false} : (tensor<2x8x512x128xf16>, tensor<2x8x512x128xf16>, tensor<2x8x512x128xf16>) -> tensor<2x8x512x128xf16>
    return %0 : tensor<2x8x512x128xf16>
  }
  func.func @f16_128_open_masked(%q: tensor<?x8x?x128xf16> {weir.name = "q"}, %k: tensor<?x8x?x128xf16> {weir.name = "k"}, %v: tensor<?x8x?x128xf16> {weir.name = "v"}, %m: tensor<?x1x?x?xf16> {weir.name = "m"}) -> (tensor<?x8x?x128xf16> {weir.name = "out"}) attributes {weir.entry = "f16_128_open_masked"} {
    %0 = weir.attention %q, %k, %v, %m {scale = 0.125 : f64, causal = false} : (tensor<?x8x?x128xf16>, tensor<?x8x?x128xf16>, tensor<?x8x?x128xf16>, tensor<?x1x?x?xf16>) -> tensor<?x8x?x128xf16>
    return %0 : tensor<?x8x?x128xf16>
  }
  func.func @f32_80_open_masked(%q: tensor<?x8x?x80xf32> {weir.name = "q"}, %k: tensor<?x8x?x80xf32> {weir.name = "k"}, %v: tensor<?x8x?x80xf32> {weir.name = "v"}, %m: tensor<?x1x?x?xf32> {weir.name = "m"}) -> (tensor<?x8x?x80xf32> {weir.name = "out"}) attributes {weir.entry = "f32_80_open_masked"} {
    %0 = weir.attention %q, %k, %v, %m {scale = 0.125 : f64, causal = false} : (tensor<?x8x?x80xf32>, tensor<?x8x?x80xf32>, tensor<?x8x?x80xf32>, tensor<?x1x?x?xf32>) -> tensor<?x8x?x80xf32>
    return %0 : tensor<?x8x?x80xf32>
  }
  func.func @f32_96_open_masked(%q: tensor<?x8x?x96xf32> {weir.name = "q"}, %k: tensor<?x8x?x96xf32> {weir.name = "k"}, %v: tensor<?x8x?x96xf32> {weir.name = "v"}, %m: tensor<?x1x?x?xf32> {weir.name = "m"}) -> (tensor<?x8x?x96xf32> {weir.name = "out"}) attributes {weir.entry = "f32_96_open_masked"} {
    %0 = weir.attention %q, %k, %v, %m {scale = 0.125 : f64, causal = false} : (tensor<?x8x?x96xf32>, tensor<?x8x?x96xf32>, tensor<?x8x?x96xf32>, tensor<?x1x?x?xf32>) -> tensor<?x8x?x96xf32>
    return %0 : tensor<?x8x?x96xf32>
  }
  func.func @f32_112_masked(%q: tensor<2x8x512x112xf32> {weir.name = "q"}, %k: tensor<2x8x512x112xf32> {weir.name = "k"}, %v: tensor<2x8x512x112xf32> {weir.name = "v"}, %m: tensor<2x1x512x512xf32> {weir.name = "m"}) -> (tensor<2x8x512x112xf32> {weir.name = "out"}) attributes {weir.entry = "f32_112_masked"} {
    %0 = weir.attention %q, %k, %v, %m {scale = 0.125 : f64, causal = false} : (tensor<2x8x512x112xf32>, tensor<2x8x512x112xf32>, tensor<2x8x512x112xf32>, tensor<2x1x512x512xf32>) -> tensor<2x8x512x112xf32>
    return %0 : tensor<2x8x512x112xf32>
  }
  func.func @f32_112_open_masked(%q: tensor<?x8x?x112xf32> {weir.name = "q"}, %k: tensor<?x8x?x112xf32> {weir.name = "k"}, %v: tensor<?x8x?x112xf32> {weir.name = "v"}, %m: tensor<?x1x?x?xf32> {weir.name = "m"}) -> (tensor<?x8x?x112xf32> {weir.name = "out"}) attributes {weir.entry = "f32_112_open_masked"} {
    %0 = weir.attention %q, %k, %v, %m {scale = 0.125 : f64, causal = false} : (tensor<?x8x?x112xf32>, tensor<?x8x?x112xf32>, tensor<?x8x?x112xf32>, tensor<?x1x?x?xf32>) -> tensor<?x8x?x112xf32>
    return %0 : tensor<?x8x?x112xf32>
  }
  func.func @f32_128_masked(%q: tensor<2x8x512x128xf32> {weir.name = "q"}, %k: tensor<2x8x512x128xf32> {weir.name = "k"}, %v: tensor<2x8x512x128xf32> {weir.name = "v"}, %m: tensor<2x1x512x512xf32> {weir.name = "m"}) -> (tensor<2x8x512x128xf32> {weir.name = "out"}) attributes {weir.entry = "f32_128_masked"} {
    %0 = weir.attention %q, %k, %v, %m {scale = 0.125 : f64, causal = false} : (tensor<2x8x512x128xf32>, tensor<2x8x512x128xf32>, tensor<2x8x512x128xf32>, tensor<2x1x512x512xf32>) -> tensor<2x8x512x128xf32>
    return %0 : tensor<2x8x512x128xf32>
  }
  func.func @f32_128_open_masked(%q: tensor<?x8x?x128xf32> {weir.name = "q"}, %k: tensor<?x8x?x128xf32> {weir.name = "k"}, %v: tensor<?x8x?x128xf32> {weir.name = "v"}, %m: tensor<?x1x?x?xf32> {weir.name = "m"}) -> (tensor<?x8x?x128xf32> {weir.name = "out"}) attributes {weir.entry = "f32_128_open_masked"} {
    %0 = weir.attention %q, %k, %v, %m {scale = 0.125 : f64, causal = false} : (tensor<?x8x?x128xf32>, tensor<?x8x?x128xf32>, tensor<?x8x?x128xf32>, tensor<?x1x?x?xf32>) -> tensor<?x8x?x128xf32>
    return %0 : tensor<?x8x?x128xf32>
  }
}
