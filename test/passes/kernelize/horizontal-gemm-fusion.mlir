// Products of one operand with several constant weights become one, on devices that gain by it.
// REQUIRES: weir-opt
// RUN: weir-opt --weir-horizontal-gemm-fusion --mlir-elide-elementsattrs-if-larger=8 %s | FileCheck %s

module attributes {weir_plan.devices = ["/job:localhost/replica:0/task:0/device:CPU:0", "/job:localhost/replica:0/task:0/device:GPU:0"]} {
  // Both sides of a gated unit: the gate reads the halves in place.
  // CHECK-LABEL: @gated
  // CHECK: %[[BOTH:.+]] = weir.dot_general %arg0, %{{.+}} -> tensor<64x96xf32>
  // CHECK-NOT: weir.dot_general
  // CHECK-COUNT-2: weir.slice %[[BOTH]]
  // CHECK: return
  func.func @gated(%x: tensor<64x32xf32>) -> tensor<64x48xf32> attributes {weir.device_index = 1 : i64} {
    %w = weir.constant dense<1.0> : tensor<32x48xf32>
    %v = weir.constant dense<2.0> : tensor<32x48xf32>
    %0 = weir.dot_general %x, %w {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<64x32xf32>, tensor<32x48xf32>) -> tensor<64x48xf32>
    %1 = weir.dot_general %x, %v {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<64x32xf32>, tensor<32x48xf32>) -> tensor<64x48xf32>
    %2 = weir.logistic %0 : (tensor<64x48xf32>) -> tensor<64x48xf32>
    %3 = weir.mul %1, %2 : (tensor<64x48xf32>, tensor<64x48xf32>) -> tensor<64x48xf32>
    return %3 : tensor<64x48xf32>
  }

  // Nothing brings them together: each result would be copied out.
  // CHECK-LABEL: @apart
  // CHECK-COUNT-2: weir.dot_general {{.*}} -> tensor<64x48xf32>
  func.func @apart(%x: tensor<64x32xf32>) -> (tensor<64x48xf32>, tensor<64x48xf32>) attributes {weir.device_index = 1 : i64} {
    %w = weir.constant dense<1.0> : tensor<32x48xf32>
    %v = weir.constant dense<2.0> : tensor<32x48xf32>
    %0 = weir.dot_general %x, %w {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<64x32xf32>, tensor<32x48xf32>) -> tensor<64x48xf32>
    %1 = weir.dot_general %x, %v {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<64x32xf32>, tensor<32x48xf32>) -> tensor<64x48xf32>
    return %0, %1 : tensor<64x48xf32>, tensor<64x48xf32>
  }

  // The host's tiles gain nothing by it.
  // CHECK-LABEL: @host
  // CHECK-COUNT-2: weir.dot_general {{.*}} -> tensor<64x48xf32>
  func.func @host(%x: tensor<64x32xf32>) -> tensor<64x48xf32> attributes {weir.device_index = 0 : i64} {
    %w = weir.constant dense<1.0> : tensor<32x48xf32>
    %v = weir.constant dense<2.0> : tensor<32x48xf32>
    %0 = weir.dot_general %x, %w {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<64x32xf32>, tensor<32x48xf32>) -> tensor<64x48xf32>
    %1 = weir.dot_general %x, %v {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<64x32xf32>, tensor<32x48xf32>) -> tensor<64x48xf32>
    %2 = weir.logistic %0 : (tensor<64x48xf32>) -> tensor<64x48xf32>
    %3 = weir.mul %1, %2 : (tensor<64x48xf32>, tensor<64x48xf32>) -> tensor<64x48xf32>
    return %3 : tensor<64x48xf32>
  }
}
