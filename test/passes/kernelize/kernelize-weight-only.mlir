// Products by what a dequantize_blocks makes of constants are kernels with it; the numbers, scales and zero points lie in
// panels of 32 columns.
// REQUIRES: weir-opt
// RUN: weir-opt --weir-kernelize %s | FileCheck %s

module attributes {weir.target = #weir.target<vector_bytes = 64, vector_registers = 32>} {
  // CHECK: weir_plan.kernel @dot_general_add_d_70_f32 schedule <weight_only,
  // CHECK-SAME: parts = array<i64: 140, 32>, tile = array<i64: 14, 2, 16>
  // CHECK: ^bb0(%{{.+}}: tensor<3x12x32x4xui8>, %[[S:[^:]+]]: tensor<3x3x32xf32>, %[[Z:[^:]+]]: tensor<3x3x32xui8>, %{{.+}}: tensor<?x96xf32>
  // CHECK-DAG: weir.unpack_panels %[[S]] {columns = 70 : i64} : (tensor<3x3x32xf32>) -> tensor<3x70xf32>
  // CHECK-DAG: weir.unpack_panels %[[Z]] {columns = 70 : i64} : (tensor<3x3x32xui8>) -> tensor<3x70xui8>
  // CHECK: weir.dequantize_blocks
  // CHECK: weir.dot_general
  // CHECK: weir.add
  func.func @open_rows(%x: tensor<?x96xf32>) -> tensor<?x70xf32> {
    %n = weir.constant #weir.blob<"w.bin", 0, 3360, "00"> : tensor<48x70xui8>
    %s = weir.constant #weir.blob<"w.bin", 4096, 840, "01"> : tensor<3x70xf32>
    %z = weir.constant #weir.blob<"w.bin", 8192, 210, "02"> : tensor<3x70xui8>
    %b = weir.constant #weir.blob<"w.bin", 12288, 280, "03"> : tensor<70xf32>
    %w = weir.dequantize_blocks %n, %s, %z {bits = 4 : i64, block = 32 : i64, rows = 96 : i64} : (tensor<48x70xui8>, tensor<3x70xf32>, tensor<3x70xui8>) -> tensor<96x70xf32>
    %0 = weir.dot_general %x, %w {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<?x96xf32>, tensor<96x70xf32>) -> tensor<?x70xf32>
    %1 = weir.add %0, %b : (tensor<?x70xf32>, tensor<70xf32>) -> tensor<?x70xf32>
    return %1 : tensor<?x70xf32>
  }

  // Two products each compute it for themselves.
  // CHECK-COUNT-2: schedule <weight_only,
  func.func @shared(%x: tensor<1x128xf32>, %y: tensor<2x128xf32>) -> (tensor<1x64xf32>, tensor<2x64xf32>) {
    %n = weir.constant #weir.blob<"v.bin", 0, 8192, "04"> : tensor<128x64xui8>
    %s = weir.constant #weir.blob<"v.bin", 8192, 1024, "05"> : tensor<4x64xf32>
    %z = weir.constant dense<1.280000e+02> : tensor<f32>
    %w = weir.dequantize_blocks %n, %s, %z {bits = 8 : i64, block = 32 : i64, rows = 128 : i64} : (tensor<128x64xui8>, tensor<4x64xf32>, tensor<f32>) -> tensor<128x64xf32>
    %0 = weir.dot_general %x, %w {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<1x128xf32>, tensor<128x64xf32>) -> tensor<1x64xf32>
    %1 = weir.dot_general %y, %w {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<2x128xf32>, tensor<128x64xf32>) -> tensor<2x64xf32>
    return %0, %1 : tensor<1x64xf32>, tensor<2x64xf32>
  }

  // Not numbers that the program computes, words that hold numbers of two blocks, or a matrix that something else reads, too.
  // CHECK-NOT: schedule <weight_only,
  func.func @others(%x: tensor<1x128xf32>, %n: tensor<64x64xui8>) -> (tensor<1x64xf32>, tensor<1x64xf32>, tensor<1x64xf32>, tensor<128x64xf32>) {
    %m = weir.constant #weir.blob<"u.bin", 0, 4096, "06"> : tensor<64x64xui8>
    %s = weir.constant #weir.blob<"u.bin", 4096, 1024, "07"> : tensor<4x64xf32>
    %t = weir.constant #weir.blob<"u.bin", 8192, 8192, "08"> : tensor<32x64xf32>
    %z = weir.constant dense<8.000000e+00> : tensor<f32>
    %w0 = weir.dequantize_blocks %n, %s, %z {bits = 4 : i64, block = 32 : i64, rows = 128 : i64} : (tensor<64x64xui8>, tensor<4x64xf32>, tensor<f32>) -> tensor<128x64xf32>
    %w1 = weir.dequantize_blocks %m, %t, %z {bits = 4 : i64, block = 4 : i64, rows = 128 : i64} : (tensor<64x64xui8>, tensor<32x64xf32>, tensor<f32>) -> tensor<128x64xf32>
    %w2 = weir.dequantize_blocks %m, %s, %z {bits = 4 : i64, block = 32 : i64, rows = 128 : i64} : (tensor<64x64xui8>, tensor<4x64xf32>, tensor<f32>) -> tensor<128x64xf32>
    %0 = weir.dot_general %x, %w0 {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<1x128xf32>, tensor<128x64xf32>) -> tensor<1x64xf32>
    %1 = weir.dot_general %x, %w1 {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<1x128xf32>, tensor<128x64xf32>) -> tensor<1x64xf32>
    %2 = weir.dot_general %x, %w2 {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<1x128xf32>, tensor<128x64xf32>) -> tensor<1x64xf32>
    return %0, %1, %2, %w2 : tensor<1x64xf32>, tensor<1x64xf32>, tensor<1x64xf32>, tensor<128x64xf32>
  }
}
