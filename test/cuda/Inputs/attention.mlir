// Attentions in half precision: by tensor cores, one kernel each.
module {
  func.func @causal(%q: tensor<1x2x70x64xf16> {weir.name = "q"}, %k: tensor<1x2x70x64xf16> {weir.name = "k"}, %v: tensor<1x2x70x64xf16> {weir.name = "v"}) -> (tensor<1x2x70x64xf16> {weir.name = "out"}) attributes {weir.entry = "causal"} {
    %0 = weir.attention %q, %k, %v {scale = 0.125 : f64, causal = true} : (tensor<1x2x70x64xf16>, tensor<1x2x70x64xf16>, tensor<1x2x70x64xf16>) -> tensor<1x2x70x64xf16>
    return %0 : tensor<1x2x70x64xf16>
  }
  func.func @decode(%q: tensor<1x2x1x80xf16> {weir.name = "q"}, %k: tensor<1x2x45x80xf16> {weir.name = "k"}, %v: tensor<1x2x45x80xf16> {weir.name = "v"}) -> (tensor<1x2x1x80xf16> {weir.name = "out"}) attributes {weir.entry = "decode"} {
    %0 = weir.attention %q, %k, %v {scale = 0.125 : f64, causal = false} : (tensor<1x2x1x80xf16>, tensor<1x2x45x80xf16>, tensor<1x2x45x80xf16>) -> tensor<1x2x1x80xf16>
    return %0 : tensor<1x2x1x80xf16>
  }
  func.func @wide(%q: tensor<1x1x128x128xf16> {weir.name = "q"}, %k: tensor<1x1x128x128xf16> {weir.name = "k"}, %v: tensor<1x1x128x128xf16> {weir.name = "v"}) -> (tensor<1x1x128x128xf16> {weir.name = "out"}) attributes {weir.entry = "wide"} {
    %0 = weir.attention %q, %k, %v {scale = 0.0625 : f64, causal = false} : (tensor<1x1x128x128xf16>, tensor<1x1x128x128xf16>, tensor<1x1x128x128xf16>) -> tensor<1x1x128x128xf16>
    return %0 : tensor<1x1x128x128xf16>
  }
  func.func @brain(%q: tensor<1x2x33x32xbf16> {weir.name = "q"}, %k: tensor<1x2x33x32xbf16> {weir.name = "k"}, %v: tensor<1x2x33x32xbf16> {weir.name = "v"}) -> (tensor<1x2x33x32xbf16> {weir.name = "out"}) attributes {weir.entry = "brain"} {
    %0 = weir.attention %q, %k, %v {scale = 0.125 : f64, causal = true} : (tensor<1x2x33x32xbf16>, tensor<1x2x33x32xbf16>, tensor<1x2x33x32xbf16>) -> tensor<1x2x33x32xbf16>
    return %0 : tensor<1x2x33x32xbf16>
  }
  func.func @masked(%q: tensor<2x2x37x48xf16> {weir.name = "q"}, %k: tensor<2x2x70x48xf16> {weir.name = "k"}, %v: tensor<2x2x70x48xf16> {weir.name = "v"}, %m: tensor<2x1x37x70xf16> {weir.name = "m"}) -> (tensor<2x2x37x48xf16> {weir.name = "out"}) attributes {weir.entry = "masked"} {
    %0 = weir.attention %q, %k, %v, %m {scale = 0.125 : f64, causal = false} : (tensor<2x2x37x48xf16>, tensor<2x2x70x48xf16>, tensor<2x2x70x48xf16>, tensor<2x1x37x70xf16>) -> tensor<2x2x37x48xf16>
    return %0 : tensor<2x2x37x48xf16>
  }
  func.func @open(%q: tensor<?x2x?x48xbf16> {weir.name = "q"}, %k: tensor<?x2x?x48xbf16> {weir.name = "k"}, %v: tensor<?x2x?x48xbf16> {weir.name = "v"}) -> (tensor<?x2x?x48xbf16> {weir.name = "out"}) attributes {weir.entry = "open"} {
    %0 = weir.attention %q, %k, %v {scale = 0.125 : f64, causal = false} : (tensor<?x2x?x48xbf16>, tensor<?x2x?x48xbf16>, tensor<?x2x?x48xbf16>) -> tensor<?x2x?x48xbf16>
    return %0 : tensor<?x2x?x48xbf16>
  }
  func.func @eighty(%q: tensor<1x2x40x80xf16> {weir.name = "q"}, %k: tensor<1x2x70x80xf16> {weir.name = "k"}, %v: tensor<1x2x70x80xf16> {weir.name = "v"}) -> (tensor<1x2x40x80xf16> {weir.name = "out"}) attributes {weir.entry = "eighty"} {
    %0 = weir.attention %q, %k, %v {scale = 0.125 : f64, causal = true} : (tensor<1x2x40x80xf16>, tensor<1x2x70x80xf16>, tensor<1x2x70x80xf16>) -> tensor<1x2x40x80xf16>
    return %0 : tensor<1x2x40x80xf16>
  }
}
