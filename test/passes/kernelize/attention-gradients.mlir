// What flows back through an attention computes scores again, where the matrix would be large.
//
// RUN: weir-opt --weir-attention-gradients %s | FileCheck %s
// RUN: weir-opt --weir-attention-gradients --weir-kernelize %s | FileCheck %s --check-prefix=KERNEL

module attributes {weir.target = #weir.target<vector_bytes = 64, vector_registers = 32>} {
  // The forward pass is an attention that nothing looks into: its weights have one reader. The
  // gradient's own come from the same maximum and sum.
  // CHECK-LABEL: func.func @large
  // CHECK: %[[MAX:.*]] = weir.reduce {{.*}}kind = "max"
  // CHECK: %[[SUM:.*]] = weir.reduce {{.*}}kind = "sum"
  // CHECK: %[[Y:.*]] = weir.dot_general
  // CHECK: %[[TERMS:.*]] = weir.mul %[[Y]], %arg3
  // CHECK: %[[MEAN:.*]] = weir.reduce %[[TERMS]]
  // CHECK: %[[INVERSE:.*]] = weir.div {{.*}}, %[[SUM]]
  // CHECK: weir.dot_general %arg0
  // CHECK: weir.sub {{.*}}, %[[MAX]]
  // CHECK: %[[P:.*]] = weir.mul {{.*}}, %[[INVERSE]]
  // CHECK: %[[LESS:.*]] = weir.sub {{.*}}, %[[MEAN]]
  // CHECK: weir.mul %[[P]], %[[LESS]] {weir.attention_gradient}
  // CHECK: return

  // Both passes are a kernel each; means and one over sums are small ones between.
  // KERNEL-LABEL: func.func @large
  // KERNEL-COUNT-4: weir_plan.launch
  // KERNEL-NOT: weir_plan.launch
  // KERNEL: return
  func.func @large(%q: tensor<4x4x128x16xf32>, %k: tensor<4x4x128x16xf32>, %v: tensor<4x4x128x16xf32>, %d: tensor<4x4x128x16xf32>) -> (tensor<4x4x128x16xf32>, tensor<4x4x128x16xf32>, tensor<4x4x128x16xf32>, tensor<4x4x128x16xf32>) {
    %kt = weir.transpose %k {permutation = array<i64: 0, 1, 3, 2>} : (tensor<4x4x128x16xf32>) -> tensor<4x4x16x128xf32>
    %s = weir.dot_general %q, %kt {accumulator = f32, lhs_batch = array<i64: 0, 1>, lhs_contract = array<i64: 3>, rhs_batch = array<i64: 0, 1>, rhs_contract = array<i64: 2>} : (tensor<4x4x128x16xf32>, tensor<4x4x16x128xf32>) -> tensor<4x4x128x128xf32>
    %m = weir.reduce %s {axes = array<i64: 3>, keep_dims = true, kind = "max"} : (tensor<4x4x128x128xf32>) -> tensor<4x4x128x1xf32>
    %x = weir.sub %s, %m : (tensor<4x4x128x128xf32>, tensor<4x4x128x1xf32>) -> tensor<4x4x128x128xf32>
    %e = weir.exp %x : (tensor<4x4x128x128xf32>) -> tensor<4x4x128x128xf32>
    %t = weir.reduce %e {axes = array<i64: 3>, keep_dims = true, kind = "sum"} : (tensor<4x4x128x128xf32>) -> tensor<4x4x128x1xf32>
    %w = weir.div %e, %t : (tensor<4x4x128x128xf32>, tensor<4x4x128x1xf32>) -> tensor<4x4x128x128xf32>
    %y = weir.dot_general %w, %v {accumulator = f32, lhs_batch = array<i64: 0, 1>, lhs_contract = array<i64: 3>, rhs_batch = array<i64: 0, 1>, rhs_contract = array<i64: 2>} : (tensor<4x4x128x128xf32>, tensor<4x4x128x16xf32>) -> tensor<4x4x128x16xf32>
    %vt = weir.transpose %v {permutation = array<i64: 0, 1, 3, 2>} : (tensor<4x4x128x16xf32>) -> tensor<4x4x16x128xf32>
    %dw = weir.dot_general %d, %vt {accumulator = f32, lhs_batch = array<i64: 0, 1>, lhs_contract = array<i64: 3>, rhs_batch = array<i64: 0, 1>, rhs_contract = array<i64: 2>} : (tensor<4x4x128x16xf32>, tensor<4x4x16x128xf32>) -> tensor<4x4x128x128xf32>
    %a = weir.mul %dw, %w : (tensor<4x4x128x128xf32>, tensor<4x4x128x128xf32>) -> tensor<4x4x128x128xf32>
    %b = weir.reduce %a {axes = array<i64: 3>, keep_dims = true, kind = "sum"} : (tensor<4x4x128x128xf32>) -> tensor<4x4x128x1xf32>
    %c = weir.sub %dw, %b : (tensor<4x4x128x128xf32>, tensor<4x4x128x1xf32>) -> tensor<4x4x128x128xf32>
    %ds = weir.mul %w, %c : (tensor<4x4x128x128xf32>, tensor<4x4x128x128xf32>) -> tensor<4x4x128x128xf32>
    %dq = weir.dot_general %ds, %k {accumulator = f32, lhs_batch = array<i64: 0, 1>, lhs_contract = array<i64: 3>, rhs_batch = array<i64: 0, 1>, rhs_contract = array<i64: 2>} : (tensor<4x4x128x128xf32>, tensor<4x4x128x16xf32>) -> tensor<4x4x128x16xf32>
    %dst = weir.transpose %ds {permutation = array<i64: 0, 1, 3, 2>} : (tensor<4x4x128x128xf32>) -> tensor<4x4x128x128xf32>
    %dk = weir.dot_general %dst, %q {accumulator = f32, lhs_batch = array<i64: 0, 1>, lhs_contract = array<i64: 3>, rhs_batch = array<i64: 0, 1>, rhs_contract = array<i64: 2>} : (tensor<4x4x128x128xf32>, tensor<4x4x128x16xf32>) -> tensor<4x4x128x16xf32>
    %wt = weir.transpose %w {permutation = array<i64: 0, 1, 3, 2>} : (tensor<4x4x128x128xf32>) -> tensor<4x4x128x128xf32>
    %dv = weir.dot_general %wt, %d {accumulator = f32, lhs_batch = array<i64: 0, 1>, lhs_contract = array<i64: 3>, rhs_batch = array<i64: 0, 1>, rhs_contract = array<i64: 2>} : (tensor<4x4x128x128xf32>, tensor<4x4x128x16xf32>) -> tensor<4x4x128x16xf32>
    return %y, %dq, %dk, %dv : tensor<4x4x128x16xf32>, tensor<4x4x128x16xf32>, tensor<4x4x128x16xf32>, tensor<4x4x128x16xf32>
  }

  // Weights that are a result are there anyway.
  // CHECK-LABEL: func.func @asked_for
  // CHECK-NOT: weir.attention_gradient
  // CHECK: return
  func.func @asked_for(%q: tensor<4x4x128x16xf32>, %k: tensor<4x4x128x16xf32>, %v: tensor<4x4x128x16xf32>, %d: tensor<4x4x128x16xf32>) -> (tensor<4x4x128x16xf32>, tensor<4x4x128x16xf32>, tensor<4x4x128x16xf32>, tensor<4x4x128x128xf32>) {
    %kt = weir.transpose %k {permutation = array<i64: 0, 1, 3, 2>} : (tensor<4x4x128x16xf32>) -> tensor<4x4x16x128xf32>
    %s = weir.dot_general %q, %kt {accumulator = f32, lhs_batch = array<i64: 0, 1>, lhs_contract = array<i64: 3>, rhs_batch = array<i64: 0, 1>, rhs_contract = array<i64: 2>} : (tensor<4x4x128x16xf32>, tensor<4x4x16x128xf32>) -> tensor<4x4x128x128xf32>
    %m = weir.reduce %s {axes = array<i64: 3>, keep_dims = true, kind = "max"} : (tensor<4x4x128x128xf32>) -> tensor<4x4x128x1xf32>
    %x = weir.sub %s, %m : (tensor<4x4x128x128xf32>, tensor<4x4x128x1xf32>) -> tensor<4x4x128x128xf32>
    %e = weir.exp %x : (tensor<4x4x128x128xf32>) -> tensor<4x4x128x128xf32>
    %t = weir.reduce %e {axes = array<i64: 3>, keep_dims = true, kind = "sum"} : (tensor<4x4x128x128xf32>) -> tensor<4x4x128x1xf32>
    %w = weir.div %e, %t : (tensor<4x4x128x128xf32>, tensor<4x4x128x1xf32>) -> tensor<4x4x128x128xf32>
    %y = weir.dot_general %w, %v {accumulator = f32, lhs_batch = array<i64: 0, 1>, lhs_contract = array<i64: 3>, rhs_batch = array<i64: 0, 1>, rhs_contract = array<i64: 2>} : (tensor<4x4x128x128xf32>, tensor<4x4x128x16xf32>) -> tensor<4x4x128x16xf32>
    %vt = weir.transpose %v {permutation = array<i64: 0, 1, 3, 2>} : (tensor<4x4x128x16xf32>) -> tensor<4x4x16x128xf32>
    %dw = weir.dot_general %d, %vt {accumulator = f32, lhs_batch = array<i64: 0, 1>, lhs_contract = array<i64: 3>, rhs_batch = array<i64: 0, 1>, rhs_contract = array<i64: 2>} : (tensor<4x4x128x16xf32>, tensor<4x4x16x128xf32>) -> tensor<4x4x128x128xf32>
    %a = weir.mul %dw, %w : (tensor<4x4x128x128xf32>, tensor<4x4x128x128xf32>) -> tensor<4x4x128x128xf32>
    %b = weir.reduce %a {axes = array<i64: 3>, keep_dims = true, kind = "sum"} : (tensor<4x4x128x128xf32>) -> tensor<4x4x128x1xf32>
    %c = weir.sub %dw, %b : (tensor<4x4x128x128xf32>, tensor<4x4x128x1xf32>) -> tensor<4x4x128x128xf32>
    %ds = weir.mul %w, %c : (tensor<4x4x128x128xf32>, tensor<4x4x128x128xf32>) -> tensor<4x4x128x128xf32>
    %dq = weir.dot_general %ds, %k {accumulator = f32, lhs_batch = array<i64: 0, 1>, lhs_contract = array<i64: 3>, rhs_batch = array<i64: 0, 1>, rhs_contract = array<i64: 2>} : (tensor<4x4x128x128xf32>, tensor<4x4x128x16xf32>) -> tensor<4x4x128x16xf32>
    %dst = weir.transpose %ds {permutation = array<i64: 0, 1, 3, 2>} : (tensor<4x4x128x128xf32>) -> tensor<4x4x128x128xf32>
    %dk = weir.dot_general %dst, %q {accumulator = f32, lhs_batch = array<i64: 0, 1>, lhs_contract = array<i64: 3>, rhs_batch = array<i64: 0, 1>, rhs_contract = array<i64: 2>} : (tensor<4x4x128x128xf32>, tensor<4x4x128x16xf32>) -> tensor<4x4x128x16xf32>
    return %y, %dq, %dk, %w : tensor<4x4x128x16xf32>, tensor<4x4x128x16xf32>, tensor<4x4x128x16xf32>, tensor<4x4x128x128xf32>
  }
}

// The kernels of the first function: of the gradient's a part is a head.
// KERNEL: schedule <attention, {{.*}}parts = array<i64: 1, 1, 64, 1099511627776>
// KERNEL: schedule <attention, {{.*}}parts = array<i64: 1, 1, 1099511627776, 1099511627776>
