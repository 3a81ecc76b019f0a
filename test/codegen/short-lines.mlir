// Elementwise operations along lines of one vector or few read each line by vectors: with the line
// written out they were vectors across lines, whose elements lie apart.
//
// REQUIRES: weirc
// RUN: weirc %s --cpu=x86-64-v4 --stop-after=codegen -o %t.ll && FileCheck %s < %t.ll
// CHECK: define {{.*}}_k_mul_512_32_16_f32(
// CHECK-NOT: {{load float|gather|shufflevector}}
// CHECK: fmul {{.*}}<{{8|16}} x float>
// CHECK-NOT: {{load float|gather|shufflevector}}
// CHECK: {{^[}]$}}

module {
  func.func @main(%x: tensor<512x32x16xf32> {weir.name = "x"}, %m: tensor<16xf32> {weir.name = "m"}, %s: tensor<16xf32> {weir.name = "s"})
      -> (tensor<512x32x16xf32> {weir.name = "y"}) attributes {weir.entry = "main"} {
    %0 = weir.sub %x, %m : (tensor<512x32x16xf32>, tensor<16xf32>) -> tensor<512x32x16xf32>
    %1 = weir.mul %0, %s : (tensor<512x32x16xf32>, tensor<16xf32>) -> tensor<512x32x16xf32>
    return %1 : tensor<512x32x16xf32>
  }
}
