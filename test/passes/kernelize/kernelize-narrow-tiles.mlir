// How the ranges of products are cut where vectors are those of AVX2.
//
// RUN: weir-opt --weir-kernelize %s | FileCheck %s

// Second-level caches are smaller, and so are blocks of rows: longer sums and more
// rows pay.
module attributes {weir.target = #weir.target<vector_bytes = 32>} {
  // CHECK: weir_plan.kernel @dot_general_192_512_f32
  // CHECK-SAME: packs_rows
  // CHECK-SAME: parts = array<i64: 132, 16>, tile = array<i64: 6, 2, 8>
  func.func @narrow(%x: tensor<192x1024xf32>, %w: tensor<1024x512xf32>) -> tensor<192x512xf32> {
    %0 = weir.dot_general %x, %w {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<192x1024xf32>, tensor<1024x512xf32>) -> tensor<192x512xf32>
    return %0 : tensor<192x512xf32>
  }

  // CHECK: weir_plan.kernel @dot_general_384_512_f32
  // CHECK-NOT: packs_rows
  // CHECK: weir.dot_general
  func.func @short(%x: tensor<384x768xf32>, %w: tensor<768x512xf32>) -> tensor<384x512xf32> {
    %0 = weir.dot_general %x, %w {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<384x768xf32>, tensor<768x512xf32>) -> tensor<384x512xf32>
    return %0 : tensor<384x512xf32>
  }
}
