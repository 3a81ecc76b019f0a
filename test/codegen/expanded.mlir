// What is stretched to a shape is a loop over the last dimensions that it has whole, or is
// stretched along, as elementwise operations are: with what follows it, an element at a time was
// converted, and asked whether it is stretched.
//
// REQUIRES: weirc
// RUN: weirc %s --cpu=x86-64-v4 --stop-after=codegen -o %t.ll && FileCheck %s < %t.ll
// CHECK: define {{.*}}_k_cast_d_d_d_f32(
// CHECK: load <16 x half>
// CHECK: store <16 x float>
// CHECK: {{^[}]$}}
// CHECK: define {{.*}}_k_broadcast_to_6_128_63_f16(
// CHECK: store <{{[0-9]+}} x half>
// CHECK: {{^[}]$}}

module {
  func.func @main(%x: tensor<?x?x?xf16> {weir.name = "x"}, %shape: tensor<3xi64> {weir.name = "shape"},
                  %z: tensor<?x?x?xf16> {weir.name = "z"})
      -> (tensor<?x?x?xf32> {weir.name = "y"}, tensor<6x128x63xf16> {weir.name = "w"})
      attributes {weir.entry = "main"} {
    %0 = weir.broadcast_to %x, %shape : (tensor<?x?x?xf16>, tensor<3xi64>) -> tensor<?x?x?xf16>
    %1 = weir.cast %0 {saturate = false} : (tensor<?x?x?xf16>) -> tensor<?x?x?xf32>
    %sizes = weir.constant dense<[6, 128, 63]> : tensor<3xi64>
    %2 = weir.broadcast_to %z, %sizes : (tensor<?x?x?xf16>, tensor<3xi64>) -> tensor<6x128x63xf16>
    return %1, %2 : tensor<?x?x?xf32>, tensor<6x128x63xf16>
  }
}
