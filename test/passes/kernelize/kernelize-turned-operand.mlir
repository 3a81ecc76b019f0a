// A right operand that lies along the depth is turned by the parts that copy panels of it,
// not by a kernel before, unless many parts of rows would, or others read it turned.
// RUN: weir-opt --weir-kernelize %s | FileCheck %s

module attributes {weir.target = #weir.target<vector_bytes = 64>} {
  // CHECK-LABEL: func.func @few
  // CHECK-NEXT: %[[R:.*]] = weir_plan.launch @dot_general_16_96_f32(%arg0, %arg1) : (tensor<16x64xf32>, tensor<96x64xf32>)
  // CHECK-NEXT: return %[[R]]
  func.func @few(%x: tensor<16x64xf32>, %w: tensor<96x64xf32>) -> tensor<16x96xf32> {
    %t = weir.transpose %w {permutation = array<i64: 1, 0>} : (tensor<96x64xf32>) -> tensor<64x96xf32>
    %0 = weir.dot_general %x, %t {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<16x64xf32>, tensor<64x96xf32>) -> tensor<16x96xf32>
    return %0 : tensor<16x96xf32>
  }

  // CHECK-LABEL: func.func @open
  // CHECK-NEXT: weir_plan.launch @dot_general_d_96_f32(%arg0, %arg1) : (tensor<?x64xf32>, tensor<96x64xf32>)
  func.func @open(%x: tensor<?x64xf32>, %w: tensor<96x64xf32>) -> tensor<?x96xf32> {
    %t = weir.transpose %w {permutation = array<i64: 1, 0>} : (tensor<96x64xf32>) -> tensor<64x96xf32>
    %0 = weir.dot_general %x, %t {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<?x64xf32>, tensor<64x96xf32>) -> tensor<?x96xf32>
    return %0 : tensor<?x96xf32>
  }

  // CHECK-LABEL: func.func @many
  // CHECK-NEXT: %[[T:.*]] = weir_plan.launch @transpose_64_96_f32(%arg1)
  func.func @many(%x: tensor<9000x64xf32>, %w: tensor<96x64xf32>) -> tensor<9000x96xf32> {
    %t = weir.transpose %w {permutation = array<i64: 1, 0>} : (tensor<96x64xf32>) -> tensor<64x96xf32>
    %0 = weir.dot_general %x, %t {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<9000x64xf32>, tensor<64x96xf32>) -> tensor<9000x96xf32>
    return %0 : tensor<9000x96xf32>
  }

  // Panels are made of the operand as it lies, at once.
  // CHECK-LABEL: func.func @panels
  // CHECK: %[[S:.*]] = weir.reshape %arg1, {{.*}} -> tensor<8x32x2000xf32>
  // CHECK-NEXT: %[[T:.*]] = weir_plan.launch @transpose_8_2000_32_f32(%[[S]])
  // CHECK-NEXT: weir_plan.launch @dot_general_1024_256_f32(%arg0, %[[T]])
  // CHECK-NEXT: return
  func.func @panels(%x: tensor<1024x2000xf32>, %w: tensor<256x2000xf32>) -> tensor<1024x256xf32> {
    %t = weir.transpose %w {permutation = array<i64: 1, 0>} : (tensor<256x2000xf32>) -> tensor<2000x256xf32>
    %0 = weir.dot_general %x, %t {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<1024x2000xf32>, tensor<2000x256xf32>) -> tensor<1024x256xf32>
    return %0 : tensor<1024x256xf32>
  }

  // CHECK-LABEL: func.func @shared
  // CHECK-NEXT: %[[T:.*]] = weir_plan.launch @transpose_64_96_f32(%arg1)
  func.func @shared(%x: tensor<16x64xf32>, %w: tensor<96x64xf32>) -> (tensor<16x96xf32>, tensor<64x96xf32>) {
    %t = weir.transpose %w {permutation = array<i64: 1, 0>} : (tensor<96x64xf32>) -> tensor<64x96xf32>
    %0 = weir.dot_general %x, %t {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<16x64xf32>, tensor<64x96xf32>) -> tensor<16x96xf32>
    return %0, %t : tensor<16x96xf32>, tensor<64x96xf32>
  }

  // So is a left operand, as that of a weight's gradient, by the product itself; for two of them, too.
  // CHECK-LABEL: func.func @left
  // CHECK-NOT: @transpose
  // CHECK: weir_plan.launch @dot_general_40_96_f32(%arg0, %arg1) : (tensor<24x40xf32>, tensor<24x96xf32>)
  // CHECK: weir_plan.launch @dot_general_40_64_f32(%arg0, %arg2) : (tensor<24x40xf32>, tensor<24x64xf32>)
  // CHECK-NOT: @transpose
  // CHECK: return
  func.func @left(%x: tensor<24x40xf32>, %g: tensor<24x96xf32>, %h: tensor<24x64xf32>) -> (tensor<40x96xf32>, tensor<40x64xf32>) {
    %t = weir.transpose %x {permutation = array<i64: 1, 0>} : (tensor<24x40xf32>) -> tensor<40x24xf32>
    %0 = weir.dot_general %t, %g {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<40x24xf32>, tensor<24x96xf32>) -> tensor<40x96xf32>
    %1 = weir.dot_general %t, %h {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<40x24xf32>, tensor<24x64xf32>) -> tensor<40x64xf32>
    return %0, %1 : tensor<40x96xf32>, tensor<40x64xf32>
  }

  // What is turned for others, too, is read as it is then.
  // CHECK-LABEL: func.func @shared_left
  // CHECK: %[[T:.*]] = weir_plan.launch @transpose_40_24_f32(%arg0)
  // CHECK: weir_plan.launch @dot_general_40_96_f32{{.*}}(%[[T]], %arg1)
  func.func @shared_left(%x: tensor<24x40xf32>, %g: tensor<24x96xf32>) -> (tensor<40x96xf32>, tensor<40x24xf32>) {
    %t = weir.transpose %x {permutation = array<i64: 1, 0>} : (tensor<24x40xf32>) -> tensor<40x24xf32>
    %0 = weir.dot_general %t, %g {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<40x24xf32>, tensor<24x96xf32>) -> tensor<40x96xf32>
    return %0, %t : tensor<40x96xf32>, tensor<40x24xf32>
  }
}

// CHECK: weir_plan.kernel @dot_general_16_96_f32 schedule <gemm, {copies_panels,
// CHECK: weir.transpose %arg1
