// RUN: weir-opt %s --weir-gemm-operand-layout | FileCheck %s

module attributes {weir_plan.devices = ["/job:localhost/replica:0/task:0/device:CPU:0", "/job:localhost/replica:0/task:0/device:GPU:0"]} {
  // A constant matrix that one row is multiplied by lies along the depth.
  // CHECK-LABEL: @aligned
  // CHECK: weir.constant #weir.arranged{{.*}} : tensor<6x4xf32>
  // CHECK: weir.dot_general {{.*}}rhs_contract = array<i64: 1>{{.*}} : (tensor<1x4xf32>, tensor<6x4xf32>) -> tensor<1x6xf32>
  func.func @aligned(%x: tensor<1x4xf32>) -> tensor<1x6xf32> attributes {weir.device = "/job:localhost/replica:0/task:0/device:GPU:0", weir.device_index = 1 : i64} {
    %w = weir.constant dense<[[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [2.0, 2.0, 3.0, 4.0, 5.0, 6.0], [3.0, 2.0, 3.0, 4.0, 5.0, 6.0], [4.0, 2.0, 3.0, 4.0, 5.0, 6.0]]> : tensor<4x6xf32>
    %0 = weir.dot_general %x, %w {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<1x4xf32>, tensor<4x6xf32>) -> tensor<1x6xf32>
    return %0 : tensor<1x6xf32>
  }

  // Not where there are many rows.
  // CHECK-LABEL: @many
  // CHECK-NOT: weir.arranged
  // CHECK: rhs_contract = array<i64: 0>
  func.func @many(%x: tensor<5x4xf32>) -> tensor<5x6xf32> attributes {weir.device = "/job:localhost/replica:0/task:0/device:GPU:0", weir.device_index = 1 : i64} {
    %w = weir.constant dense<[[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [2.0, 2.0, 3.0, 4.0, 5.0, 6.0], [3.0, 2.0, 3.0, 4.0, 5.0, 6.0], [4.0, 2.0, 3.0, 4.0, 5.0, 6.0]]> : tensor<4x6xf32>
    %0 = weir.dot_general %x, %w {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<5x4xf32>, tensor<4x6xf32>) -> tensor<5x6xf32>
    return %0 : tensor<5x6xf32>
  }

  // Not where something else reads the constant as it lies.
  // CHECK-LABEL: @shared
  // CHECK-NOT: weir.arranged
  // CHECK: rhs_contract = array<i64: 0>
  func.func @shared(%x: tensor<1x4xf32>, %y: tensor<4x6xf32>) -> (tensor<1x6xf32>, tensor<4x6xf32>) attributes {weir.device = "/job:localhost/replica:0/task:0/device:GPU:0", weir.device_index = 1 : i64} {
    %w = weir.constant dense<[[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [2.0, 2.0, 3.0, 4.0, 5.0, 6.0], [3.0, 2.0, 3.0, 4.0, 5.0, 6.0], [4.0, 2.0, 3.0, 4.0, 5.0, 6.0]]> : tensor<4x6xf32>
    %0 = weir.dot_general %x, %w {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<1x4xf32>, tensor<4x6xf32>) -> tensor<1x6xf32>
    %1 = weir.add %y, %w : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
    return %0, %1 : tensor<1x6xf32>, tensor<4x6xf32>
  }

  // A product reads an operand as it lay before it was transposed.
  // CHECK-LABEL: @through
  // CHECK-NOT: weir.transpose
  // CHECK: weir.dot_general {{.*}}rhs_contract = array<i64: 1>{{.*}} : (tensor<8x4xf32>, tensor<6x4xf32>)
  func.func @through(%x: tensor<8x4xf32>, %y: tensor<6x4xf32>) -> tensor<8x6xf32> attributes {weir.device = "/job:localhost/replica:0/task:0/device:GPU:0", weir.device_index = 1 : i64} {
    %t = weir.transpose %y {permutation = array<i64: 1, 0>} : (tensor<6x4xf32>) -> tensor<4x6xf32>
    %0 = weir.dot_general %x, %t {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
    return %0 : tensor<8x6xf32>
  }

  // Not where the result's dimensions would change places.
  // CHECK-LABEL: @turned
  // CHECK: weir.transpose
  func.func @turned(%x: tensor<8x4xf32>, %y: tensor<6x5x4xf32>) -> tensor<8x5x6xf32> attributes {weir.device = "/job:localhost/replica:0/task:0/device:GPU:0", weir.device_index = 1 : i64} {
    %t = weir.transpose %y {permutation = array<i64: 2, 1, 0>} : (tensor<6x5x4xf32>) -> tensor<4x5x6xf32>
    %0 = weir.dot_general %x, %t {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<8x4xf32>, tensor<4x5x6xf32>) -> tensor<8x5x6xf32>
    return %0 : tensor<8x5x6xf32>
  }

  // CPUs have tiles for operands as they are.
  // CHECK-LABEL: @host
  // CHECK: rhs_contract = array<i64: 0>
  func.func @host(%x: tensor<1x4xf32>) -> tensor<1x6xf32> attributes {weir.device = "/job:localhost/replica:0/task:0/device:CPU:0", weir.device_index = 0 : i64} {
    %w = weir.constant dense<[[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [2.0, 2.0, 3.0, 4.0, 5.0, 6.0], [3.0, 2.0, 3.0, 4.0, 5.0, 6.0], [4.0, 2.0, 3.0, 4.0, 5.0, 6.0]]> : tensor<4x6xf32>
    %0 = weir.dot_general %x, %w {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<1x4xf32>, tensor<4x6xf32>) -> tensor<1x6xf32>
    return %0 : tensor<1x6xf32>
  }
}
