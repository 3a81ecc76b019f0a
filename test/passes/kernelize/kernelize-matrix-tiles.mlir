// Products of bf16 on matrix tiles: which sums are cut, and which windows lie on the stack.
// REQUIRES: weir-opt
// RUN: weir-opt %s --weir-kernelize | FileCheck %s

module attributes {weir.target = #weir.target<vector_bytes = 64, bf16_products = blocks>} {
  // An open number of rows, too: the kernel looks at it.
  // CHECK: weir_plan.kernel @{{.*}}d_512_f32 schedule <gemm_amx_bf16,
  // CHECK-SAME: depth_block = 512 : i64
  func.func @cut(%x: tensor<?x1024xbf16>) -> tensor<?x512xf32> {
    %w = weir.constant #weir.arranged<#weir.blob<"w.bin", 0, 2097152, "00"> : tensor<1024x512xf32>, [512, 1], []> : tensor<1024x512xbf16>
    %0 = weir.dot_general %x, %w {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, weir.matrix} : (tensor<?x1024xbf16>, tensor<1024x512xbf16>) -> tensor<?x512xf32>
    return %0 : tensor<?x512xf32>
  }

  // Not where 32 rows are more than a part's share of the stack, nor where steps or panels are not full.
  // CHECK: weir_plan.kernel @{{.*}}d_544_f32 schedule <gemm_amx_bf16,
  // CHECK-NOT: depth_block
  // CHECK: weir_plan.kernel @{{.*}}d_528_f32 schedule <gemm_amx_bf16,
  // CHECK-NOT: depth_block
  // CHECK: weir_plan.return
  func.func @whole(%x: tensor<?x32768xbf16>, %y: tensor<?x1024xbf16>) -> (tensor<?x544xf32>, tensor<?x528xf32>) {
    %w = weir.constant #weir.arranged<#weir.blob<"w.bin", 0, 71303168, "00"> : tensor<32768x544xf32>, [544, 1], []> : tensor<32768x544xbf16>
    %v = weir.constant #weir.arranged<#weir.blob<"v.bin", 0, 2162688, "00"> : tensor<1024x528xf32>, [528, 1], []> : tensor<1024x528xbf16>
    %0 = weir.dot_general %x, %w {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, weir.matrix} : (tensor<?x32768xbf16>, tensor<32768x544xbf16>) -> tensor<?x544xf32>
    %1 = weir.dot_general %y, %v {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, weir.matrix} : (tensor<?x1024xbf16>, tensor<1024x528xbf16>) -> tensor<?x528xf32>
    return %0, %1 : tensor<?x544xf32>, tensor<?x528xf32>
  }

  // Windows that move by two over lines of seven results, of an open batch, too; not over lines of 28.
  // CHECK: weir_plan.kernel @{{.*}}d_7_7_512_f32 schedule <gemm_amx_bf16,
  // CHECK-SAME: packs_rows, parts = array<i64: 1, 7, 7, 32>
  // CHECK: weir_plan.kernel @{{.*}}1_28_28_64_f32 schedule <gemm_amx_bf16,
  // CHECK-NOT: packs_rows
  // CHECK: weir_plan.return
  func.func @windows(%x: tensor<?x15x15x512xbf16>, %y: tensor<1x57x57x64xbf16>) -> (tensor<?x7x7x512xf32>, tensor<1x28x28x64xf32>) {
    %w = weir.constant #weir.arranged<#weir.blob<"w.bin", 0, 9437184, "00"> : tensor<3x3x512x512xf32>, [786432, 262144, 512, 1], []> : tensor<3x3x512x512xbf16>
    %v = weir.constant #weir.arranged<#weir.blob<"v.bin", 0, 147456, "00"> : tensor<3x3x64x64xf32>, [12288, 4096, 64, 1], []> : tensor<3x3x64x64xbf16>
    %0 = weir.conv %x, %w {strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, channels_last = true, accumulator = f32, weir.matrix} : (tensor<?x15x15x512xbf16>, tensor<3x3x512x512xbf16>) -> tensor<?x7x7x512xf32>
    %1 = weir.conv %y, %v {strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, channels_last = true, accumulator = f32, weir.matrix} : (tensor<1x57x57x64xbf16>, tensor<3x3x64x64xbf16>) -> tensor<1x28x28x64xf32>
    return %0, %1 : tensor<?x7x7x512xf32>, tensor<1x28x28x64xf32>
  }
}
