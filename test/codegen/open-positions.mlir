// Positions of an image of open size follow each other: where all else is the same for each of
// them, no tile divides its row's number by the width, nor carries indices from row to row.
//
// REQUIRES: weirc
// RUN: weirc %s --cpu=x86-64-v4 --stop-after=codegen -o %t.ll && FileCheck %s < %t.ll
// CHECK-LABEL: define {{.*}}_k_dot_general_add_1_d_d_16_f32(
// CHECK: urem i64 {{.*}}, 28
// CHECK: select i1
// CHECK-COUNT-28: call <16 x float> @llvm.fmuladd
// CHECK-NOT: {{ [us]rem i64| select i1 }}
// CHECK: store <16 x float>
// CHECK-NOT: {{ [us]rem i64| select i1 }}
// CHECK: store <16 x float>

module {
  func.func @main(%x: tensor<1x?x?x32xf32> {weir.name = "x"})
      -> (tensor<1x?x?x16xf32> {weir.name = "y"}) attributes {weir.entry = "main"} {
    %w = weir.constant dense<1.5> : tensor<32x16xf32>
    %c = weir.constant dense<[[[[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0]]]]> : tensor<1x1x1x16xf32>
    %0 = weir.dot_general %x, %w {accumulator = f32, lhs_batch = array<i64>, lhs_contract = array<i64: 3>, rhs_batch = array<i64>, rhs_contract = array<i64: 0>} : (tensor<1x?x?x32xf32>, tensor<32x16xf32>) -> tensor<1x?x?x16xf32>
    %1 = weir.add %0, %c : (tensor<1x?x?x16xf32>, tensor<1x1x1x16xf32>) -> tensor<1x?x?x16xf32>
    return %1 : tensor<1x?x?x16xf32>
  }
}
