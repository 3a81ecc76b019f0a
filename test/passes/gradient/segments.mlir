// RUN: weir-opt %s --weir-differentiate --canonicalize --split-input-file | FileCheck %s

// Of 16 trips what every fourth begins with is kept (4 rows of the state); the gradient goes back
// through the segments, runs each again, keeps its trips (4 rows of the product), and then goes
// back through these. No tensor has 16 rows.
// CHECK-LABEL: func.func @gradient(
// CHECK-NOT: tensor<16x
// CHECK: weir.while
// CHECK: weir.while
// CHECK: weir.scatter_nd {{.*}}tensor<4x2x3xf32>
// CHECK: weir.while
// CHECK: weir.gather {{.*}}tensor<4x2x3xf32>
// CHECK: weir.while
// CHECK: weir.dot_general
// CHECK: weir.scatter_nd {{.*}}tensor<4x2x3xf32>
// CHECK: weir.while
// CHECK-NOT: tensor<16x
// CHECK: return
module attributes {weir.checkpoint_loops} {
  func.func @main(%h: tensor<2x3xf32>, %w: tensor<3x3xf32>) -> tensor<2x3xf32> attributes {weir.gradient = "gradient"} {
    %zero = weir.constant dense<0> : tensor<i64>
    %one = weir.constant dense<1> : tensor<i64>
    %end = weir.constant dense<16> : tensor<i64>
    %0:2 = "weir.while"(%zero, %h) ({
    ^bb0(%i: tensor<i64>, %s: tensor<2x3xf32>):
      %c = weir.compare %i, %end {predicate = "lt"} : (tensor<i64>, tensor<i64>) -> tensor<i1>
      "weir.yield"(%c) : (tensor<i1>) -> ()
    }, {
    ^bb0(%i: tensor<i64>, %s: tensor<2x3xf32>):
      %p = weir.dot_general %s, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, accumulator = f32} : (tensor<2x3xf32>, tensor<3x3xf32>) -> tensor<2x3xf32>
      %t = weir.tanh %p : (tensor<2x3xf32>) -> tensor<2x3xf32>
      %n = weir.add %i, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
      "weir.yield"(%n, %t) : (tensor<i64>, tensor<2x3xf32>) -> ()
    }) : (tensor<i64>, tensor<2x3xf32>) -> (tensor<i64>, tensor<2x3xf32>)
    return %0#1 : tensor<2x3xf32>
  }
}

// -----

// Without the attribute every trip's state is kept, and so is that of eight trips with it.
// CHECK-LABEL: func.func @gradient(
// CHECK: tensor<8x2xf32>
// CHECK-NOT: tensor<3x2xf32>
module attributes {weir.checkpoint_loops} {
  func.func @main(%h: tensor<2xf32>) -> tensor<2xf32> attributes {weir.gradient = "gradient"} {
    %zero = weir.constant dense<0> : tensor<i64>
    %one = weir.constant dense<1> : tensor<i64>
    %end = weir.constant dense<8> : tensor<i64>
    %0:2 = "weir.while"(%zero, %h) ({
    ^bb0(%i: tensor<i64>, %s: tensor<2xf32>):
      %c = weir.compare %i, %end {predicate = "lt"} : (tensor<i64>, tensor<i64>) -> tensor<i1>
      "weir.yield"(%c) : (tensor<i1>) -> ()
    }, {
    ^bb0(%i: tensor<i64>, %s: tensor<2xf32>):
      %t = weir.tanh %s : (tensor<2xf32>) -> tensor<2xf32>
      %n = weir.add %i, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
      "weir.yield"(%n, %t) : (tensor<i64>, tensor<2xf32>) -> ()
    }) : (tensor<i64>, tensor<2xf32>) -> (tensor<i64>, tensor<2xf32>)
    return %0#1 : tensor<2xf32>
  }
}
