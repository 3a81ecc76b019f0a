func.func @main(%x: tensor<?x?xui8> {weir.name = "x"}, %t: tensor<?x?xui8> {weir.name = "t"},
    %s: tensor<160x120xui8> {weir.name = "s"}, %r: tensor<160x120xui8> {weir.name = "r"})
    -> (tensor<?x?xui8> {weir.name = "y"}, tensor<?x?xf32> {weir.name = "z"}, tensor<160x120xui8> {weir.name = "w"},
        tensor<160x120xui8> {weir.name = "u"}, tensor<160x120xui8> {weir.name = "v"}) attributes {weir.entry = "main"} {
  %zero = weir.constant dense<1.28e+02> : tensor<f32>
  %scale = weir.constant dense<5.0e-02> : tensor<f32>
  %steps = weir.constant dense<2.56e+02> : tensor<f32>
  %low = weir.constant dense<0.0> : tensor<f32>
  %high = weir.constant dense<2.55e+02> : tensor<f32>

  // Of bytes that become bytes.
  %0 = weir.cast %x {saturate = true} : (tensor<?x?xui8>) -> tensor<?x?xf32>
  %1 = weir.sub %0, %zero : (tensor<?x?xf32>, tensor<f32>) -> tensor<?x?xf32>
  %2 = weir.mul %1, %scale : (tensor<?x?xf32>, tensor<f32>) -> tensor<?x?xf32>
  %3 = weir.logistic %2 : (tensor<?x?xf32>) -> tensor<?x?xf32>
  %4 = weir.mul %3, %steps : (tensor<?x?xf32>, tensor<f32>) -> tensor<?x?xf32>
  %5 = weir.round_even %4 : (tensor<?x?xf32>) -> tensor<?x?xf32>
  %6 = weir.maximum %5, %low : (tensor<?x?xf32>, tensor<f32>) -> tensor<?x?xf32>
  %7 = weir.minimum %6, %high : (tensor<?x?xf32>, tensor<f32>) -> tensor<?x?xf32>
  %y = weir.cast %7 {saturate = true} : (tensor<?x?xf32>) -> tensor<?x?xui8>

  // Of bytes that become floats.
  %10 = weir.cast %t {saturate = true} : (tensor<?x?xui8>) -> tensor<?x?xf32>
  %11 = weir.mul %10, %scale : (tensor<?x?xf32>, tensor<f32>) -> tensor<?x?xf32>
  %z = weir.tanh %11 : (tensor<?x?xf32>) -> tensor<?x?xf32>

  // The same of known sizes.
  %20 = weir.cast %s {saturate = true} : (tensor<160x120xui8>) -> tensor<160x120xf32>
  %21 = weir.sub %20, %zero : (tensor<160x120xf32>, tensor<f32>) -> tensor<160x120xf32>
  %22 = weir.mul %21, %scale : (tensor<160x120xf32>, tensor<f32>) -> tensor<160x120xf32>
  %23 = weir.logistic %22 : (tensor<160x120xf32>) -> tensor<160x120xf32>
  %24 = weir.mul %23, %steps : (tensor<160x120xf32>, tensor<f32>) -> tensor<160x120xf32>
  %25 = weir.round_even %24 : (tensor<160x120xf32>) -> tensor<160x120xf32>
  %26 = weir.maximum %25, %low : (tensor<160x120xf32>, tensor<f32>) -> tensor<160x120xf32>
  %27 = weir.minimum %26, %high : (tensor<160x120xf32>, tensor<f32>) -> tensor<160x120xf32>
  %w = weir.cast %27 {saturate = true} : (tensor<160x120xf32>) -> tensor<160x120xui8>

  // A single operation on bytes takes less time than a look-up, and two bytes have no table.
  %u = weir.add %s, %s : (tensor<160x120xui8>, tensor<160x120xui8>) -> tensor<160x120xui8>
  %v = weir.maximum %s, %r : (tensor<160x120xui8>, tensor<160x120xui8>) -> tensor<160x120xui8>
  return %y, %z, %w, %u, %v : tensor<?x?xui8>, tensor<?x?xf32>, tensor<160x120xui8>, tensor<160x120xui8>, tensor<160x120xui8>
}
