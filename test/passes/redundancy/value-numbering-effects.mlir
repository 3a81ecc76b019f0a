// Variables, tokens, devices.
// REQUIRES: weir-opt
// RUN: weir-opt %s --weir-value-numbering --split-input-file | FileCheck %s

// Reads without a write between them are one; behind a write they are new.
// A write to another variable does not count.
// CHECK-LABEL: @reads
// CHECK-COUNT-2: weir.variable_read
// CHECK-NOT: weir.variable_read
func.func @reads(%x: tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>) {
  %v = weir.variable {name = "v", container = "", type = tensor<f32>} : !weir.resource
  %same = weir.variable {name = "v", container = "", type = tensor<f32>} : !weir.resource
  %w = weir.variable {name = "w", container = "", type = tensor<f32>} : !weir.resource
  %0 = weir.variable_read %v : (!weir.resource) -> tensor<f32>
  %t0 = weir.variable_assign %w, %x : (!weir.resource, tensor<f32>) -> !weir.token
  %1 = weir.variable_read %same : (!weir.resource) -> tensor<f32>
  %t1 = weir.variable_assign %same, %x : (!weir.resource, tensor<f32>) -> !weir.token
  %2 = weir.variable_read %v, %t1 : (!weir.resource, !weir.token) -> tensor<f32>
  return %0, %1, %2 : tensor<f32>, tensor<f32>, tensor<f32>
}

// -----

// A loop that writes: its reads are neither those before it nor those behind.
// CHECK-LABEL: @reads_of_a_loop
// CHECK-COUNT-3: weir.variable_read
func.func @reads_of_a_loop(%n: tensor<i32>) -> (tensor<i32>, tensor<i32>) {
  %c0 = weir.constant dense<0> : tensor<i32>
  %c1 = weir.constant dense<1> : tensor<i32>
  %v = weir.variable {name = "v", container = "", type = tensor<i32>} : !weir.resource
  %0 = weir.variable_read %v : (!weir.resource) -> tensor<i32>
  %1 = weir.while %n : (tensor<i32>) -> tensor<i32> while {
  ^bb0(%i: tensor<i32>):
    %go = weir.compare %i, %c0 {predicate = "gt"} : (tensor<i32>, tensor<i32>) -> tensor<i1>
    weir.yield %go : tensor<i1>
  } do {
  ^bb0(%i: tensor<i32>):
    %next = weir.sub %i, %c1 : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %old = weir.variable_read %v : (!weir.resource) -> tensor<i32>
    %sum = weir.add %old, %i : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %t = weir.variable_assign %v, %sum : (!weir.resource, tensor<i32>) -> !weir.token
    weir.yield %next : tensor<i32>
  }
  %2 = weir.variable_read %v : (!weir.resource) -> tensor<i32>
  return %0, %2 : tensor<i32>, tensor<i32>
}

// -----

// One way of a conditional writes: the other still reads the old value, what
// comes behind does not.
// CHECK-LABEL: @reads_of_a_conditional
// CHECK: weir.variable_read
// CHECK: weir.if
// CHECK: weir.variable_assign
// CHECK: } else {
// CHECK-NOT: weir.variable_read
// CHECK: }
// CHECK: weir.variable_read
func.func @reads_of_a_conditional(%c: tensor<i1>, %x: tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>) {
  %v = weir.variable {name = "v", container = "", type = tensor<f32>} : !weir.resource
  %0 = weir.variable_read %v : (!weir.resource) -> tensor<f32>
  %1 = weir.if %c : (tensor<i1>) -> tensor<f32> then {
    %t = weir.variable_assign %v, %x : (!weir.resource, tensor<f32>) -> !weir.token
    weir.yield %x : tensor<f32>
  } else {
    %2 = weir.variable_read %v : (!weir.resource) -> tensor<f32>
    %3 = weir.neg %2 : (tensor<f32>) -> tensor<f32>
    weir.yield %3 : tensor<f32>
  }
  %4 = weir.variable_read %v : (!weir.resource) -> tensor<f32>
  return %0, %1, %4 : tensor<f32>, tensor<f32>, tensor<f32>
}

// -----

// A foreign function may write anything, and is called as often as it says.
// CHECK-LABEL: @foreign
// CHECK: weir.variable_read
// CHECK-COUNT-2: weir.custom_call
// CHECK: weir.variable_read
func.func @foreign(%x: tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) {
  %v = weir.variable {name = "v", container = "", type = tensor<f32>} : !weir.resource
  %0 = weir.variable_read %v : (!weir.resource) -> tensor<f32>
  %1 = weir.custom_call %x {callee = "f", parameters = array<i64>, pure = false} : (tensor<f32>) -> tensor<f32>
  %2 = weir.custom_call %x {callee = "f", parameters = array<i64>, pure = false} : (tensor<f32>) -> tensor<f32>
  %3 = weir.variable_read %v : (!weir.resource) -> tensor<f32>
  return %0, %1, %2, %3 : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>
}

// -----

// A pure one is called once.
// CHECK-LABEL: @pure_foreign
// CHECK-COUNT-1: weir.custom_call
// CHECK-NOT: weir.custom_call
func.func @pure_foreign(%x: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  %1 = weir.custom_call %x {callee = "f", parameters = array<i64>, pure = true} : (tensor<f32>) -> tensor<f32>
  %2 = weir.custom_call %x {callee = "f", parameters = array<i64>, pure = true} : (tensor<f32>) -> tensor<f32>
  return %1, %2 : tensor<f32>, tensor<f32>
}

// -----

// A gate is more than its value; two with the same tokens are one.
// CHECK-LABEL: @gates
// CHECK: %[[T:.*]] = weir.assert
// CHECK: %[[G:.*]] = weir.gate %arg1 after %[[T]]
// CHECK-NOT: weir.gate
// CHECK: return %[[G]], %[[G]], %arg1
func.func @gates(%c: tensor<i1>, %x: tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>) {
  %t = weir.assert %c {message = "m", code = 3 : i64} : (tensor<i1>) -> !weir.token
  %0 = weir.gate %x after %t : tensor<f32>
  %1 = weir.gate %x after %t, %t : tensor<f32>
  return %0, %1, %x : tensor<f32>, tensor<f32>, tensor<f32>
}

// -----

// Each device computes for itself; what follows from equal values on one device
// is still found to be equal.
// CHECK-LABEL: @devices
// CHECK-COUNT-2: weir.exp
// CHECK-COUNT-1: weir.neg
// CHECK-NOT: weir.neg
func.func @devices(%x: tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>) {
  %0 = weir.exp %x {weir.device = "/device:CPU:0"} : (tensor<f32>) -> tensor<f32>
  %1 = weir.exp %x {weir.device = "/device:CPU:1"} : (tensor<f32>) -> tensor<f32>
  %2 = weir.neg %0 {weir.device = "/device:CPU:1"} : (tensor<f32>) -> tensor<f32>
  %3 = weir.neg %1 {weir.device = "/device:CPU:1"} : (tensor<f32>) -> tensor<f32>
  return %1, %2, %3 : tensor<f32>, tensor<f32>, tensor<f32>
}

// -----

// What was removed is counted by operation and node.
// CHECK: weir.removed = {exp = ["second"]}
// CHECK-LABEL: @counted
func.func @counted(%x: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  %0 = weir.exp %x : (tensor<f32>) -> tensor<f32> loc("first")
  %1 = weir.exp %x : (tensor<f32>) -> tensor<f32> loc("second")
  return %0, %1 : tensor<f32>, tensor<f32>
}
