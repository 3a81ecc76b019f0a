// Pools of bytes whose channels lie last stay in that order, and take neighbouring channels in
// vectors, also of open sizes: what lies in a window is known where it moves by one, rounded up or
// not.
//
// REQUIRES: weirc
// RUN: weirc %s --cpu=x86-64-v4 --stop-after=codegen -o %t.ll && FileCheck %s < %t.ll
// CHECK-NOT: k_transpose
// CHECK: define {{.*}}_k_pool_d_d_d_ui8(
// CHECK: @llvm.umax.v{{[0-9]+}}i8
// CHECK: {{^[}]$}}
// CHECK: define {{.*}}_k_pool_2_7_8_32_i8(
// CHECK: @llvm.smax.v{{[0-9]+}}i8
// CHECK: {{^[}]$}}
// With borders, which loops over elements would ask for at each of them.
// CHECK: define {{.*}}_k_pool_2_5_5_48_ui8(
// CHECK: @llvm.umax.v16i8
// CHECK: {{^[}]$}}

module {
  func.func @main(%x: tensor<?x?x?xui8> {weir.name = "x"}, %y: tensor<2x8x9x32xi8> {weir.name = "y"},
                  %z: tensor<2x9x9x48xui8> {weir.name = "z"})
      -> (tensor<?x?x?xui8> {weir.name = "a"}, tensor<2x7x8x32xi8> {weir.name = "b"},
          tensor<2x5x5x48xui8> {weir.name = "c"}) attributes {weir.entry = "main"} {
    %0 = weir.transpose %x {permutation = array<i64: 0, 2, 1>} : (tensor<?x?x?xui8>) -> tensor<?x?x?xui8>
    %1 = weir.pool %0 {kind = "max", window = array<i64: 3>, strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, ceil_mode = true, count_include_pad = false, p = 1 : i64, channels_last = false} : (tensor<?x?x?xui8>) -> tensor<?x?x?xui8>
    %2 = weir.transpose %1 {permutation = array<i64: 0, 2, 1>} : (tensor<?x?x?xui8>) -> tensor<?x?x?xui8>
    %3 = weir.transpose %y {permutation = array<i64: 0, 3, 1, 2>} : (tensor<2x8x9x32xi8>) -> tensor<2x32x8x9xi8>
    %4 = weir.pool %3 {kind = "max", window = array<i64: 2, 2>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, ceil_mode = false, count_include_pad = false, p = 1 : i64, channels_last = false} : (tensor<2x32x8x9xi8>) -> tensor<2x32x7x8xi8>
    %5 = weir.transpose %4 {permutation = array<i64: 0, 2, 3, 1>} : (tensor<2x32x7x8xi8>) -> tensor<2x7x8x32xi8>
    %6 = weir.pool %z {kind = "max", window = array<i64: 3, 3>, strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, ceil_mode = false, count_include_pad = false, p = 1 : i64, channels_last = true} : (tensor<2x9x9x48xui8>) -> tensor<2x5x5x48xui8>
    return %2, %5, %6 : tensor<?x?x?xui8>, tensor<2x7x8x32xi8>, tensor<2x5x5x48xui8>
  }
}
