// Blocks of rows have the same number of tiles, give or take one, so that threads, which get as many
// blocks each, get as many rows: 197 rows are not 144 and 53, but 12 tiles of 8 and 13.
//
// REQUIRES: weirc
// RUN: weirc %s --cpu=x86-64-v4 --stop-after=codegen -o %t.ll && FileCheck %s < %t.ll
// CHECK-LABEL: define {{.*}}_k_dot_general_197_96_f32(
// CHECK: %[[BLOCK:.*]] = lshr i64 %{{.*}}, 1
// CHECK: %[[ROWS:.*]] = mul i64 %[[BLOCK]], 100
// CHECK: and i64 %[[ROWS]], -8
// CHECK: %[[BEHIND:.*]] = add i64 %[[ROWS]], 100
// CHECK: and i64 %[[BEHIND]], -8

module {
  func.func @main(%x: tensor<197x64xf32> {weir.name = "x"})
      -> (tensor<197x96xf32> {weir.name = "y"}) attributes {weir.entry = "main"} {
    %w = weir.constant dense<1.5> : tensor<64x96xf32>
    %0 = weir.dot_general %x, %w {accumulator = f32, lhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_batch = array<i64>, rhs_contract = array<i64: 0>} : (tensor<197x64xf32>, tensor<64x96xf32>) -> tensor<197x96xf32>
    return %0 : tensor<197x96xf32>
  }
}
