// A carried value on which no result, no condition and no effect depends goes, with what it is
// made of, also where it is made of itself.
// REQUIRES: weir-opt
// RUN: weir-opt %s --weir-value-numbering | FileCheck %s

// CHECK-LABEL: @sums
// CHECK: %[[R:.*]]:2 = weir.while %{{[^,]*}}, %{{[^,]*}} : (tensor<i64>, tensor<3xf32>) ->
// CHECK-NOT: weir.mul
// CHECK-NOT: weir.exp
// CHECK: return %[[R]]#1
func.func @sums(%x: tensor<3xf32>, %n: tensor<i64>) -> tensor<3xf32> {
  %zero = weir.constant dense<0> : tensor<i64>
  %one = weir.constant dense<1> : tensor<i64>
  %r:4 = weir.while %zero, %x, %x, %x : (tensor<i64>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<i64>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) while {
  ^bb0(%i: tensor<i64>, %a: tensor<3xf32>, %b: tensor<3xf32>, %c: tensor<3xf32>):
    %more = weir.compare %i, %n {predicate = "lt"} : (tensor<i64>, tensor<i64>) -> tensor<i1>
    weir.yield %more : tensor<i1>
  } do {
  ^bb0(%i: tensor<i64>, %a: tensor<3xf32>, %b: tensor<3xf32>, %c: tensor<3xf32>):
    %j = weir.add %i, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %p = weir.add %a, %a : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %q = weir.mul %b, %p : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %e = weir.exp %b : (tensor<3xf32>) -> tensor<3xf32>
    %s = weir.mul %c, %e : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    weir.yield %j, %p, %q, %s : tensor<i64>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
  }
  return %r#1 : tensor<3xf32>
}

// What the value that is needed is made of stays.
// CHECK-LABEL: @chain
// CHECK: weir.while
// CHECK: weir.mul
func.func @chain(%x: tensor<3xf32>, %n: tensor<i64>) -> tensor<3xf32> {
  %zero = weir.constant dense<0> : tensor<i64>
  %one = weir.constant dense<1> : tensor<i64>
  %r:3 = weir.while %zero, %x, %x : (tensor<i64>, tensor<3xf32>, tensor<3xf32>) -> (tensor<i64>, tensor<3xf32>, tensor<3xf32>) while {
  ^bb0(%i: tensor<i64>, %a: tensor<3xf32>, %b: tensor<3xf32>):
    %more = weir.compare %i, %n {predicate = "lt"} : (tensor<i64>, tensor<i64>) -> tensor<i1>
    weir.yield %more : tensor<i1>
  } do {
  ^bb0(%i: tensor<i64>, %a: tensor<3xf32>, %b: tensor<3xf32>):
    %j = weir.add %i, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %q = weir.mul %b, %b : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    weir.yield %j, %b, %q : tensor<i64>, tensor<3xf32>, tensor<3xf32>
  }
  return %r#1 : tensor<3xf32>
}
