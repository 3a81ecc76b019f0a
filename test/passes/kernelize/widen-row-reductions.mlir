// Halves around reductions along lines are computed in f32 between casts, so that kernels of
// lines take them in.
//
// RUN: weir-opt --weir-widen-row-reductions %s | FileCheck %s
// RUN: weir-opt --weir-widen-row-reductions --weir-kernelize %s | FileCheck %s --check-prefix=KERNEL

module attributes {weir_plan.devices = ["/job:localhost/replica:0/task:0/device:CPU:0", "/job:localhost/replica:0/task:0/device:GPU:0"]} {
  // A scale before and a cube behind a softmax: each is rounded where it was.
  // CHECK-LABEL: func.func @line
  // CHECK: weir.mul {{.*}} -> tensor<8x64xf32>
  // CHECK-NEXT: weir.cast {{.*}} -> tensor<8x64xbf16>
  // CHECK: %[[SQUARE:.*]] = weir.mul %[[X:.*]], %[[X]] : {{.*}} -> tensor<8x64xf32>
  // CHECK-NEXT: weir.mul %[[SQUARE]], %[[X]]
  // CHECK-NEXT: weir.cast {{.*}} -> tensor<8x64xbf16>
  // CHECK-NOT: weir.pow
  // CHECK: return
  // KERNEL-LABEL: func.func @line
  // KERNEL-COUNT-1: weir_plan.launch
  // KERNEL-NOT: weir_plan.launch
  // KERNEL: return
  func.func @line(%x: tensor<8x64xbf16>, %s: tensor<8x64xbf16>) -> tensor<8x64xbf16> attributes {weir.device = "/job:localhost/replica:0/task:0/device:GPU:0", weir.device_index = 1 : i64} {
    %three = weir.constant dense<3.0> : tensor<bf16>
    %0 = weir.mul %x, %s : (tensor<8x64xbf16>, tensor<8x64xbf16>) -> tensor<8x64xbf16>
    %1 = weir.cast %0 {saturate = false} : (tensor<8x64xbf16>) -> tensor<8x64xf32>
    %2 = weir.reduce %1 {axes = array<i64: 1>, keep_dims = true, kind = "max"} : (tensor<8x64xf32>) -> tensor<8x1xf32>
    %3 = weir.sub %1, %2 : (tensor<8x64xf32>, tensor<8x1xf32>) -> tensor<8x64xf32>
    %4 = weir.exp %3 : (tensor<8x64xf32>) -> tensor<8x64xf32>
    %5 = weir.reduce %4 {axes = array<i64: 1>, keep_dims = true, kind = "sum"} : (tensor<8x64xf32>) -> tensor<8x1xf32>
    %6 = weir.div %4, %5 : (tensor<8x64xf32>, tensor<8x1xf32>) -> tensor<8x64xf32>
    %7 = weir.cast %6 {saturate = false} : (tensor<8x64xf32>) -> tensor<8x64xbf16>
    %8 = weir.pow %7, %three : (tensor<8x64xbf16>, tensor<bf16>) -> tensor<8x64xbf16>
    return %8 : tensor<8x64xbf16>
  }

  // What follows a product stays as its library knows it.
  // CHECK-LABEL: func.func @product
  // CHECK: weir.add {{.*}} -> tensor<8x64xbf16>
  func.func @product(%x: tensor<8x16xbf16>, %w: tensor<16x64xbf16>, %b: tensor<64xbf16>) -> tensor<8x1xf32> attributes {weir.device = "/job:localhost/replica:0/task:0/device:GPU:0", weir.device_index = 1 : i64} {
    %0 = weir.dot_general %x, %w {accumulator = bf16, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<8x16xbf16>, tensor<16x64xbf16>) -> tensor<8x64xbf16>
    %1 = weir.add %0, %b : (tensor<8x64xbf16>, tensor<64xbf16>) -> tensor<8x64xbf16>
    %2 = weir.cast %1 {saturate = false} : (tensor<8x64xbf16>) -> tensor<8x64xf32>
    %3 = weir.reduce %2 {axes = array<i64: 1>, keep_dims = true, kind = "max"} : (tensor<8x64xf32>) -> tensor<8x1xf32>
    %4 = weir.sub %2, %3 : (tensor<8x64xf32>, tensor<8x1xf32>) -> tensor<8x64xf32>
    %5 = weir.reduce %4 {axes = array<i64: 1>, keep_dims = true, kind = "sum"} : (tensor<8x64xf32>) -> tensor<8x1xf32>
    return %5 : tensor<8x1xf32>
  }

  // Nor is anything widened without a reduction, or on a CPU.
  // CHECK-LABEL: func.func @apart
  // CHECK: weir.mul {{.*}} -> tensor<8x64xbf16>
  func.func @apart(%x: tensor<8x64xbf16>, %s: tensor<64xbf16>) -> tensor<8x64xbf16> attributes {weir.device = "/job:localhost/replica:0/task:0/device:GPU:0", weir.device_index = 1 : i64} {
    %0 = weir.mul %x, %s : (tensor<8x64xbf16>, tensor<64xbf16>) -> tensor<8x64xbf16>
    return %0 : tensor<8x64xbf16>
  }
  // CHECK-LABEL: func.func @host
  // CHECK: weir.mul {{.*}} -> tensor<8x64xbf16>
  func.func @host(%x: tensor<8x64xbf16>, %s: tensor<64xbf16>) -> tensor<8x64xf32> attributes {weir.device = "/job:localhost/replica:0/task:0/device:CPU:0", weir.device_index = 0 : i64} {
    %0 = weir.mul %x, %s : (tensor<8x64xbf16>, tensor<64xbf16>) -> tensor<8x64xbf16>
    %1 = weir.cast %0 {saturate = false} : (tensor<8x64xbf16>) -> tensor<8x64xf32>
    %2 = weir.reduce %1 {axes = array<i64: 1>, keep_dims = true, kind = "max"} : (tensor<8x64xf32>) -> tensor<8x1xf32>
    %3 = weir.sub %1, %2 : (tensor<8x64xf32>, tensor<8x1xf32>) -> tensor<8x64xf32>
    return %3 : tensor<8x64xf32>
  }
}
