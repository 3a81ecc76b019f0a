// Attentions of few queries and many keys.
module {
  func.func @half(%q: tensor<1x2x1x64xf16> {weir.name = "q"}, %k: tensor<1x2x700x64xf16> {weir.name = "k"}, %v: tensor<1x2x700x64xf16> {weir.name = "v"}) -> (tensor<1x2x1x64xf16> {weir.name = "out"}) attributes {weir.entry = "half"} {
    %0 = weir.attention %q, %k, %v {scale = 0.125 : f64, causal = false} : (tensor<1x2x1x64xf16>, tensor<1x2x700x64xf16>, tensor<1x2x700x64xf16>) -> tensor<1x2x1x64xf16>
    return %0 : tensor<1x2x1x64xf16>
  }
  func.func @single(%q: tensor<1x2x1x128xf32> {weir.name = "q"}, %k: tensor<1x2x513x128xf32> {weir.name = "k"}, %v: tensor<1x2x513x128xf32> {weir.name = "v"}, %m: tensor<1x1x1x513xf32> {weir.name = "m"}) -> (tensor<1x2x1x128xf32> {weir.name = "out"}) attributes {weir.entry = "single"} {
    %0 = weir.attention %q, %k, %v, %m {scale = 0.125 : f64, causal = false} : (tensor<1x2x1x128xf32>, tensor<1x2x513x128xf32>, tensor<1x2x513x128xf32>, tensor<1x1x1x513xf32>) -> tensor<1x2x1x128xf32>
    return %0 : tensor<1x2x1x128xf32>
  }
  func.func @brain(%q: tensor<2x1x3x80xbf16> {weir.name = "q"}, %k: tensor<2x1x301x80xbf16> {weir.name = "k"}, %v: tensor<2x1x301x80xbf16> {weir.name = "v"}, %m: tensor<2x1x3x301xbf16> {weir.name = "m"}) -> (tensor<2x1x3x80xbf16> {weir.name = "out"}) attributes {weir.entry = "brain"} {
    %0 = weir.attention %q, %k, %v, %m {scale = 0.125 : f64, causal = false} : (tensor<2x1x3x80xbf16>, tensor<2x1x301x80xbf16>, tensor<2x1x301x80xbf16>, tensor<2x1x3x301xbf16>) -> tensor<2x1x3x80xbf16>
    return %0 : tensor<2x1x3x80xbf16>
  }
  func.func @uneven(%q: tensor<1x2x2x20xf32> {weir.name = "q"}, %k: tensor<1x2x257x20xf32> {weir.name = "k"}, %v: tensor<1x2x257x24xf32> {weir.name = "v"}) -> (tensor<1x2x2x24xf32> {weir.name = "out"}) attributes {weir.entry = "uneven"} {
    %0 = weir.attention %q, %k, %v {scale = 0.125 : f64, causal = false} : (tensor<1x2x2x20xf32>, tensor<1x2x257x20xf32>, tensor<1x2x257x24xf32>) -> tensor<1x2x2x24xf32>
    return %0 : tensor<1x2x2x24xf32>
  }
  func.func @wide(%q: tensor<1x1x4x256xf32> {weir.name = "q"}, %k: tensor<1x1x260x256xf32> {weir.name = "k"}, %v: tensor<1x1x260x256xf32> {weir.name = "v"}) -> (tensor<1x1x4x256xf32> {weir.name = "out"}) attributes {weir.entry = "wide"} {
    %0 = weir.attention %q, %k, %v {scale = 0.125 : f64, causal = false} : (tensor<1x1x4x256xf32>, tensor<1x1x260x256xf32>, tensor<1x1x260x256xf32>) -> tensor<1x1x4x256xf32>
    return %0 : tensor<1x1x4x256xf32>
  }
  func.func @odd(%q: tensor<1x1x1x15xf16> {weir.name = "q"}, %k: tensor<1x1x270x15xf16> {weir.name = "k"}, %v: tensor<1x1x270x15xf16> {weir.name = "v"}) -> (tensor<1x1x1x15xf16> {weir.name = "out"}) attributes {weir.entry = "odd"} {
    %0 = weir.attention %q, %k, %v {scale = 0.125 : f64, causal = false} : (tensor<1x1x1x15xf16>, tensor<1x1x270x15xf16>, tensor<1x1x270x15xf16>) -> tensor<1x1x1x15xf16>
    return %0 : tensor<1x1x1x15xf16>
  }
  func.func @open(%q: tensor<?x2x?x48xf16> {weir.name = "q"}, %k: tensor<?x2x?x48xf16> {weir.name = "k"}, %v: tensor<?x2x?x48xf16> {weir.name = "v"}) -> (tensor<?x2x?x48xf16> {weir.name = "out"}) attributes {weir.entry = "open"} {
    %0 = weir.attention %q, %k, %v {scale = 0.125 : f64, causal = false} : (tensor<?x2x?x48xf16>, tensor<?x2x?x48xf16>, tensor<?x2x?x48xf16>) -> tensor<?x2x?x48xf16>
    return %0 : tensor<?x2x?x48xf16>
  }
  func.func @openMasked(%q: tensor<?x2x?x64xf32> {weir.name = "q"}, %k: tensor<?x2x?x64xf32> {weir.name = "k"}, %v: tensor<?x2x?x64xf32> {weir.name = "v"}, %m: tensor<?x1x?x?xf32> {weir.name = "m"}) -> (tensor<?x2x?x64xf32> {weir.name = "out"}) attributes {weir.entry = "openMasked"} {
    %0 = weir.attention %q, %k, %v, %m {scale = 0.125 : f64, causal = false} : (tensor<?x2x?x64xf32>, tensor<?x2x?x64xf32>, tensor<?x2x?x64xf32>, tensor<?x1x?x?xf32>) -> tensor<?x2x?x64xf32>
    return %0 : tensor<?x2x?x64xf32>
  }
  func.func @few(%q: tensor<1x2x1x64xf16> {weir.name = "q"}, %k: tensor<1x2x256x64xf16> {weir.name = "k"}, %v: tensor<1x2x256x64xf16> {weir.name = "v"}) -> (tensor<1x2x1x64xf16> {weir.name = "out"}) attributes {weir.entry = "few"} {
    %0 = weir.attention %q, %k, %v {scale = 0.125 : f64, causal = false} : (tensor<1x2x1x64xf16>, tensor<1x2x256x64xf16>, tensor<1x2x256x64xf16>) -> tensor<1x2x1x64xf16>
    return %0 : tensor<1x2x1x64xf16>
  }
}
