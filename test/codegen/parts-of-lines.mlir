// Lines of a part are copied as vectors: written out, each of their elements was copied by itself
// where the part does not begin with its operand.
//
// REQUIRES: weirc
// RUN: weirc %s --cpu=x86-64-v4 --stop-after=codegen -o %t.ll && FileCheck %s < %t.ll
// CHECK: define {{.*}}_k_slice_3_128_65_f16(
// CHECK: store <{{[0-9]+}} x half>
// CHECK: {{^[}]$}}

module {
  func.func @main(%x: tensor<5x128x67xf16> {weir.name = "x"}) -> (tensor<3x128x65xf16> {weir.name = "y"}) attributes {weir.entry = "main"} {
    %first = weir.constant dense<1> : tensor<2xi64>
    %end = weir.constant dense<[4, 66]> : tensor<2xi64>
    %step = weir.constant dense<1> : tensor<2xi64>
    %0 = weir.slice %x, %first, %end, %step {axes = array<i64: 0, 2>, strict = false} : (tensor<5x128x67xf16>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<3x128x65xf16>
    return %0 : tensor<3x128x65xf16>
  }
}
