// What is written over has the result's sizes: of open ones, too, LLVM sees one address, and does
// not go element by element because operand and result share their bytes.
//
// REQUIRES: weirc
// RUN: weirc %s --cpu=x86-64-v4 --stop-after=plan-memory -o %t.mlir && FileCheck %s --check-prefix=PLAN < %t.mlir
// PLAN: kernel @mul_1_d_d_32_f32 {{.*}} attributes {in_place = array<i64: 0>}
// RUN: weirc %s --cpu=x86-64-v4 --stop-after=codegen -o %t.ll && FileCheck %s < %t.ll
// CHECK-LABEL: define {{.*}}_k_mul_1_d_d_32_f32(
// CHECK-NOT: fmul float
// CHECK: fmul <16 x float>
// CHECK-NOT: fmul float
// CHECK: {{^[}]$}}

module {
  func.func @main(%x: tensor<1x?x?x32xf32> {weir.name = "x"})
      -> (tensor<1x?x?x32xf32> {weir.name = "y"}) attributes {weir.entry = "main"} {
    %0 = weir.pool %x {kind = "max", window = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, ceil_mode = false, count_include_pad = false, p = 2 : i64, channels_last = true} : (tensor<1x?x?x32xf32>) -> tensor<1x?x?x32xf32>
    %1 = weir.reduce %0 {axes = array<i64: 1, 2>, keep_dims = true, kind = "mean"} : (tensor<1x?x?x32xf32>) -> tensor<1x1x1x32xf32>
    %2 = weir.mul %0, %1 : (tensor<1x?x?x32xf32>, tensor<1x1x1x32xf32>) -> tensor<1x?x?x32xf32>
    %3 = weir.pool %2 {kind = "max", window = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, ceil_mode = false, count_include_pad = false, p = 2 : i64, channels_last = true} : (tensor<1x?x?x32xf32>) -> tensor<1x?x?x32xf32>
    return %3 : tensor<1x?x?x32xf32>
  }
}
