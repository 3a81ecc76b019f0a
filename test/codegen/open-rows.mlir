// Of an open number of rows a block may have few tiles: these fetch all of the next panel, as many
// do of a long one; and half a tile is one, not three small ones.
//
// REQUIRES: weirc
// RUN: weirc %s --cpu=x86-64-v4 --stop-after=codegen -o %t.ll && FileCheck %s < %t.ll
// CHECK-LABEL: define {{.*}}_k_dot_general_d_1152_f32(
// CHECK: lshr exact i64 {{%[0-9]+, %}}
// CHECK: call void @llvm.prefetch
// CHECK-COUNT-72: call <16 x float> @llvm.fmuladd
// CHECK: {{^[}]$}}

module {
  func.func @main(%x: tensor<?x192xf32> {weir.name = "x"})
      -> (tensor<?x1152xf32> {weir.name = "y"}) attributes {weir.entry = "main"} {
    %w = weir.constant dense<1.5> : tensor<192x1152xf32>
    %0 = weir.dot_general %x, %w {accumulator = f32, lhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_batch = array<i64>, rhs_contract = array<i64: 0>} : (tensor<?x192xf32>, tensor<192x1152xf32>) -> tensor<?x1152xf32>
    return %0 : tensor<?x1152xf32>
  }
}
