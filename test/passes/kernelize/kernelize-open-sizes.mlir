// Open sizes and other elements than f32 get the strategies of what is fixed and f32.
//
// RUN: weir-opt --weir-kernelize %s | FileCheck %s

module attributes {weir.target = #weir.target<vector_bytes = 64>} {
  // All open: tiles for no particular number of columns, blocks of the sum, and parts that
  // copy panels where that pays.
  // CHECK: weir_plan.kernel @dot_general_d_d_f32
  // CHECK-SAME: schedule <gemm,
  // CHECK-SAME: copies_panels, depth_block = 512
  // CHECK-SAME: tile = array<i64: 8, 2, 16>, where_it_pays
  func.func @all(%x: tensor<?x?xf32>, %y: tensor<?x?xf32>) -> tensor<?x?xf32> {
    %0 = weir.dot_general %x, %y {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
    return %0 : tensor<?x?xf32>
  }

  // Doubles and what is added to them, in lanes of 8 bytes.
  // CHECK: weir_plan.kernel @dot_general_add_96_48_f64
  // CHECK-SAME: schedule <gemm,
  // CHECK-SAME: tile = array<i64: 14, 2, 8>
  func.func @doubles(%x: tensor<96x40xf64>, %y: tensor<40x48xf64>, %b: tensor<48xf64>) -> tensor<96x48xf64> {
    %0 = weir.dot_general %x, %y {accumulator = f64, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<96x40xf64>, tensor<40x48xf64>) -> tensor<96x48xf64>
    %1 = weir.add %0, %b : (tensor<96x48xf64>, tensor<48xf64>) -> tensor<96x48xf64>
    return %1 : tensor<96x48xf64>
  }

  // An exponential is none of a tile of doubles: it has a kernel of its own.
  // CHECK: weir_plan.kernel @dot_general_96_48_f64
  // CHECK-SAME: schedule <gemm,
  // CHECK: weir_plan.kernel @exp_96_48_f64
  // CHECK-SAME: schedule <loops,
  func.func @behind(%x: tensor<96x40xf64>, %y: tensor<40x48xf64>) -> tensor<96x48xf64> {
    %0 = weir.dot_general %x, %y {accumulator = f64, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<96x40xf64>, tensor<40x48xf64>) -> tensor<96x48xf64>
    %1 = weir.exp %0 : (tensor<96x48xf64>) -> tensor<96x48xf64>
    return %1 : tensor<96x48xf64>
  }

  // Before and behind a sum down columns it is one of vectors.
  // CHECK: weir_plan.kernel @log_1_d_f64
  // CHECK-SAME: schedule <lanes,
  // CHECK: weir.exp
  // CHECK: weir.reduce
  // CHECK: weir.log
  func.func @around(%x: tensor<?x?xf64>) -> tensor<1x?xf64> {
    %0 = weir.exp %x : (tensor<?x?xf64>) -> tensor<?x?xf64>
    %1 = weir.reduce %0 {axes = array<i64: 0>, keep_dims = true, kind = "sum"} : (tensor<?x?xf64>) -> tensor<1x?xf64>
    %2 = weir.log %1 : (tensor<1x?xf64>) -> tensor<1x?xf64>
    return %2 : tensor<1x?xf64>
  }

  // CHECK: weir_plan.kernel @dot_general_96_48_i64
  // CHECK-SAME: schedule <gemm,
  func.func @integers(%x: tensor<96x40xi64>, %y: tensor<40x48xi64>) -> tensor<96x48xi64> {
    %0 = weir.dot_general %x, %y {accumulator = i64, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<96x40xi64>, tensor<40x48xi64>) -> tensor<96x48xi64>
    return %0 : tensor<96x48xi64>
  }

  // Sums of halves are not of halves.
  // CHECK: weir_plan.kernel @dot_general_96_48_f32
  // CHECK-SAME: schedule <loops,
  func.func @halves(%x: tensor<96x40xf16>, %y: tensor<40x48xf16>) -> tensor<96x48xf32> {
    %0 = weir.dot_general %x, %y {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<96x40xf16>, tensor<40x48xf16>) -> tensor<96x48xf32>
    return %0 : tensor<96x48xf32>
  }

  // Transpositions by blocks, whatever is moved.
  // CHECK: weir_plan.kernel @transpose_300_200_i8
  // CHECK-SAME: schedule <transposition,
  // CHECK-SAME: tile = array<i64: 16, 1, 16>
  func.func @bytes(%x: tensor<200x300xi8>) -> tensor<300x200xi8> {
    %0 = weir.transpose %x {permutation = array<i64: 1, 0>} : (tensor<200x300xi8>) -> tensor<300x200xi8>
    return %0 : tensor<300x200xi8>
  }
  // CHECK: weir_plan.kernel @transpose_300_200_f64
  // CHECK-SAME: schedule <transposition,
  // CHECK-SAME: tile = array<i64: 8, 1, 8>
  func.func @wide(%x: tensor<200x300xf64>) -> tensor<300x200xf64> {
    %0 = weir.transpose %x {permutation = array<i64: 1, 0>} : (tensor<200x300xf64>) -> tensor<300x200xf64>
    return %0 : tensor<300x200xf64>
  }

  // Pools of open lines, too, compute several positions at once.
  // CHECK: weir_plan.kernel @pool_1_d_d_32_f32
  // CHECK-SAME: schedule <lanes,
  // CHECK-SAME: positions = 6
  func.func @pool(%x: tensor<1x?x?x32xf32>) -> tensor<1x?x?x32xf32> {
    %0 = weir.pool %x {kind = "max", window = array<i64: 3, 3>, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, ceil_mode = false, count_include_pad = false, p = 2 : i64, channels_last = true} : (tensor<1x?x?x32xf32>) -> tensor<1x?x?x32xf32>
    return %0 : tensor<1x?x?x32xf32>
  }
}
