// Windows at the ends of an open line are computed together, too: each element of the input is
// asked for once, for all that have it, and the filter is read once (6 results by 3 elements of a
// line, in blocks that lie inside and in those at the ends). Each window of every width has the
// bits of one in a line whose length is known (open-sizes.test).
//
// REQUIRES: weirc
// RUN: weirc %s --cpu=x86-64-v4 --stop-after=codegen -o %t.ll && FileCheck %s < %t.ll
// CHECK-LABEL: define {{.*}}_k_conv_1_d_d_16_f32(
// CHECK-COUNT-36: call <16 x float> @llvm.fmuladd
// CHECK-NOT: call <16 x float> @llvm.fmuladd
// CHECK: {{^[}]$}}

module {
  func.func @main(%x: tensor<1x?x?x16xf32> {weir.name = "x"}, %w: tensor<3x3x1x16xf32> {weir.name = "w"})
      -> (tensor<1x?x?x16xf32> {weir.name = "y"}) attributes {weir.entry = "main"} {
    %0 = weir.conv %x, %w {accumulator = f32, channels_last = true, dilations = array<i64: 1, 1>, groups = 16 : i64, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>} : (tensor<1x?x?x16xf32>, tensor<3x3x1x16xf32>) -> tensor<1x?x?x16xf32>
    return %0 : tensor<1x?x?x16xf32>
  }
}
