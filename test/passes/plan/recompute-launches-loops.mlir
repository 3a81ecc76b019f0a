// Launches inside of a loop or conditional run again where nothing around it keeps the
// limit, and only there.
// REQUIRES: weir-opt
// RUN: weir-opt %s --weir-recompute-launches=limit=13000 | FileCheck %s
// RUN: weir-opt --weir-recompute-launches=limit=17500 %s | FileCheck %s --check-prefix=FITS

// The value that waits across the loop is dropped first: once, not in each turn. That
// is not enough: what waits in the loop is dropped, too.
// CHECK: fits = true
// CHECK-SAME: launches = 2
// CHECK-LABEL: @turns
// CHECK: launch @wide(%arg0)
// CHECK: weir.while
// CHECK: do {
// CHECK: %[[A:.*]] = weir_plan.launch @wide(%[[B0:.*]]) :
// CHECK-NEXT: launch @sum(%[[A]])
// CHECK: launch @both
// CHECK: %[[B:.*]] = weir_plan.launch @wide(%[[B0]])
// CHECK: launch @sum(%[[B]])
// CHECK: weir.yield
// CHECK: launch @wide(%arg0)
// CHECK: launch @sum

// With more room it is enough.
// FITS: fits = true
// FITS-SAME: launches = 1
// FITS-LABEL: @turns
// FITS: launch @wide(%arg0)
// FITS: do {
// FITS-COUNT-3: launch @wide
// FITS-NOT: launch @wide
// FITS: weir.yield
// FITS: launch @wide(%arg0)
module {
weir_plan.kernel @wide schedule <loops> nodes "w" {
^bb0(%x: tensor<1xf32>):
  %shape = weir.constant dense<1024> : tensor<1xi64>
  %0 = weir.tile %x, %shape : (tensor<1xf32>, tensor<1xi64>) -> tensor<1024xf32>
  weir_plan.return %0 : tensor<1024xf32>
}
weir_plan.kernel @both schedule <loops> nodes "b" {
^bb0(%x: tensor<1024xf32>, %y: tensor<1024xf32>):
  %0 = weir.reverse %x {axes = array<i64: 0>} : (tensor<1024xf32>) -> tensor<1024xf32>
  %1 = weir.reverse %y {axes = array<i64: 0>} : (tensor<1024xf32>) -> tensor<1024xf32>
  %2 = weir.add %0, %1 : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  weir_plan.return %2 : tensor<1024xf32>
}
weir_plan.kernel @sum schedule <loops> nodes "s" {
^bb0(%x: tensor<1024xf32>):
  %0 = weir.reduce %x {axes = array<i64: 0>, keep_dims = true, kind = "sum"} : (tensor<1024xf32>) -> tensor<1xf32>
  weir_plan.return %0 : tensor<1xf32>
}
weir_plan.kernel @all schedule <loops> nodes "a" {
^bb0(%x: tensor<1xf32>, %y: tensor<1xf32>, %z: tensor<1xf32>):
  %0 = weir.add %x, %y : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
  %1 = weir.add %0, %z : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
  weir_plan.return %1 : tensor<1xf32>
}
func.func @turns(%a: tensor<1xf32>, %n: tensor<i32>) -> (tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) {
  %zero = weir.constant dense<0> : tensor<i32>
  %one = weir.constant dense<1> : tensor<i32>
  %outer = weir_plan.launch @wide(%a) : (tensor<1xf32>) -> tensor<1024xf32>
  %before = weir_plan.launch @sum(%outer) : (tensor<1024xf32>) -> tensor<1xf32>
  %r:2 = weir.while %n, %before : (tensor<i32>, tensor<1xf32>) -> (tensor<i32>, tensor<1xf32>) while {
  ^bb0(%i: tensor<i32>, %b: tensor<1xf32>):
    %go = weir.compare %i, %zero {predicate = "gt"} : (tensor<i32>, tensor<i32>) -> tensor<i1>
    weir.yield %go : tensor<i1>
  } do {
  ^bb0(%i: tensor<i32>, %b: tensor<1xf32>):
    %next = weir.sub %i, %one : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %0 = weir_plan.launch @wide(%b) : (tensor<1xf32>) -> tensor<1024xf32>
    %s = weir_plan.launch @sum(%0) : (tensor<1024xf32>) -> tensor<1xf32>
    %1 = weir_plan.launch @wide(%s) : (tensor<1xf32>) -> tensor<1024xf32>
    %2 = weir_plan.launch @wide(%a) : (tensor<1xf32>) -> tensor<1024xf32>
    %3 = weir_plan.launch @both(%1, %2) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
    %t = weir_plan.launch @sum(%3) : (tensor<1024xf32>) -> tensor<1xf32>
    %u = weir_plan.launch @sum(%0) : (tensor<1024xf32>) -> tensor<1xf32>
    %v = weir_plan.launch @all(%s, %t, %u) : (tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
    weir.yield %next, %v : tensor<i32>, tensor<1xf32>
  }
  %after = weir_plan.launch @sum(%outer) : (tensor<1024xf32>) -> tensor<1xf32>
  return %before, %r#1, %after : tensor<1xf32>, tensor<1xf32>, tensor<1xf32>
}
}
