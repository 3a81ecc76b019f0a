// Reductions of the last dimension, and elementwise operations around them, go along
// a line in one kernel.
//
// RUN: weir-opt --weir-kernelize %s | FileCheck %s
// RUN: weir-opt --weir-kernelize %s | FileCheck %s --check-prefix=KERNEL

// KERNEL: weir_plan.kernel @{{.*}} schedule <row_reduction,
// KERNEL-SAME: lanes = 16 : i64, parts = array<i64: 1, 1099511627776>

module attributes {weir.target = #weir.target<vector_bytes = 64, vector_registers = 32>} {
  // What is before, between and behind the reductions belongs to it; open lengths of
  // other dimensions are fine.
  // CHECK-LABEL: func.func @softmax
  // CHECK-NEXT: weir_plan.launch @{{.*}}(%arg0, %arg1)
  // CHECK-NEXT: return
  func.func @softmax(%x: tensor<?x100xf32>, %m: tensor<100xf32>) -> tensor<?x100xf32> {
    %0 = weir.add %x, %m : (tensor<?x100xf32>, tensor<100xf32>) -> tensor<?x100xf32>
    %1 = weir.reduce %0 {axes = array<i64: 1>, keep_dims = true, kind = "max"} : (tensor<?x100xf32>) -> tensor<?x1xf32>
    %2 = weir.sub %0, %1 : (tensor<?x100xf32>, tensor<?x1xf32>) -> tensor<?x100xf32>
    %3 = weir.exp %2 : (tensor<?x100xf32>) -> tensor<?x100xf32>
    %4 = weir.reduce %3 {axes = array<i64: 1>, keep_dims = true, kind = "sum"} : (tensor<?x100xf32>) -> tensor<?x1xf32>
    %5 = weir.div %3, %4 : (tensor<?x100xf32>, tensor<?x1xf32>) -> tensor<?x100xf32>
    %6 = weir.neg %5 : (tensor<?x100xf32>) -> tensor<?x100xf32>
    return %6 : tensor<?x100xf32>
  }

  // What others read, too, is computed before, or ends the kernel.
  // CHECK-LABEL: func.func @shared
  // CHECK-NEXT: %[[X:.*]] = weir_plan.launch @exp{{.*}}(%arg0)
  // CHECK-NEXT: %[[Y:.*]] = weir_plan.launch @sub{{.*}}(%[[X]])
  // CHECK-NEXT: %[[Z:.*]] = weir_plan.launch @neg{{.*}}(%[[Y]])
  // CHECK-NEXT: return %[[X]], %[[Y]], %[[Z]]
  func.func @shared(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
    %0 = weir.exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %1 = weir.reduce %0 {axes = array<i64: 1>, keep_dims = true, kind = "mean"} : (tensor<4x8xf32>) -> tensor<4x1xf32>
    %2 = weir.sub %0, %1 : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
    %3 = weir.neg %2 : (tensor<4x8xf32>) -> tensor<4x8xf32>
    return %0, %2, %3 : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
  }

  // What there is one of for a line is a further result, when it is read behind the
  // kernel; sums are made there once.
  // CHECK-LABEL: func.func @statistics
  // CHECK-NEXT: %[[N:.*]]:3 = weir_plan.launch @{{.*}}(%arg0) : {{.*}} -> (tensor<4x8xf32>, tensor<4x1xf32>, tensor<4x1xf32>)
  // CHECK-NEXT: %[[M:.*]] = weir_plan.launch @neg{{.*}}(%[[N]]#2)
  // CHECK-NEXT: return %[[N]]#0, %[[M]], %[[N]]#1
  func.func @statistics(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x1xf32>, tensor<4x1xf32>) {
    %e = weir.constant dense<1.0e-5> : tensor<f32>
    %0 = weir.reduce %x {axes = array<i64: 1>, keep_dims = true, kind = "mean"} : (tensor<4x8xf32>) -> tensor<4x1xf32>
    %1 = weir.sub %x, %0 : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
    %2 = weir.mul %1, %1 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %3 = weir.reduce %2 {axes = array<i64: 1>, keep_dims = true, kind = "mean"} : (tensor<4x8xf32>) -> tensor<4x1xf32>
    %4 = weir.add %3, %e : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
    %5 = weir.rsqrt %4 : (tensor<4x1xf32>) -> tensor<4x1xf32>
    %6 = weir.mul %1, %5 : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
    %7 = weir.neg %0 : (tensor<4x1xf32>) -> tensor<4x1xf32>
    return %6, %7, %5 : tensor<4x8xf32>, tensor<4x1xf32>, tensor<4x1xf32>
  }

  // Two reductions may lead to one element a line.
  // CHECK-LABEL: func.func @variance
  // CHECK-NEXT: %[[V:.*]] = weir_plan.launch @{{.*}}(%arg0)
  // CHECK-NEXT: return %[[V]]
  func.func @variance(%x: tensor<4x8xf32>) -> tensor<4x1xf32> {
    %0 = weir.reduce %x {axes = array<i64: 1>, keep_dims = true, kind = "mean"} : (tensor<4x8xf32>) -> tensor<4x1xf32>
    %1 = weir.sub %x, %0 : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
    %2 = weir.mul %1, %1 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %3 = weir.reduce %2 {axes = array<i64: 1>, keep_dims = true, kind = "mean"} : (tensor<4x8xf32>) -> tensor<4x1xf32>
    %4 = weir.sqrt %3 : (tensor<4x1xf32>) -> tensor<4x1xf32>
    return %4 : tensor<4x1xf32>
  }

  // What is read before the kernel's end, or where sizes are open, is computed before.
  // CHECK-LABEL: func.func @before
  // CHECK-NEXT: %[[M:.*]] = weir_plan.launch @reduce{{.*}}(%arg0)
  // CHECK: weir.reshape %[[M]]
  // CHECK-NEXT: weir_plan.launch @{{.*}}(%arg0, %[[M]])
  // CHECK-NEXT: %[[O:.*]] = weir_plan.launch @reduce{{.*}}(%arg1)
  // CHECK-NEXT: weir_plan.launch @{{.*}}(%arg1, %[[O]])
  // CHECK-NEXT: return
  func.func @before(%x: tensor<4x8xf32>, %y: tensor<?x8xf32>) -> (tensor<4x8xf32>, tensor<4xf32>, tensor<?x8xf32>, tensor<?x1xf32>) {
    %0 = weir.reduce %x {axes = array<i64: 1>, keep_dims = true, kind = "mean"} : (tensor<4x8xf32>) -> tensor<4x1xf32>
    %s = weir.constant dense<4> : tensor<1xi64>
    %1 = weir.reshape %0, %s : (tensor<4x1xf32>, tensor<1xi64>) -> tensor<4xf32>
    %2 = weir.sub %x, %0 : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
    %4 = weir.reduce %y {axes = array<i64: 1>, keep_dims = true, kind = "mean"} : (tensor<?x8xf32>) -> tensor<?x1xf32>
    %5 = weir.sub %y, %4 : (tensor<?x8xf32>, tensor<?x1xf32>) -> tensor<?x8xf32>
    return %2, %1, %5, %4 : tensor<4x8xf32>, tensor<4xf32>, tensor<?x8xf32>, tensor<?x1xf32>
  }

  // Another dimension, a line too short or too long, other elements. An open line is one.
  // CHECK-LABEL: func.func @others
  // CHECK-COUNT-9: weir_plan.launch
  // CHECK-NEXT: return
  func.func @others(%a: tensor<8x8xf32>, %b: tensor<8x?xf32>, %c: tensor<8x3xf32>, %d: tensor<2x8193xf32>, %e: tensor<8x8xf64>) -> (tensor<8x8xf32>, tensor<8x?xf32>, tensor<8x3xf32>, tensor<2x8193xf32>, tensor<8x8xf64>) {
    %0 = weir.reduce %a {axes = array<i64: 0>, keep_dims = true, kind = "sum"} : (tensor<8x8xf32>) -> tensor<1x8xf32>
    %1 = weir.sub %a, %0 : (tensor<8x8xf32>, tensor<1x8xf32>) -> tensor<8x8xf32>
    %2 = weir.reduce %b {axes = array<i64: 1>, keep_dims = true, kind = "sum"} : (tensor<8x?xf32>) -> tensor<8x1xf32>
    %3 = weir.sub %b, %2 : (tensor<8x?xf32>, tensor<8x1xf32>) -> tensor<8x?xf32>
    %4 = weir.reduce %c {axes = array<i64: 1>, keep_dims = true, kind = "sum"} : (tensor<8x3xf32>) -> tensor<8x1xf32>
    %5 = weir.sub %c, %4 : (tensor<8x3xf32>, tensor<8x1xf32>) -> tensor<8x3xf32>
    %6 = weir.reduce %d {axes = array<i64: 1>, keep_dims = true, kind = "sum"} : (tensor<2x8193xf32>) -> tensor<2x1xf32>
    %7 = weir.sub %d, %6 : (tensor<2x8193xf32>, tensor<2x1xf32>) -> tensor<2x8193xf32>
    %8 = weir.reduce %e {axes = array<i64: 1>, keep_dims = true, kind = "sum"} : (tensor<8x8xf64>) -> tensor<8x1xf64>
    %9 = weir.sub %e, %8 : (tensor<8x8xf64>, tensor<8x1xf64>) -> tensor<8x8xf64>
    return %1, %3, %5, %7, %9 : tensor<8x8xf32>, tensor<8x?xf32>, tensor<8x3xf32>, tensor<2x8193xf32>, tensor<8x8xf64>
  }

  // What follows a product stays on the registers of its sums.
  // CHECK-LABEL: func.func @product
  // CHECK-NEXT: %[[P:.*]] = weir_plan.launch @{{.*}}(%arg0, %arg1, %arg2)
  // CHECK-NEXT: weir_plan.launch @{{.*}}(%[[P]])
  // CHECK-NEXT: return
  func.func @product(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>, %b: tensor<64xf32>) -> tensor<64x64xf32> {
    %0 = weir.dot_general %x, %w {accumulator = f32, lhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_batch = array<i64>, rhs_contract = array<i64: 0>} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %1 = weir.add %0, %b : (tensor<64x64xf32>, tensor<64xf32>) -> tensor<64x64xf32>
    %2 = weir.reduce %1 {axes = array<i64: 1>, keep_dims = true, kind = "mean"} : (tensor<64x64xf32>) -> tensor<64x1xf32>
    %3 = weir.sub %1, %2 : (tensor<64x64xf32>, tensor<64x1xf32>) -> tensor<64x64xf32>
    return %3 : tensor<64x64xf32>
  }
}
