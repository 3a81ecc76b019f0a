// On accelerators reductions with few results are made in steps; mean and variance come
// from one pass. Steps of the host stay as they are.
//
// RUN: weir-opt --weir-split-reductions %s | FileCheck %s
// RUN: weir-opt --weir-split-reductions --weir-kernelize %s | FileCheck %s --check-prefix=KERNEL

// Parts of a column are one kernel's, which a thread goes along: two results.
// KERNEL-LABEL: func.func @columns
// KERNEL: weir_plan.launch @{{.*}} : (tensor<512x32x8xf32>) -> (tensor<512x1x8xf32>, tensor<512x1x8xf32>)

module attributes {weir.target = #weir.target<vector_bytes = 64, vector_registers = 32>, weir_plan.devices = ["/job:localhost/replica:0/task:0/device:CPU:0", "/job:localhost/replica:0/task:0/device:GPU:0"]} {
  // Sixteen parts of a line have a mean m and a variance v each. The line's mean is that of
  // the m, its variance the mean of v + (m - mean)².
  // CHECK-LABEL: func.func @line
  // CHECK: %[[X:.*]] = weir.reshape %arg0, {{.*}} -> tensor<3x16x1250xf32>
  // CHECK: %[[M:.*]] = weir.reduce %[[X]] {axes = array<i64: 2>, keep_dims = true, kind = "mean"}
  // CHECK: %[[D:.*]] = weir.sub %[[X]], %[[M]]
  // CHECK: %[[S:.*]] = weir.mul %[[D]], %[[D]]
  // CHECK: %[[V:.*]] = weir.reduce %[[S]] {axes = array<i64: 2>, keep_dims = true, kind = "mean"}
  // CHECK-DAG: %[[VS:.*]] = weir.reshape %[[V]], {{.*}} -> tensor<3x16xf32>
  // CHECK-DAG: %[[MS:.*]] = weir.reshape %[[M]], {{.*}} -> tensor<3x16xf32>
  // CHECK: %[[MEAN:.*]] = weir.reduce %[[MS]] {axes = array<i64: 1>, keep_dims = true, kind = "mean"}
  // CHECK: %[[APART:.*]] = weir.sub %[[MS]], %[[MEAN]]
  // CHECK: %[[SQUARE:.*]] = weir.mul %[[APART]], %[[APART]]
  // CHECK: %[[BOTH:.*]] = weir.add %[[SQUARE]], %[[VS]]
  // CHECK: %[[VARIANCE:.*]] = weir.reduce %[[BOTH]] {axes = array<i64: 1>, keep_dims = true, kind = "mean"}
  // CHECK: %[[R:.*]] = weir.rsqrt %[[VARIANCE]]
  // What subtracts the mean comes behind all that makes both.
  // CHECK-NEXT: %[[C:.*]] = weir.sub %arg0, %[[MEAN]]
  // CHECK-NEXT: weir.mul %[[C]], %[[R]]
  func.func @line(%x: tensor<3x20000xf32>) -> tensor<3x20000xf32> attributes {weir.device_index = 1 : i64} {
    %m = weir.reduce %x {axes = array<i64: 1>, keep_dims = true, kind = "mean"} : (tensor<3x20000xf32>) -> tensor<3x1xf32>
    %d = weir.sub %x, %m : (tensor<3x20000xf32>, tensor<3x1xf32>) -> tensor<3x20000xf32>
    %s = weir.mul %d, %d : (tensor<3x20000xf32>, tensor<3x20000xf32>) -> tensor<3x20000xf32>
    %v = weir.reduce %s {axes = array<i64: 1>, keep_dims = true, kind = "mean"} : (tensor<3x20000xf32>) -> tensor<3x1xf32>
    %r = weir.rsqrt %v : (tensor<3x1xf32>) -> tensor<3x1xf32>
    %y = weir.mul %d, %r : (tensor<3x20000xf32>, tensor<3x1xf32>) -> tensor<3x20000xf32>
    return %y : tensor<3x20000xf32>
  }

  // 512 parts of 32 rows, then 16 of 32, then 16.
  // CHECK-LABEL: func.func @columns
  // CHECK: weir.reshape %arg0, {{.*}} -> tensor<512x32x8xf32>
  // CHECK: weir.reduce {{.*}} -> tensor<512x1x8xf32>
  // CHECK: weir.reduce {{.*}} -> tensor<512x1x8xf32>
  // CHECK: weir.reduce {{.*}} : (tensor<16x32x8xf32>) -> tensor<16x1x8xf32>
  // CHECK: weir.add {{.*}} tensor<16x32x8xf32>
  // CHECK: weir.reduce {{.*}} : (tensor<16x32x8xf32>) -> tensor<16x1x8xf32>
  // CHECK: weir.reduce {{.*}} : (tensor<1x16x8xf32>) -> tensor<1x1x8xf32>
  // CHECK: weir.reduce {{.*}} : (tensor<1x16x8xf32>) -> tensor<1x1x8xf32>
  // CHECK-NOT: weir.reduce
  // CHECK: return
  func.func @columns(%x: tensor<4x64x64x8xf32>) -> (tensor<8xf32>, tensor<8xf32>) attributes {weir.device_index = 1 : i64} {
    %m = weir.reduce %x {axes = array<i64: 0, 1, 2>, keep_dims = false, kind = "mean"} : (tensor<4x64x64x8xf32>) -> tensor<8xf32>
    %d = weir.sub %x, %m : (tensor<4x64x64x8xf32>, tensor<8xf32>) -> tensor<4x64x64x8xf32>
    %s = weir.mul %d, %d : (tensor<4x64x64x8xf32>, tensor<4x64x64x8xf32>) -> tensor<4x64x64x8xf32>
    %v = weir.reduce %s {axes = array<i64: 0, 1, 2>, keep_dims = false, kind = "mean"} : (tensor<4x64x64x8xf32>) -> tensor<8xf32>
    return %m, %v : tensor<8xf32>, tensor<8xf32>
  }

  // Images of 24 by 24 are lines of 576, with all that follows.
  // CHECK-LABEL: func.func @flat
  // CHECK: weir.reduce {{.*}} : (tensor<2x4x576xf32>) -> tensor<2x4x1xf32>
  // CHECK: weir.reduce {{.*}} : (tensor<2x4x576xf32>) -> tensor<2x4x1xf32>
  // CHECK: weir.rsqrt {{.*}} -> tensor<2x4x1xf32>
  // CHECK: weir.mul {{.*}} : (tensor<2x4x576xf32>, tensor<1x4x1xf32>) -> tensor<2x4x576xf32>
  // CHECK: weir.relu {{.*}} -> tensor<2x4x576xf32>
  // CHECK: weir.reshape {{.*}} -> tensor<2x4x24x24xf32>
  // CHECK-NEXT: return
  // KERNEL-LABEL: func.func @flat
  // KERNEL-COUNT-1: weir_plan.launch
  // KERNEL-NOT: weir_plan.launch
  // KERNEL: return
  func.func @flat(%x: tensor<2x4x24x24xf32>, %g: tensor<4x1x1xf32>) -> tensor<2x4x24x24xf32> attributes {weir.device_index = 1 : i64} {
    %m = weir.reduce %x {axes = array<i64: 2, 3>, keep_dims = true, kind = "mean"} : (tensor<2x4x24x24xf32>) -> tensor<2x4x1x1xf32>
    %d = weir.sub %x, %m : (tensor<2x4x24x24xf32>, tensor<2x4x1x1xf32>) -> tensor<2x4x24x24xf32>
    %s = weir.mul %d, %d : (tensor<2x4x24x24xf32>, tensor<2x4x24x24xf32>) -> tensor<2x4x24x24xf32>
    %v = weir.reduce %s {axes = array<i64: 2, 3>, keep_dims = true, kind = "mean"} : (tensor<2x4x24x24xf32>) -> tensor<2x4x1x1xf32>
    %r = weir.rsqrt %v : (tensor<2x4x1x1xf32>) -> tensor<2x4x1x1xf32>
    %u = weir.mul %d, %r : (tensor<2x4x24x24xf32>, tensor<2x4x1x1xf32>) -> tensor<2x4x24x24xf32>
    %y = weir.mul %u, %g : (tensor<2x4x24x24xf32>, tensor<4x1x1xf32>) -> tensor<2x4x24x24xf32>
    %z = weir.relu %y : (tensor<2x4x24x24xf32>) -> tensor<2x4x24x24xf32>
    return %z : tensor<2x4x24x24xf32>
  }

  // Sums of f16 stay in f32 between the steps; what only they read goes along.
  // CHECK-LABEL: func.func @sum
  // CHECK: weir.mul {{.*}} tensor<256x16x20xf16>
  // CHECK: weir.cast {{.*}} -> tensor<256x16x20xf32>
  // CHECK: weir.reduce {{.*}} kind = "sum"} : (tensor<256x16x20xf32>) -> tensor<256x1x20xf32>
  // CHECK: weir.reduce {{.*}} kind = "sum"} : (tensor<256x20xf32>) -> tensor<1x20xf32>
  // CHECK: weir.cast {{.*}} -> tensor<1x20xf16>
  func.func @sum(%x: tensor<4096x20xf16>, %y: tensor<4096x20xf16>) -> tensor<20xf16> attributes {weir.device_index = 1 : i64} {
    %p = weir.mul %x, %y : (tensor<4096x20xf16>, tensor<4096x20xf16>) -> tensor<4096x20xf16>
    %s = weir.reduce %p {axes = array<i64: 0>, keep_dims = false, kind = "sum"} : (tensor<4096x20xf16>) -> tensor<20xf16>
    return %s : tensor<20xf16>
  }

  // Lines go before what else is reduced.
  // CHECK-LABEL: func.func @both
  // CHECK: weir.reduce {{.*}} : (tensor<8x16x1024xf32>) -> tensor<8x16x1xf32>
  // CHECK: weir.reduce {{.*}} : (tensor<8x16xf32>) -> tensor<1x16xf32>
  func.func @both(%x: tensor<8x16x32x32xf32>) -> tensor<16xf32> attributes {weir.device_index = 1 : i64} {
    %s = weir.reduce %x {axes = array<i64: 0, 2, 3>, keep_dims = false, kind = "max"} : (tensor<8x16x32x32xf32>) -> tensor<16xf32>
    return %s : tensor<16xf32>
  }

  // A kernel is enough for lines of up to 8,192 elements, for many results and for few
  // elements; 10,007 has no divisors; and sizes must be known.
  // CHECK-LABEL: func.func @enough
  // CHECK-NOT: weir.reshape
  // CHECK: return
  func.func @enough(%a: tensor<4x8192xf32>, %b: tensor<64x100000xf32>, %c: tensor<512x8xf32>, %d: tensor<2x10007xf32>, %e: tensor<?x4xf32>) -> (tensor<4x1xf32>, tensor<100000xf32>, tensor<8xf32>, tensor<2xf32>, tensor<4xf32>) attributes {weir.device_index = 1 : i64} {
    %m = weir.reduce %a {axes = array<i64: 1>, keep_dims = true, kind = "mean"} : (tensor<4x8192xf32>) -> tensor<4x1xf32>
    %t = weir.sub %a, %m : (tensor<4x8192xf32>, tensor<4x1xf32>) -> tensor<4x8192xf32>
    %s = weir.mul %t, %t : (tensor<4x8192xf32>, tensor<4x8192xf32>) -> tensor<4x8192xf32>
    %0 = weir.reduce %s {axes = array<i64: 1>, keep_dims = true, kind = "mean"} : (tensor<4x8192xf32>) -> tensor<4x1xf32>
    %1 = weir.reduce %b {axes = array<i64: 0>, keep_dims = false, kind = "sum"} : (tensor<64x100000xf32>) -> tensor<100000xf32>
    %2 = weir.reduce %c {axes = array<i64: 0>, keep_dims = false, kind = "sum"} : (tensor<512x8xf32>) -> tensor<8xf32>
    %3 = weir.reduce %d {axes = array<i64: 1>, keep_dims = false, kind = "sum"} : (tensor<2x10007xf32>) -> tensor<2xf32>
    %4 = weir.reduce %e {axes = array<i64: 0>, keep_dims = false, kind = "sum"} : (tensor<?x4xf32>) -> tensor<4xf32>
    return %0, %1, %2, %3, %4 : tensor<4x1xf32>, tensor<100000xf32>, tensor<8xf32>, tensor<2xf32>, tensor<4xf32>
  }

  // An attention's softmax is its kernel's, however long its lines are.
  // CHECK-LABEL: func.func @attention
  // CHECK-NOT: weir.reshape
  // CHECK: return
  func.func @attention(%q: tensor<2x32x64xf32>, %k: tensor<2x64x16384xf32>, %v: tensor<2x16384x64xf32>) -> tensor<2x32x64xf32> attributes {weir.device_index = 1 : i64} {
    %s = weir.dot_general %q, %k {accumulator = f32, lhs_batch = array<i64: 0>, lhs_contract = array<i64: 2>, rhs_batch = array<i64: 0>, rhs_contract = array<i64: 1>} : (tensor<2x32x64xf32>, tensor<2x64x16384xf32>) -> tensor<2x32x16384xf32>
    %m = weir.reduce %s {axes = array<i64: 2>, keep_dims = true, kind = "max"} : (tensor<2x32x16384xf32>) -> tensor<2x32x1xf32>
    %l = weir.sub %s, %m : (tensor<2x32x16384xf32>, tensor<2x32x1xf32>) -> tensor<2x32x16384xf32>
    %e = weir.exp %l : (tensor<2x32x16384xf32>) -> tensor<2x32x16384xf32>
    %t = weir.reduce %e {axes = array<i64: 2>, keep_dims = true, kind = "sum"} : (tensor<2x32x16384xf32>) -> tensor<2x32x1xf32>
    %w = weir.div %e, %t : (tensor<2x32x16384xf32>, tensor<2x32x1xf32>) -> tensor<2x32x16384xf32>
    %o = weir.dot_general %w, %v {accumulator = f32, lhs_batch = array<i64: 0>, lhs_contract = array<i64: 2>, rhs_batch = array<i64: 0>, rhs_contract = array<i64: 1>} : (tensor<2x32x16384xf32>, tensor<2x16384x64xf32>) -> tensor<2x32x64xf32>
    return %o : tensor<2x32x64xf32>
  }

  // The host's.
  // CHECK-LABEL: func.func @host
  // CHECK-NEXT: weir.reduce %arg0
  // CHECK-NEXT: return
  func.func @host(%x: tensor<4x64x64x8xf32>) -> tensor<8xf32> attributes {weir.device_index = 0 : i64} {
    %m = weir.reduce %x {axes = array<i64: 0, 1, 2>, keep_dims = false, kind = "mean"} : (tensor<4x64x64x8xf32>) -> tensor<8xf32>
    return %m : tensor<8xf32>
  }
}

// KERNEL: @reduce_512_1_8_f32{{.*}}schedule <row_reduction,
