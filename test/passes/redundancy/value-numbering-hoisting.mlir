// What need not be computed inside of a loop or a conditional.
// REQUIRES: weir-opt
// RUN: weir-opt %s --weir-value-numbering --split-input-file | FileCheck %s

// A product of what does not change; the reshape goes with it, since it needs it.
// CHECK: weir.hoisted = {dot_general = ["?"], reshape = ["?"]}
// CHECK-LABEL: @invariant
// CHECK: weir.reshape
// CHECK: weir.dot_general
// CHECK: weir.while
// CHECK-NOT: weir.dot_general
func.func @invariant(%n: tensor<i32>, %x: tensor<4xf32>, %w: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %c0 = weir.constant dense<0> : tensor<i32>
  %c1 = weir.constant dense<1> : tensor<i32>
  %0:2 = weir.while %n, %w : (tensor<i32>, tensor<2x2xf32>) -> (tensor<i32>, tensor<2x2xf32>) while {
  ^bb0(%i: tensor<i32>, %a: tensor<2x2xf32>):
    %go = weir.compare %i, %c0 {predicate = "gt"} : (tensor<i32>, tensor<i32>) -> tensor<i1>
    weir.yield %go : tensor<i1>
  } do {
  ^bb0(%i: tensor<i32>, %a: tensor<2x2xf32>):
    %next = weir.sub %i, %c1 : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %shape = weir.constant dense<2> : tensor<2xi64>
    %square = weir.reshape %x, %shape : (tensor<4xf32>, tensor<2xi64>) -> tensor<2x2xf32>
    %p = weir.dot_general %square, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, accumulator = f32} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %aa = weir.add %a, %p : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    weir.yield %next, %aa : tensor<i32>, tensor<2x2xf32>
  }
  return %0#1 : tensor<2x2xf32>
}

// -----

// A division by a number that may be 0 stays: the loop may not run at all. What
// is cheap to repeat stays, too.
// CHECK-LABEL: @stays
// CHECK: weir.while
// CHECK: do {
// CHECK-DAG: weir.div
// CHECK-DAG: weir.broadcast_to
func.func @stays(%n: tensor<i32>, %k: tensor<i32>) -> tensor<4xi32> {
  %c0 = weir.constant dense<0> : tensor<i32>
  %c1 = weir.constant dense<1> : tensor<i32>
  %zero = weir.constant dense<0> : tensor<4xi32>
  %0:2 = weir.while %n, %zero : (tensor<i32>, tensor<4xi32>) -> (tensor<i32>, tensor<4xi32>) while {
  ^bb0(%i: tensor<i32>, %a: tensor<4xi32>):
    %go = weir.compare %i, %c0 {predicate = "gt"} : (tensor<i32>, tensor<i32>) -> tensor<i1>
    weir.yield %go : tensor<i1>
  } do {
  ^bb0(%i: tensor<i32>, %a: tensor<4xi32>):
    %next = weir.sub %i, %c1 : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %q = weir.div %n, %k : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %shape = weir.constant dense<4> : tensor<1xi64>
    %row = weir.broadcast_to %q, %shape : (tensor<i32>, tensor<1xi64>) -> tensor<4xi32>
    %aa = weir.mul %a, %row : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
    weir.yield %next, %aa : tensor<i32>, tensor<4xi32>
  }
  return %0#1 : tensor<4xi32>
}

// -----

// Behind an effect it stays: its own error would come before the assertion's.
// CHECK-LABEL: @behind_an_effect
// CHECK-NOT: weir.div
// CHECK: weir.while
// CHECK: weir.assert
// CHECK: weir.div
func.func @behind_an_effect(%n: tensor<i32>, %k: tensor<i32>, %ok: tensor<i1>) -> tensor<i32> {
  %c1 = weir.constant dense<1> : tensor<i32>
  %0 = weir.while %n : (tensor<i32>) -> tensor<i32> while {
  ^bb0(%i: tensor<i32>):
    %t = weir.assert %ok {message = "m", code = 3 : i64} : (tensor<i1>) -> !weir.token
    %q = weir.div %n, %k : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %go = weir.compare %i, %q {predicate = "gt"} : (tensor<i32>, tensor<i32>) -> tensor<i1>
    weir.yield %go : tensor<i1>
  } do {
  ^bb0(%i: tensor<i32>):
    %next = weir.sub %i, %c1 : (tensor<i32>, tensor<i32>) -> tensor<i32>
    weir.yield %next : tensor<i32>
  }
  return %0 : tensor<i32>
}

// -----

// The condition is asked at least once: the same division may go.
// CHECK-LABEL: @condition
// CHECK: weir.div
// CHECK: weir.while
// CHECK-NOT: weir.div
func.func @condition(%n: tensor<i32>, %k: tensor<i32>) -> tensor<i32> {
  %c1 = weir.constant dense<1> : tensor<i32>
  %0 = weir.while %n : (tensor<i32>) -> tensor<i32> while {
  ^bb0(%i: tensor<i32>):
    %q = weir.div %n, %k : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %go = weir.compare %i, %q {predicate = "gt"} : (tensor<i32>, tensor<i32>) -> tensor<i1>
    weir.yield %go : tensor<i1>
  } do {
  ^bb0(%i: tensor<i32>):
    %next = weir.sub %i, %c1 : (tensor<i32>, tensor<i32>) -> tensor<i32>
    weir.yield %next : tensor<i32>
  }
  return %0 : tensor<i32>
}

// -----

// Both ways compute it.
// CHECK-LABEL: @both_ways
// CHECK: weir.exp
// CHECK: weir.if
// CHECK-NOT: weir.exp
func.func @both_ways(%c: tensor<i1>, %x: tensor<f32>) -> tensor<f32> {
  %0 = weir.if %c : (tensor<i1>) -> tensor<f32> then {
    %1 = weir.exp %x : (tensor<f32>) -> tensor<f32>
    weir.yield %1 : tensor<f32>
  } else {
    %2 = weir.exp %x : (tensor<f32>) -> tensor<f32>
    %3 = weir.neg %2 : (tensor<f32>) -> tensor<f32>
    weir.yield %3 : tensor<f32>
  }
  return %0 : tensor<f32>
}

// -----

// Only one does.
// CHECK-LABEL: @one_way
// CHECK: weir.if
// CHECK: weir.exp
func.func @one_way(%c: tensor<i1>, %x: tensor<f32>) -> tensor<f32> {
  %0 = weir.if %c : (tensor<i1>) -> tensor<f32> then {
    %1 = weir.exp %x : (tensor<f32>) -> tensor<f32>
    weir.yield %1 : tensor<f32>
  } else {
    weir.yield %x : tensor<f32>
  }
  return %0 : tensor<f32>
}
