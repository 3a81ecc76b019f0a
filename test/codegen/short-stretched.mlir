// Elementwise operations with a last dimension that is shorter than a vector are one loop over all
// last dimensions that operands have whole, or are stretched along. Six elements at a time were read
// and converted one by one.
//
// REQUIRES: weirc
// RUN: weirc %s --cpu=x86-64-v4 --stop-after=codegen -o %t.ll && FileCheck %s < %t.ll
// CHECK: define {{.*}}_k_cast_32_64_6_f16(
// CHECK: load <16 x half>
// CHECK: fmul {{.*}}<16 x float>
// CHECK: {{^[}]$}}

module {
  func.func @main(%x: tensor<32x64x6xf16> {weir.name = "x"}, %m: tensor<1x64x6xf16> {weir.name = "m"})
      -> (tensor<32x64x6xf16> {weir.name = "y"}) attributes {weir.entry = "main"} {
    %0 = weir.mul %x, %m : (tensor<32x64x6xf16>, tensor<1x64x6xf16>) -> tensor<32x64x6xf16>
    return %0 : tensor<32x64x6xf16>
  }
}
