// Which products and convolutions get operands of bf16, and who reads what then.
// REQUIRES: weir-opt
// RUN: weir-opt "--weir-lower-precision=rounds=true keep-f32=sensitive" --split-input-file %s | FileCheck %s
// RUN: weir-opt --weir-lower-precision --split-input-file %s | FileCheck %s --check-prefix=WITHOUT

// Without the option nothing changes.
// WITHOUT-LABEL: @product
// WITHOUT-NOT: xbf16

module {
  // CHECK-LABEL: @product
  // CHECK-DAG: %[[W:.+]] = weir.constant #weir.arranged<{{.*}}> : tensor<64x96xbf16>
  // CHECK-DAG: %[[X:.+]] = weir.cast %arg0 {{.*}} -> tensor<16x64xbf16>
  // CHECK: weir.dot_general %[[X]], %[[W]] {accumulator = f32{{.*}}weir.matrix} : {{.*}} -> tensor<16x96xf32>
  func.func @product(%x: tensor<16x64xf32>) -> tensor<16x96xf32> {
    %w = weir.constant #weir.blob<"w.bin", 0, 24576, "00"> : tensor<64x96xf32>
    %0 = weir.dot_general %x, %w {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<16x64xf32>, tensor<64x96xf32>) -> tensor<16x96xf32>
    return %0 : tensor<16x96xf32>
  }

  // What two products and an addition read is rounded and stored once.
  // CHECK-LABEL: @shared
  // CHECK: %[[R:.+]] = weir.relu
  // CHECK-NEXT: %[[N:.+]] = weir.cast %[[R]] {{.*}} -> tensor<16x64xbf16>
  // CHECK: weir.dot_general %[[N]],
  // CHECK: %[[AGAIN:.+]] = weir.cast %[[N]] {{.*}} -> tensor<16x64xf32>
  // CHECK: weir.add {{.*}}%[[AGAIN]]
  // CHECK: weir.dot_general %[[N]],
  func.func @shared(%x: tensor<16x64xf32>) -> (tensor<16x64xf32>, tensor<16x64xf32>) {
    %w = weir.constant #weir.blob<"w.bin", 0, 16384, "00"> : tensor<64x64xf32>
    %r = weir.relu %x : (tensor<16x64xf32>) -> tensor<16x64xf32>
    %0 = weir.dot_general %r, %w {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<16x64xf32>, tensor<64x64xf32>) -> tensor<16x64xf32>
    %1 = weir.add %0, %r : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<16x64xf32>
    %2 = weir.dot_general %r, %w {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<16x64xf32>, tensor<64x64xf32>) -> tensor<16x64xf32>
    return %1, %2 : tensor<16x64xf32>, tensor<16x64xf32>
  }

  // Padding is of what was rounded.
  // CHECK-LABEL: @padded
  // CHECK: %[[N:.+]] = weir.cast %arg0
  // CHECK: %[[P:.+]] = weir.pad %[[N]]{{.*}} -> tensor<1x10x10x32xbf16>
  // CHECK-NOT: weir.pad
  // CHECK: weir.conv %[[P]]
  func.func @padded(%x: tensor<1x8x8x32xf32>) -> tensor<1x8x8x32xf32> {
    %w = weir.constant #weir.blob<"w.bin", 0, 36864, "00"> : tensor<3x3x32x32xf32>
    %pads = weir.constant dense<[0, 1, 1, 0, 0, 1, 1, 0]> : tensor<8xi64>
    %zero = weir.constant dense<0.0> : tensor<f32>
    %p = weir.pad %x, %pads, %zero {mode = "constant"} : (tensor<1x8x8x32xf32>, tensor<8xi64>, tensor<f32>) -> tensor<1x10x10x32xf32>
    %0 = weir.conv %p, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, channels_last = true, accumulator = f32} : (tensor<1x10x10x32xf32>, tensor<3x3x32x32xf32>) -> tensor<1x8x8x32xf32>
    return %0 : tensor<1x8x8x32xf32>
  }

  // Not products of two computed operands, odd sizes, or few rows.
  // CHECK-LABEL: @others
  // CHECK-NOT: xbf16
  func.func @others(%x: tensor<16x64xf32>, %y: tensor<64x32xf32>, %z: tensor<16x40xf32>, %v: tensor<1x64xf32>) -> (tensor<16x32xf32>, tensor<16x32xf32>, tensor<1x32xf32>) {
    %w = weir.constant #weir.blob<"w.bin", 0, 5120, "00"> : tensor<40x32xf32>
    %u = weir.constant #weir.blob<"w.bin", 0, 8192, "00"> : tensor<64x32xf32>
    %0 = weir.dot_general %x, %y {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<16x64xf32>, tensor<64x32xf32>) -> tensor<16x32xf32>
    %1 = weir.dot_general %z, %w {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<16x40xf32>, tensor<40x32xf32>) -> tensor<16x32xf32>
    %2 = weir.dot_general %v, %u {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<1x64xf32>, tensor<64x32xf32>) -> tensor<1x32xf32>
    return %0, %1, %2 : tensor<16x32xf32>, tensor<16x32xf32>, tensor<1x32xf32>
  }
}

// -----

// Nodes that the user keeps.
module {
  // CHECK-LABEL: @kept
  // CHECK-NOT: xbf16
  func.func @kept(%x: tensor<16x64xf32>) -> tensor<16x64xf32> {
    %w = weir.constant #weir.blob<"w.bin", 0, 16384, "00"> : tensor<64x64xf32>
    %0 = weir.dot_general %x, %w {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<16x64xf32>, tensor<64x64xf32>) -> tensor<16x64xf32> loc("sensitive")
    return %0 : tensor<16x64xf32>
  }
}

// -----

// Vectors that add pairs of products take any even depth, rests of panels, one row and open ones.
module attributes {weir.target = #weir.target<bf16_products = pairs>} {
  // CHECK-LABEL: @pairs
  // CHECK: weir.dot_general {{.*}}weir.matrix = "pairs"} : (tensor<1x34xbf16>, tensor<34x40xbf16>)
  // CHECK: weir.dot_general {{.*}}weir.matrix = "pairs"} : (tensor<?x34xbf16>, tensor<34x40xbf16>)
  func.func @pairs(%x: tensor<1x34xf32>, %y: tensor<?x34xf32>) -> (tensor<1x40xf32>, tensor<?x40xf32>) {
    %w = weir.constant #weir.blob<"w.bin", 0, 5440, "00"> : tensor<34x40xf32>
    %0 = weir.dot_general %x, %w {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<1x34xf32>, tensor<34x40xf32>) -> tensor<1x40xf32>
    %1 = weir.dot_general %y, %w {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<?x34xf32>, tensor<34x40xf32>) -> tensor<?x40xf32>
    return %0, %1 : tensor<1x40xf32>, tensor<?x40xf32>
  }

  // An odd depth has no whole pairs, few columns no vector; what is computed is not packed.
  // CHECK-LABEL: @single
  // CHECK-NOT: xbf16
  func.func @single(%x: tensor<16x33xf32>, %y: tensor<16x34xf32>, %z: tensor<34x40xf32>) -> (tensor<16x40xf32>, tensor<16x8xf32>, tensor<16x40xf32>) {
    %w = weir.constant #weir.blob<"w.bin", 0, 5280, "00"> : tensor<33x40xf32>
    %v = weir.constant #weir.blob<"v.bin", 0, 1088, "00"> : tensor<34x8xf32>
    %0 = weir.dot_general %x, %w {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<16x33xf32>, tensor<33x40xf32>) -> tensor<16x40xf32>
    %1 = weir.dot_general %y, %v {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<16x34xf32>, tensor<34x8xf32>) -> tensor<16x8xf32>
    %2 = weir.dot_general %y, %z {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<16x34xf32>, tensor<34x40xf32>) -> tensor<16x40xf32>
    return %0, %1, %2 : tensor<16x40xf32>, tensor<16x8xf32>, tensor<16x40xf32>
  }
}
