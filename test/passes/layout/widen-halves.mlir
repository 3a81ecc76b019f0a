// f16 and bf16 become f32 between casts, where the device does not compute them.
// REQUIRES: weir-opt
// RUN: weir-opt --weir-widen-halves --split-input-file %s | FileCheck %s
// RUN: weir-opt --weir-widen-halves --weir-lower-precision --split-input-file %s | FileCheck %s --check-prefix=TILES

module attributes {weir.target = #weir.target<bf16_products = blocks, widens_halves>} {
  // Weights are read as f32 from where they lie; each value is widened once.
  // CHECK-LABEL: @product
  // CHECK-DAG: %[[X:.+]] = weir.cast %arg0 {{.*}} -> tensor<16x64xf32>
  // CHECK-DAG: %[[W:.+]] = weir.constant #weir.arranged<#weir.blob<"w.bin", 0, 12288, "00"> : tensor<64x96xbf16>, [96, 1], []> : tensor<64x96xf32>
  // CHECK: %[[D:.+]] = weir.dot_general %[[X]], %[[W]] {accumulator = f32{{.*}} -> tensor<16x96xf32>
  // CHECK: %[[R:.+]] = weir.cast %[[D]] {{.*}} -> tensor<16x96xbf16>
  // CHECK: %[[N:.+]] = weir.neg %[[X]]
  // CHECK: weir.cast %[[N]] {{.*}} -> tensor<16x64xbf16>
  // CHECK: return %[[R]]
  // Tiles multiply what was there.
  // TILES-LABEL: @product
  // TILES: weir.dot_general %arg0, %{{.*}} weir.matrix} : (tensor<16x64xbf16>, tensor<64x96xbf16>) -> tensor<16x96xf32>
  func.func @product(%x: tensor<16x64xbf16>) -> (tensor<16x96xbf16>, tensor<16x64xbf16>) {
    %w = weir.constant #weir.blob<"w.bin", 0, 12288, "00"> : tensor<64x96xbf16>
    %0 = weir.dot_general %x, %w {accumulator = bf16, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<16x64xbf16>, tensor<64x96xbf16>) -> tensor<16x96xbf16>
    %1 = weir.neg %x : (tensor<16x64xbf16>) -> tensor<16x64xbf16>
    return %0, %1 : tensor<16x96xbf16>, tensor<16x64xbf16>
  }

  // What only moves values stays narrow, and f16 is no bf16.
  // CHECK-LABEL: @moves
  // CHECK: weir.transpose %arg0 {{.*}} -> tensor<64x16xf16>
  // CHECK: weir.dot_general {{.*}} -> tensor<64x96xf32>
  // TILES-LABEL: @moves
  // TILES-NOT: weir.matrix
  func.func @moves(%x: tensor<16x64xf16>) -> tensor<64x96xf16> {
    %w = weir.constant #weir.blob<"w.bin", 0, 3072, "00"> : tensor<16x96xf16>
    %0 = weir.transpose %x {permutation = array<i64: 1, 0>} : (tensor<16x64xf16>) -> tensor<64x16xf16>
    %1 = weir.dot_general %0, %w {accumulator = f16, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<64x16xf16>, tensor<16x96xf16>) -> tensor<64x96xf16>
    return %1 : tensor<64x96xf16>
  }

  // What is f32 keeps to it without --precision, though its weights were bf16.
  // TILES-LABEL: @mixed
  // TILES-NOT: weir.matrix
  func.func @mixed(%x: tensor<16x64xf32>) -> tensor<16x96xf32> {
    %n = weir.constant #weir.blob<"w.bin", 0, 12288, "00"> : tensor<64x96xbf16>
    %w = weir.cast %n {saturate = false} : (tensor<64x96xbf16>) -> tensor<64x96xf32>
    %0 = weir.dot_general %x, %w {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<16x64xf32>, tensor<64x96xf32>) -> tensor<16x96xf32>
    return %0 : tensor<16x96xf32>
  }
}

// -----

// Some devices compute halves: without the attribute nothing changes before devices are known.
module {
  // CHECK-LABEL: @placed
  // TILES-LABEL: @placed
  // CHECK: weir.add {{.*}} -> tensor<4xf16>
  func.func @placed(%x: tensor<4xf16>) -> tensor<4xf16> {
    %0 = weir.add %x, %x : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
    return %0 : tensor<4xf16>
  }
}

// -----

// Each device's functions are as it wants them.
module attributes {weir_plan.devices = ["/job:localhost/replica:0/task:0/device:CPU:0", "/job:localhost/replica:0/task:0/device:GPU:0"]} {
  // CHECK-LABEL: @on_host
  // CHECK: %[[WIDE:.+]] = weir.cast %arg0 {{.*}} -> tensor<4xf32>
  // CHECK: weir.add %[[WIDE]], %[[WIDE]] : {{.*}} -> tensor<4xf32>
  // CHECK: weir.cast {{.*}} -> tensor<4xf16>
  func.func @on_host(%x: tensor<4xf16>) -> tensor<4xf16> attributes {weir.device_index = 0 : i64} {
    %0 = weir.add %x, %x : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
    return %0 : tensor<4xf16>
  }
  // CHECK-LABEL: @beside_it
  // CHECK-NOT: weir.cast
  // CHECK: weir.add {{.*}} -> tensor<4xf16>
  func.func @beside_it(%x: tensor<4xf16>) -> tensor<4xf16> attributes {weir.device_index = 1 : i64} {
    %0 = weir.add %x, %x : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
    return %0 : tensor<4xf16>
  }
}

// -----

// A module that was widened as a whole has been rounded since for matrix tiles: that stays.
module attributes {weir.target = #weir.target<bf16_products = blocks, widens_halves>, weir_plan.devices = ["/job:localhost/replica:0/task:0/device:CPU:0"]} {
  // CHECK-LABEL: @rounded
  // CHECK: weir.dot_general %arg0, %arg1 {{.*}} : (tensor<16x64xbf16>, tensor<64x96xbf16>) -> tensor<16x96xf32>
  func.func @rounded(%x: tensor<16x64xbf16>, %w: tensor<64x96xbf16>) -> tensor<16x96xf32> attributes {weir.device_index = 0 : i64} {
    %0 = weir.dot_general %x, %w {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, weir.matrix} : (tensor<16x64xbf16>, tensor<64x96xbf16>) -> tensor<16x96xf32>
    return %0 : tensor<16x96xf32>
  }
}
