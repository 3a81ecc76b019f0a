// A processor that passes its vectors by halves computes few columns in halves, where a whole
// vector would be empty for one of them; many columns it computes in whole ones.
//
// RUN: weir-opt --weir-kernelize %s | FileCheck %s
// RUN: sed 's/, passes_halves//' %s | weir-opt --weir-kernelize | FileCheck %s --check-prefix=WHOLE

module attributes {weir.target = #weir.target<vector_bytes = 64, vector_registers = 32, passes_halves>} {
  // CHECK: weir_plan.kernel @dot_general_3136_24_f32
  // CHECK-SAME: tile = array<i64: 8, 3, 8>
  // WHOLE: weir_plan.kernel @dot_general_3136_24_f32
  // WHOLE-SAME: tile = array<i64: 14, 2, 16>
  func.func @few(%x: tensor<3136x96xf32>, %w: tensor<96x24xf32>) -> tensor<3136x24xf32> {
    %0 = weir.dot_general %x, %w {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<3136x96xf32>, tensor<96x24xf32>) -> tensor<3136x24xf32>
    return %0 : tensor<3136x24xf32>
  }

  // Both halves of the last vector have columns.
  // CHECK: weir_plan.kernel @dot_general_3136_28_f32
  // CHECK-SAME: tile = array<i64: {{[0-9]+}}, 2, 16>
  func.func @both(%x: tensor<3136x96xf32>, %w: tensor<96x28xf32>) -> tensor<3136x28xf32> {
    %0 = weir.dot_general %x, %w {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<3136x96xf32>, tensor<96x28xf32>) -> tensor<3136x28xf32>
    return %0 : tensor<3136x28xf32>
  }

  // CHECK: weir_plan.kernel @dot_general_3136_104_f32
  // CHECK-SAME: tile = array<i64: {{[0-9]+, [0-9]+}}, 16>
  func.func @many(%x: tensor<3136x96xf32>, %w: tensor<96x104xf32>) -> tensor<3136x104xf32> {
    %0 = weir.dot_general %x, %w {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<3136x96xf32>, tensor<96x104xf32>) -> tensor<3136x104xf32>
    return %0 : tensor<3136x104xf32>
  }

  // Vectors of doubles have half as many lanes anyway.
  // CHECK: weir_plan.kernel @dot_general_3136_24_f64
  // CHECK-SAME: tile = array<i64: {{[0-9]+}}, 3, 8>
  func.func @wide(%x: tensor<3136x96xf64>, %w: tensor<96x24xf64>) -> tensor<3136x24xf64> {
    %0 = weir.dot_general %x, %w {accumulator = f64, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<3136x96xf64>, tensor<96x24xf64>) -> tensor<3136x24xf64>
    return %0 : tensor<3136x24xf64>
  }

  // CHECK: weir_plan.kernel @conv_1_56_56_40_f32
  // CHECK-SAME: tile = array<i64: {{[0-9]+, [0-9]+}}, 8>
  // WHOLE: weir_plan.kernel @conv_1_56_56_40_f32
  // WHOLE-SAME: tile = array<i64: {{[0-9]+, [0-9]+}}, 16>
  func.func @image(%x: tensor<1x60x60x40xf32>, %w: tensor<5x5x40x40xf32>) -> tensor<1x56x56x40xf32> {
    %0 = weir.conv %x, %w {accumulator = f32, channels_last = true, dilations = array<i64: 1, 1>, strides = array<i64: 1, 1>, groups = 1 : i64, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x60x60x40xf32>, tensor<5x5x40x40xf32>) -> tensor<1x56x56x40xf32>
    return %0 : tensor<1x56x56x40xf32>
  }
}
