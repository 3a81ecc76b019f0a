// An open number of rows may turn out to be one, two or three: then eight vectors of columns, or as
// many as sums have registers for, go side by side out of several panels, and nothing is fetched.
//
// REQUIRES: weirc
// RUN: weirc %s --cpu=x86-64-v4 --stop-after=codegen -o %t.ll && FileCheck %s < %t.ll
// CHECK-LABEL: define {{.*}}_k_dot_general_d_1152_f32(
// CHECK: switch i64 %{{.*}}, label %[[MORE:.*]] [
// CHECK-NEXT: i64 1, label %[[ONE:.*]]
// CHECK-NEXT: i64 2, label %[[TWO:.*]]
// CHECK-NEXT: i64 3, label %[[THREE:.*]]
// CHECK: {{^}}[[ONE]]:
// CHECK-COUNT-8: call <16 x float> @llvm.fmuladd
// CHECK: br i1
// CHECK: {{^}}[[TWO]]:
// CHECK-COUNT-16: call <16 x float> @llvm.fmuladd
// CHECK: br i1
// CHECK: {{^}}[[THREE]]:
// CHECK-NOT: prefetch
// CHECK-COUNT-18: call <16 x float> @llvm.fmuladd
// CHECK: br i1
// CHECK: {{^}}[[MORE]]:
// CHECK: call void @llvm.prefetch

module {
  func.func @main(%x: tensor<?x192xf32> {weir.name = "x"})
      -> (tensor<?x1152xf32> {weir.name = "y"}) attributes {weir.entry = "main"} {
    %w = weir.constant dense<1.5> : tensor<192x1152xf32>
    %0 = weir.dot_general %x, %w {accumulator = f32, lhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_batch = array<i64>, rhs_contract = array<i64: 0>} : (tensor<?x192xf32>, tensor<192x1152xf32>) -> tensor<?x1152xf32>
    return %0 : tensor<?x1152xf32>
  }
}
