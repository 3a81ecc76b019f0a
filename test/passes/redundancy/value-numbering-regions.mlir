// Loops and conditionals.
// REQUIRES: weir-opt
// RUN: weir-opt %s --weir-value-numbering=hoist=false --split-input-file | FileCheck %s

// Two carried values that begin and change alike are one; equality is presumed
// until an iteration shows otherwise.
// CHECK-LABEL: @alike
// CHECK: weir.while %arg0, %arg1
// CHECK: ^bb0(%[[I:.*]]: tensor<i32>, %[[X:.*]]: tensor<4xf32>)
// CHECK-COUNT-1: weir.mul
// CHECK-NOT: weir.mul
// CHECK: return
func.func @alike(%n: tensor<i32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %c0 = weir.constant dense<0> : tensor<i32>
  %c1 = weir.constant dense<1> : tensor<i32>
  %0:3 = weir.while %n, %x, %x : (tensor<i32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<i32>, tensor<4xf32>, tensor<4xf32>) while {
  ^bb0(%i: tensor<i32>, %a: tensor<4xf32>, %b: tensor<4xf32>):
    %go = weir.compare %i, %c0 {predicate = "gt"} : (tensor<i32>, tensor<i32>) -> tensor<i1>
    weir.yield %go : tensor<i1>
  } do {
  ^bb0(%i: tensor<i32>, %a: tensor<4xf32>, %b: tensor<4xf32>):
    %next = weir.sub %i, %c1 : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %aa = weir.mul %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %bb = weir.mul %b, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    weir.yield %next, %aa, %bb : tensor<i32>, tensor<4xf32>, tensor<4xf32>
  }
  %1 = weir.add %0#1, %0#2 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

// They begin alike and part in the second iteration.
// CHECK-LABEL: @parting
// CHECK-COUNT-2: weir.mul
func.func @parting(%n: tensor<i32>, %x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %c0 = weir.constant dense<0> : tensor<i32>
  %c1 = weir.constant dense<1> : tensor<i32>
  %0:3 = weir.while %n, %x, %x : (tensor<i32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<i32>, tensor<4xf32>, tensor<4xf32>) while {
  ^bb0(%i: tensor<i32>, %a: tensor<4xf32>, %b: tensor<4xf32>):
    %go = weir.compare %i, %c0 {predicate = "gt"} : (tensor<i32>, tensor<i32>) -> tensor<i1>
    weir.yield %go : tensor<i1>
  } do {
  ^bb0(%i: tensor<i32>, %a: tensor<4xf32>, %b: tensor<4xf32>):
    %next = weir.sub %i, %c1 : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %aa = weir.mul %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %bb = weir.mul %b, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    weir.yield %next, %aa, %bb : tensor<i32>, tensor<4xf32>, tensor<4xf32>
  }
  return %0#1, %0#2 : tensor<4xf32>, tensor<4xf32>
}

// -----

// A value that is carried and never changes, though the loop computes it anew:
// x * 1, and 1 is carried, too.
// CHECK-LABEL: @unchanged
// CHECK: weir.while %arg0 :
// CHECK-NOT: weir.mul
// CHECK: return %arg1
func.func @unchanged(%n: tensor<i32>, %x: tensor<f32>) -> tensor<f32> {
  %c0 = weir.constant dense<0> : tensor<i32>
  %c1 = weir.constant dense<1> : tensor<i32>
  %one = weir.constant dense<1.0> : tensor<f32>
  %0:3 = weir.while %n, %x, %one : (tensor<i32>, tensor<f32>, tensor<f32>) -> (tensor<i32>, tensor<f32>, tensor<f32>) while {
  ^bb0(%i: tensor<i32>, %a: tensor<f32>, %b: tensor<f32>):
    %go = weir.compare %i, %c0 {predicate = "gt"} : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %stop = weir.assert %go {message = "m", code = 3 : i64} : (tensor<i1>) -> !weir.token
    weir.yield %go : tensor<i1>
  } do {
  ^bb0(%i: tensor<i32>, %a: tensor<f32>, %b: tensor<f32>):
    %next = weir.sub %i, %c1 : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %aa = weir.mul %a, %b : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %bb = weir.mul %b, %b : (tensor<f32>, tensor<f32>) -> tensor<f32>
    weir.yield %next, %aa, %bb : tensor<i32>, tensor<f32>, tensor<f32>
  }
  return %0#1 : tensor<f32>
}

// -----

// Loops that do the same from the same are one; one that begins otherwise is not.
// CHECK-LABEL: @equal_loops
// CHECK-COUNT-2: weir.while
// CHECK-NOT: weir.while
func.func @equal_loops(%n: tensor<i32>, %x: tensor<f32>, %y: tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>) {
  %c0 = weir.constant dense<0> : tensor<i32>
  %c1 = weir.constant dense<1> : tensor<i32>
  %0:2 = weir.while %n, %x : (tensor<i32>, tensor<f32>) -> (tensor<i32>, tensor<f32>) while {
  ^bb0(%i: tensor<i32>, %a: tensor<f32>):
    %go = weir.compare %i, %c0 {predicate = "gt"} : (tensor<i32>, tensor<i32>) -> tensor<i1>
    weir.yield %go : tensor<i1>
  } do {
  ^bb0(%i: tensor<i32>, %a: tensor<f32>):
    %next = weir.sub %i, %c1 : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %aa = weir.mul %a, %y : (tensor<f32>, tensor<f32>) -> tensor<f32>
    weir.yield %next, %aa : tensor<i32>, tensor<f32>
  }
  %1:2 = weir.while %n, %x : (tensor<i32>, tensor<f32>) -> (tensor<i32>, tensor<f32>) while {
  ^bb0(%i: tensor<i32>, %a: tensor<f32>):
    %go = weir.compare %c0, %i {predicate = "lt"} : (tensor<i32>, tensor<i32>) -> tensor<i1>
    weir.yield %go : tensor<i1>
  } do {
  ^bb0(%i: tensor<i32>, %a: tensor<f32>):
    %aa = weir.mul %y, %a : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %next = weir.sub %i, %c1 : (tensor<i32>, tensor<i32>) -> tensor<i32>
    weir.yield %next, %aa : tensor<i32>, tensor<f32>
  }
  %2:2 = weir.while %n, %y : (tensor<i32>, tensor<f32>) -> (tensor<i32>, tensor<f32>) while {
  ^bb0(%i: tensor<i32>, %a: tensor<f32>):
    %go = weir.compare %i, %c0 {predicate = "gt"} : (tensor<i32>, tensor<i32>) -> tensor<i1>
    weir.yield %go : tensor<i1>
  } do {
  ^bb0(%i: tensor<i32>, %a: tensor<f32>):
    %next = weir.sub %i, %c1 : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %aa = weir.mul %a, %y : (tensor<f32>, tensor<f32>) -> tensor<f32>
    weir.yield %next, %aa : tensor<i32>, tensor<f32>
  }
  return %0#1, %1#1, %2#1 : tensor<f32>, tensor<f32>, tensor<f32>
}

// -----

// Same beginning, same operations, but put together otherwise.
// CHECK-LABEL: @different_loops
// CHECK-COUNT-2: weir.while
func.func @different_loops(%n: tensor<i32>, %x: tensor<f32>, %y: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  %c0 = weir.constant dense<0> : tensor<i32>
  %c1 = weir.constant dense<1> : tensor<i32>
  %0:2 = weir.while %n, %x : (tensor<i32>, tensor<f32>) -> (tensor<i32>, tensor<f32>) while {
  ^bb0(%i: tensor<i32>, %a: tensor<f32>):
    %go = weir.compare %i, %c0 {predicate = "gt"} : (tensor<i32>, tensor<i32>) -> tensor<i1>
    weir.yield %go : tensor<i1>
  } do {
  ^bb0(%i: tensor<i32>, %a: tensor<f32>):
    %next = weir.sub %i, %c1 : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %aa = weir.div %a, %y : (tensor<f32>, tensor<f32>) -> tensor<f32>
    weir.yield %next, %aa : tensor<i32>, tensor<f32>
  }
  %1:2 = weir.while %n, %x : (tensor<i32>, tensor<f32>) -> (tensor<i32>, tensor<f32>) while {
  ^bb0(%i: tensor<i32>, %a: tensor<f32>):
    %go = weir.compare %i, %c0 {predicate = "gt"} : (tensor<i32>, tensor<i32>) -> tensor<i1>
    weir.yield %go : tensor<i1>
  } do {
  ^bb0(%i: tensor<i32>, %a: tensor<f32>):
    %next = weir.sub %i, %c1 : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %aa = weir.div %y, %a : (tensor<f32>, tensor<f32>) -> tensor<f32>
    weir.yield %next, %aa : tensor<i32>, tensor<f32>
  }
  return %0#1, %1#1 : tensor<f32>, tensor<f32>
}

// -----

// Equal conditionals, and one whose ways give the same.
// CHECK-LABEL: @conditionals
// CHECK: %[[IF:.*]] = weir.if
// CHECK-NOT: weir.if
// CHECK: return %[[IF]], %[[IF]], %arg1
func.func @conditionals(%c: tensor<i1>, %x: tensor<f32>, %y: tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>) {
  %0 = weir.if %c : (tensor<i1>) -> tensor<f32> then {
    %1 = weir.add %x, %y : (tensor<f32>, tensor<f32>) -> tensor<f32>
    weir.yield %1 : tensor<f32>
  } else {
    weir.yield %y : tensor<f32>
  }
  %2 = weir.if %c : (tensor<i1>) -> tensor<f32> then {
    %3 = weir.add %y, %x : (tensor<f32>, tensor<f32>) -> tensor<f32>
    weir.yield %3 : tensor<f32>
  } else {
    weir.yield %y : tensor<f32>
  }
  %one = weir.constant dense<1.0> : tensor<f32>
  %4 = weir.if %c : (tensor<i1>) -> tensor<f32> then {
    weir.yield %x : tensor<f32>
  } else {
    %5 = weir.mul %x, %one : (tensor<f32>, tensor<f32>) -> tensor<f32>
    weir.yield %5 : tensor<f32>
  }
  return %0, %2, %4 : tensor<f32>, tensor<f32>, tensor<f32>
}

// -----

// What one way computes is not there on the other, nor behind.
// CHECK-LABEL: @scopes
// CHECK-COUNT-3: weir.exp
func.func @scopes(%c: tensor<i1>, %x: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  %0 = weir.if %c : (tensor<i1>) -> tensor<f32> then {
    %1 = weir.exp %x : (tensor<f32>) -> tensor<f32>
    weir.yield %1 : tensor<f32>
  } else {
    %2 = weir.exp %x : (tensor<f32>) -> tensor<f32>
    %3 = weir.neg %2 : (tensor<f32>) -> tensor<f32>
    weir.yield %3 : tensor<f32>
  }
  %4 = weir.exp %x : (tensor<f32>) -> tensor<f32>
  return %0, %4 : tensor<f32>, tensor<f32>
}

// -----

// Two counters of the inner loop begin alike in the outer loop's first trip alone: one goes on,
// the other begins anew.
// CHECK-LABEL: func.func @counters(
// CHECK: weir.while
// CHECK: weir.while
// CHECK: ^bb0(%[[I:[^:]*]]: tensor<i64>, %[[J:[^:]*]]: tensor<i64>
// CHECK: weir.compare %[[I]], %{{.*}} {predicate = "lt"}
// CHECK: weir.compare %[[J]], %{{.*}} {predicate = "lt"}
func.func @counters(%x: tensor<i64>) -> tensor<i64> {
  %zero = weir.constant dense<0> : tensor<i64>
  %one = weir.constant dense<1> : tensor<i64>
  %four = weir.constant dense<4> : tensor<i64>
  %0 = weir.while %zero : (tensor<i64>) -> (tensor<i64>) while {
  ^bb0(%i: tensor<i64>):
    %c = weir.compare %i, %x {predicate = "lt"} : (tensor<i64>, tensor<i64>) -> tensor<i1>
    weir.yield %c : tensor<i1>
  } do {
  ^bb0(%i: tensor<i64>):
    %1:2 = weir.while %i, %zero : (tensor<i64>, tensor<i64>) -> (tensor<i64>, tensor<i64>) while {
    ^bb0(%k: tensor<i64>, %j: tensor<i64>):
      %c = weir.compare %k, %x {predicate = "lt"} : (tensor<i64>, tensor<i64>) -> tensor<i1>
      %d = weir.compare %j, %four {predicate = "lt"} : (tensor<i64>, tensor<i64>) -> tensor<i1>
      %e = weir.and %c, %d : (tensor<i1>, tensor<i1>) -> tensor<i1>
      weir.yield %e : tensor<i1>
    } do {
    ^bb0(%k: tensor<i64>, %j: tensor<i64>):
      %n = weir.add %k, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
      %m = weir.add %j, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
      weir.yield %n, %m : tensor<i64>, tensor<i64>
    }
    weir.yield %1#0 : tensor<i64>
  }
  return %0 : tensor<i64>
}
