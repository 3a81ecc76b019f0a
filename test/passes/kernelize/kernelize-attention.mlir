// Two products around a softmax are one kernel where nothing else reads what lies between them.
//
// RUN: weir-opt --weir-kernelize %s | FileCheck %s
// RUN: weir-opt --weir-kernelize %s | FileCheck %s --check-prefix=KERNEL

// The kernel of the first function.
// KERNEL: schedule <attention,
// KERNEL-SAME: blocks = array<i64: 64, 128>
// KERNEL-SAME: parts = array<i64: 1, 64, 1, 1099511627776>

module attributes {weir.target = #weir.target<vector_bytes = 64, vector_registers = 32>} {
  // Transpositions of operands and result, the scale and the mask belong to it; no tensor of
  // 128 by 128 is left.
  // CHECK-LABEL: func.func @whole
  // CHECK-NEXT: weir_plan.launch @{{.*}}(%arg0, %arg1, %arg2, %arg3) : {{.*}} -> tensor<2x128x4x64xf32>
  // CHECK-NEXT: return
  func.func @whole(%q: tensor<2x128x4x64xf32>, %k: tensor<2x128x4x64xf32>, %v: tensor<2x128x4x64xf32>, %m: tensor<2x1x1x128xf32>) -> tensor<2x128x4x64xf32> {
    %c = weir.constant dense<8.0> : tensor<f32>
    %0 = weir.transpose %q {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x128x4x64xf32>) -> tensor<2x4x128x64xf32>
    %1 = weir.transpose %k {permutation = array<i64: 0, 2, 3, 1>} : (tensor<2x128x4x64xf32>) -> tensor<2x4x64x128xf32>
    %2 = weir.transpose %v {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x128x4x64xf32>) -> tensor<2x4x128x64xf32>
    %3 = weir.dot_general %0, %1 {accumulator = f32, lhs_batch = array<i64: 0, 1>, lhs_contract = array<i64: 3>, rhs_batch = array<i64: 0, 1>, rhs_contract = array<i64: 2>} : (tensor<2x4x128x64xf32>, tensor<2x4x64x128xf32>) -> tensor<2x4x128x128xf32>
    %4 = weir.div %3, %c : (tensor<2x4x128x128xf32>, tensor<f32>) -> tensor<2x4x128x128xf32>
    %5 = weir.add %4, %m : (tensor<2x4x128x128xf32>, tensor<2x1x1x128xf32>) -> tensor<2x4x128x128xf32>
    %6 = weir.reduce %5 {axes = array<i64: 3>, keep_dims = true, kind = "max"} : (tensor<2x4x128x128xf32>) -> tensor<2x4x128x1xf32>
    %7 = weir.sub %5, %6 : (tensor<2x4x128x128xf32>, tensor<2x4x128x1xf32>) -> tensor<2x4x128x128xf32>
    %8 = weir.exp %7 : (tensor<2x4x128x128xf32>) -> tensor<2x4x128x128xf32>
    %9 = weir.reduce %8 {axes = array<i64: 3>, keep_dims = true, kind = "sum"} : (tensor<2x4x128x128xf32>) -> tensor<2x4x128x1xf32>
    %10 = weir.div %8, %9 : (tensor<2x4x128x128xf32>, tensor<2x4x128x1xf32>) -> tensor<2x4x128x128xf32>
    %11 = weir.dot_general %10, %2 {accumulator = f32, lhs_batch = array<i64: 0, 1>, lhs_contract = array<i64: 3>, rhs_batch = array<i64: 0, 1>, rhs_contract = array<i64: 2>} : (tensor<2x4x128x128xf32>, tensor<2x4x128x64xf32>) -> tensor<2x4x128x64xf32>
    %12 = weir.transpose %11 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x4x128x64xf32>) -> tensor<2x128x4x64xf32>
    return %12 : tensor<2x128x4x64xf32>
  }

  // Positions after the query's are hidden: each of both kernels compares for itself. Lengths
  // are open.
  // CHECK-LABEL: func.func @causal
  // CHECK-NOT: weir.compare
  // CHECK: weir_plan.launch @{{.*}} -> tensor<8x?x32xf32>
  // CHECK-NEXT: weir_plan.launch @{{.*}} -> tensor<8x?x32xf32>
  // CHECK-NEXT: return
  func.func @causal(%q: tensor<8x?x32xf32>, %k: tensor<8x32x?xf32>, %v: tensor<8x?x32xf32>, %s: tensor<2xi64>) -> tensor<8x?x32xf32> {
    %low = weir.constant dense<0xFF800000> : tensor<f32>
    %r = weir.iota %s {axis = 0 : i64, element_type = i64} : (tensor<2xi64>) -> tensor<?x?xi64>
    %c = weir.iota %s {axis = 1 : i64, element_type = i64} : (tensor<2xi64>) -> tensor<?x?xi64>
    %seen = weir.compare %c, %r {predicate = "le"} : (tensor<?x?xi64>, tensor<?x?xi64>) -> tensor<?x?xi1>
    %0 = weir.dot_general %q, %k {accumulator = f32, lhs_batch = array<i64: 0>, lhs_contract = array<i64: 2>, rhs_batch = array<i64: 0>, rhs_contract = array<i64: 1>} : (tensor<8x?x32xf32>, tensor<8x32x?xf32>) -> tensor<8x?x?xf32>
    %1 = weir.select %seen, %0, %low : (tensor<?x?xi1>, tensor<8x?x?xf32>, tensor<f32>) -> tensor<8x?x?xf32>
    %2 = weir.reduce %1 {axes = array<i64: 2>, keep_dims = true, kind = "max"} : (tensor<8x?x?xf32>) -> tensor<8x?x1xf32>
    %3 = weir.sub %1, %2 : (tensor<8x?x?xf32>, tensor<8x?x1xf32>) -> tensor<8x?x?xf32>
    %4 = weir.exp %3 : (tensor<8x?x?xf32>) -> tensor<8x?x?xf32>
    %5 = weir.reduce %4 {axes = array<i64: 2>, keep_dims = true, kind = "sum"} : (tensor<8x?x?xf32>) -> tensor<8x?x1xf32>
    %6 = weir.div %4, %5 : (tensor<8x?x?xf32>, tensor<8x?x1xf32>) -> tensor<8x?x?xf32>
    %7 = weir.dot_general %6, %v {accumulator = f32, lhs_batch = array<i64: 0>, lhs_contract = array<i64: 2>, rhs_batch = array<i64: 0>, rhs_contract = array<i64: 1>} : (tensor<8x?x?xf32>, tensor<8x?x32xf32>) -> tensor<8x?x32xf32>
    %10 = weir.dot_general %7, %k {accumulator = f32, lhs_batch = array<i64: 0>, lhs_contract = array<i64: 2>, rhs_batch = array<i64: 0>, rhs_contract = array<i64: 1>} : (tensor<8x?x32xf32>, tensor<8x32x?xf32>) -> tensor<8x?x?xf32>
    %11 = weir.select %seen, %10, %low : (tensor<?x?xi1>, tensor<8x?x?xf32>, tensor<f32>) -> tensor<8x?x?xf32>
    %12 = weir.reduce %11 {axes = array<i64: 2>, keep_dims = true, kind = "max"} : (tensor<8x?x?xf32>) -> tensor<8x?x1xf32>
    %13 = weir.sub %11, %12 : (tensor<8x?x?xf32>, tensor<8x?x1xf32>) -> tensor<8x?x?xf32>
    %14 = weir.exp %13 : (tensor<8x?x?xf32>) -> tensor<8x?x?xf32>
    %15 = weir.reduce %14 {axes = array<i64: 2>, keep_dims = true, kind = "sum"} : (tensor<8x?x?xf32>) -> tensor<8x?x1xf32>
    %16 = weir.div %14, %15 : (tensor<8x?x?xf32>, tensor<8x?x1xf32>) -> tensor<8x?x?xf32>
    %17 = weir.dot_general %16, %v {accumulator = f32, lhs_batch = array<i64: 0>, lhs_contract = array<i64: 2>, rhs_batch = array<i64: 0>, rhs_contract = array<i64: 1>} : (tensor<8x?x?xf32>, tensor<8x?x32xf32>) -> tensor<8x?x32xf32>
    return %17 : tensor<8x?x32xf32>
  }

  // What another operation reads, too, keeps its buffer: here the weights, there a comparison,
  // which the kernel reads.
  // CHECK-LABEL: func.func @weights_are_read
  // CHECK: -> tensor<8x64x64xf32>
  // CHECK: return
  func.func @weights_are_read(%q: tensor<8x64x32xf32>, %k: tensor<8x32x64xf32>, %v: tensor<8x64x32xf32>) -> (tensor<8x64x32xf32>, tensor<8x64x64xf32>) {
    %0 = weir.dot_general %q, %k {accumulator = f32, lhs_batch = array<i64: 0>, lhs_contract = array<i64: 2>, rhs_batch = array<i64: 0>, rhs_contract = array<i64: 1>} : (tensor<8x64x32xf32>, tensor<8x32x64xf32>) -> tensor<8x64x64xf32>
    %2 = weir.reduce %0 {axes = array<i64: 2>, keep_dims = true, kind = "max"} : (tensor<8x64x64xf32>) -> tensor<8x64x1xf32>
    %3 = weir.sub %0, %2 : (tensor<8x64x64xf32>, tensor<8x64x1xf32>) -> tensor<8x64x64xf32>
    %4 = weir.exp %3 : (tensor<8x64x64xf32>) -> tensor<8x64x64xf32>
    %5 = weir.reduce %4 {axes = array<i64: 2>, keep_dims = true, kind = "sum"} : (tensor<8x64x64xf32>) -> tensor<8x64x1xf32>
    %6 = weir.div %4, %5 : (tensor<8x64x64xf32>, tensor<8x64x1xf32>) -> tensor<8x64x64xf32>
    %7 = weir.dot_general %6, %v {accumulator = f32, lhs_batch = array<i64: 0>, lhs_contract = array<i64: 2>, rhs_batch = array<i64: 0>, rhs_contract = array<i64: 1>} : (tensor<8x64x64xf32>, tensor<8x64x32xf32>) -> tensor<8x64x32xf32>
    return %7, %6 : tensor<8x64x32xf32>, tensor<8x64x64xf32>
  }
  // CHECK-LABEL: func.func @condition_is_read
  // CHECK: weir_plan.launch @compare{{.*}} -> tensor<64x64xi1>
  // CHECK-NEXT: weir_plan.launch @{{.*}}tensor<64x64xi1>{{.*}}) -> tensor<8x64x32xf32>
  func.func @condition_is_read(%q: tensor<8x64x32xf32>, %k: tensor<8x32x64xf32>, %v: tensor<8x64x32xf32>) -> (tensor<8x64x32xf32>, tensor<64x64xi1>) {
    %low = weir.constant dense<0xFF800000> : tensor<f32>
    %s = weir.constant dense<64> : tensor<2xi64>
    %r = weir.iota %s {axis = 0 : i64, element_type = i64} : (tensor<2xi64>) -> tensor<64x64xi64>
    %c = weir.iota %s {axis = 1 : i64, element_type = i64} : (tensor<2xi64>) -> tensor<64x64xi64>
    %seen = weir.compare %c, %r {predicate = "le"} : (tensor<64x64xi64>, tensor<64x64xi64>) -> tensor<64x64xi1>
    %0 = weir.dot_general %q, %k {accumulator = f32, lhs_batch = array<i64: 0>, lhs_contract = array<i64: 2>, rhs_batch = array<i64: 0>, rhs_contract = array<i64: 1>} : (tensor<8x64x32xf32>, tensor<8x32x64xf32>) -> tensor<8x64x64xf32>
    %1 = weir.select %seen, %0, %low : (tensor<64x64xi1>, tensor<8x64x64xf32>, tensor<f32>) -> tensor<8x64x64xf32>
    %2 = weir.reduce %1 {axes = array<i64: 2>, keep_dims = true, kind = "max"} : (tensor<8x64x64xf32>) -> tensor<8x64x1xf32>
    %3 = weir.sub %1, %2 : (tensor<8x64x64xf32>, tensor<8x64x1xf32>) -> tensor<8x64x64xf32>
    %4 = weir.exp %3 : (tensor<8x64x64xf32>) -> tensor<8x64x64xf32>
    %5 = weir.reduce %4 {axes = array<i64: 2>, keep_dims = true, kind = "sum"} : (tensor<8x64x64xf32>) -> tensor<8x64x1xf32>
    %6 = weir.div %4, %5 : (tensor<8x64x64xf32>, tensor<8x64x1xf32>) -> tensor<8x64x64xf32>
    %7 = weir.dot_general %6, %v {accumulator = f32, lhs_batch = array<i64: 0>, lhs_contract = array<i64: 2>, rhs_batch = array<i64: 0>, rhs_contract = array<i64: 1>} : (tensor<8x64x64xf32>, tensor<8x64x32xf32>) -> tensor<8x64x32xf32>
    return %7, %seen : tensor<8x64x32xf32>, tensor<64x64xi1>
  }

  // The softmax runs along the queries.
  // CHECK-LABEL: func.func @other_axis
  // CHECK: -> tensor<8x64x64xf32>
  // CHECK: return
  func.func @other_axis(%q: tensor<8x64x32xf32>, %k: tensor<8x32x64xf32>, %v: tensor<8x64x32xf32>) -> tensor<8x64x32xf32> {
    %0 = weir.dot_general %q, %k {accumulator = f32, lhs_batch = array<i64: 0>, lhs_contract = array<i64: 2>, rhs_batch = array<i64: 0>, rhs_contract = array<i64: 1>} : (tensor<8x64x32xf32>, tensor<8x32x64xf32>) -> tensor<8x64x64xf32>
    %2 = weir.reduce %0 {axes = array<i64: 1>, keep_dims = true, kind = "max"} : (tensor<8x64x64xf32>) -> tensor<8x1x64xf32>
    %3 = weir.sub %0, %2 : (tensor<8x64x64xf32>, tensor<8x1x64xf32>) -> tensor<8x64x64xf32>
    %4 = weir.exp %3 : (tensor<8x64x64xf32>) -> tensor<8x64x64xf32>
    %5 = weir.reduce %4 {axes = array<i64: 1>, keep_dims = true, kind = "sum"} : (tensor<8x64x64xf32>) -> tensor<8x1x64xf32>
    %6 = weir.div %4, %5 : (tensor<8x64x64xf32>, tensor<8x1x64xf32>) -> tensor<8x64x64xf32>
    %7 = weir.dot_general %6, %v {accumulator = f32, lhs_batch = array<i64: 0>, lhs_contract = array<i64: 2>, rhs_batch = array<i64: 0>, rhs_contract = array<i64: 1>} : (tensor<8x64x64xf32>, tensor<8x64x32xf32>) -> tensor<8x64x32xf32>
    return %7 : tensor<8x64x32xf32>
  }

  // Few queries of more keys, as a decoder's, do not pay for panels.
  // CHECK-LABEL: func.func @few_queries
  // CHECK: -> tensor<8x31x64xf32>
  // CHECK: return
  func.func @few_queries(%q: tensor<8x31x32xf32>, %k: tensor<8x32x64xf32>, %v: tensor<8x64x32xf32>) -> tensor<8x31x32xf32> {
    %0 = weir.dot_general %q, %k {accumulator = f32, lhs_batch = array<i64: 0>, lhs_contract = array<i64: 2>, rhs_batch = array<i64: 0>, rhs_contract = array<i64: 1>} : (tensor<8x31x32xf32>, tensor<8x32x64xf32>) -> tensor<8x31x64xf32>
    %2 = weir.reduce %0 {axes = array<i64: 2>, keep_dims = true, kind = "max"} : (tensor<8x31x64xf32>) -> tensor<8x31x1xf32>
    %3 = weir.sub %0, %2 : (tensor<8x31x64xf32>, tensor<8x31x1xf32>) -> tensor<8x31x64xf32>
    %4 = weir.exp %3 : (tensor<8x31x64xf32>) -> tensor<8x31x64xf32>
    %5 = weir.reduce %4 {axes = array<i64: 2>, keep_dims = true, kind = "sum"} : (tensor<8x31x64xf32>) -> tensor<8x31x1xf32>
    %6 = weir.div %4, %5 : (tensor<8x31x64xf32>, tensor<8x31x1xf32>) -> tensor<8x31x64xf32>
    %7 = weir.dot_general %6, %v {accumulator = f32, lhs_batch = array<i64: 0>, lhs_contract = array<i64: 2>, rhs_batch = array<i64: 0>, rhs_contract = array<i64: 1>} : (tensor<8x31x64xf32>, tensor<8x64x32xf32>) -> tensor<8x31x32xf32>
    return %7 : tensor<8x31x32xf32>
  }
}
