// What a launch of open sizes computes is known as a sum of products of sizes, by which the
// step cuts its range: sizes are numbered in the order of buffers and dimensions.
//
// RUN: weirc %s --stop-after=schedule -o - | FileCheck %s

module {
  // 2 * 64 * 96 for each row.
  // CHECK: weir_plan.run @dot_general_d_d_96_f32
  // CHECK-SAME: work = [array<i64: 12288, 0, 1>]
  func.func @product(%x: tensor<?x?x64xf32> {weir.name = "x"}, %w: tensor<64x96xf32> {weir.name = "w"}) -> (tensor<?x?x96xf32> {weir.name = "y"}) attributes {weir.entry = "product"} {
    %0 = weir.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 2>, rhs_contract = array<i64: 0>, accumulator = f32} : (tensor<?x?x64xf32>, tensor<64x96xf32>) -> tensor<?x?x96xf32>
    return %0 : tensor<?x?x96xf32>
  }
  // What is only moved counts by elements.
  // CHECK: weir_plan.run @transpose_64_d_f32
  // CHECK-SAME: work = [array<i64: 64, 0>]
  func.func @moved(%x: tensor<?x64xf32> {weir.name = "x"}) -> (tensor<64x?xf32> {weir.name = "y"}) attributes {weir.entry = "moved"} {
    %0 = weir.transpose %x {permutation = array<i64: 1, 0>} : (tensor<?x64xf32>) -> tensor<64x?xf32>
    return %0 : tensor<64x?xf32>
  }
  // Of fixed sizes the grain is there.
  // CHECK: weir_plan.run @transpose_64_32_f32
  // CHECK-NOT: work
  // CHECK: return
  func.func @fixed(%x: tensor<32x64xf32> {weir.name = "x"}) -> (tensor<64x32xf32> {weir.name = "y"}) attributes {weir.entry = "fixed"} {
    %0 = weir.transpose %x {permutation = array<i64: 1, 0>} : (tensor<32x64xf32>) -> tensor<64x32xf32>
    return %0 : tensor<64x32xf32>
  }
}
