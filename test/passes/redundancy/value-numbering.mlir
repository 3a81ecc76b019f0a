// Algebraic identities that hold in every bit, and those that do not.
// REQUIRES: weir-opt
// RUN: weir-opt %s --weir-value-numbering | FileCheck %s

// Commuted operands.
// CHECK-LABEL: @commuted
// CHECK: %[[A:.*]] = weir.add %arg0, %arg1
// CHECK-NEXT: weir.mul %[[A]], %[[A]]
func.func @commuted(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = weir.add %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = weir.add %y, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = weir.mul %0, %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

// Not of a difference.
// CHECK-LABEL: @not_commuted
// CHECK-COUNT-2: weir.sub
func.func @not_commuted(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = weir.sub %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = weir.sub %y, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = weir.mul %0, %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

// x < y is y > x.
// CHECK-LABEL: @swapped_comparison
// CHECK-COUNT-1: weir.compare
// CHECK-NOT: weir.compare
func.func @swapped_comparison(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xi1>, tensor<4xi1>) {
  %0 = weir.compare %x, %y {predicate = "lt"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %1 = weir.compare %y, %x {predicate = "gt"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  return %0, %1 : tensor<4xi1>, tensor<4xi1>
}

// Sums of integers are regrouped.
// CHECK-LABEL: @integer_sums
// CHECK: %[[A:.*]] = weir.add %arg0, %arg1
// CHECK: %[[B:.*]] = weir.add %[[A]], %arg2
// CHECK: return %[[B]], %[[B]]
func.func @integer_sums(%x: tensor<4xi32>, %y: tensor<4xi32>, %z: tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi32>) {
  %0 = weir.add %x, %y : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  %1 = weir.add %0, %z : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  %2 = weir.add %z, %y : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  %3 = weir.add %2, %x : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  return %1, %3 : tensor<4xi32>, tensor<4xi32>
}

// Those of floats are not.
// CHECK-LABEL: @float_sums
// CHECK-COUNT-4: weir.add
func.func @float_sums(%x: tensor<4xf32>, %y: tensor<4xf32>, %z: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = weir.add %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = weir.add %0, %z : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = weir.add %z, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %3 = weir.add %2, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %1, %3 : tensor<4xf32>, tensor<4xf32>
}

// (x + y) - y, through another sum.
// CHECK-LABEL: @cancelled
// CHECK: return %arg0
func.func @cancelled(%x: tensor<4xi32>, %y: tensor<4xi32>) -> tensor<4xi32> {
  %0 = weir.add %x, %y : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  %1 = weir.sub %0, %y : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  return %1 : tensor<4xi32>
}

// Not of floats: the sum was rounded.
// CHECK-LABEL: @not_cancelled
// CHECK: weir.sub
func.func @not_cancelled(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = weir.add %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = weir.sub %0, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// x + 1 + 2 is x + 3, and x + 4 - 1.
// CHECK-LABEL: @constants_of_sums
// CHECK: %[[R:.*]] = weir.add
// CHECK: %[[S:.*]] = weir.add %[[R]]
// CHECK-NOT: weir.sub
// CHECK: return %[[S]], %[[S]]
func.func @constants_of_sums(%x: tensor<i32>) -> (tensor<i32>, tensor<i32>) {
  %c1 = weir.constant dense<1> : tensor<i32>
  %c2 = weir.constant dense<2> : tensor<i32>
  %c4 = weir.constant dense<4> : tensor<i32>
  %0 = weir.add %x, %c1 : (tensor<i32>, tensor<i32>) -> tensor<i32>
  %1 = weir.add %0, %c2 : (tensor<i32>, tensor<i32>) -> tensor<i32>
  %2 = weir.add %x, %c4 : (tensor<i32>, tensor<i32>) -> tensor<i32>
  %3 = weir.sub %2, %c1 : (tensor<i32>, tensor<i32>) -> tensor<i32>
  return %1, %3 : tensor<i32>, tensor<i32>
}

// a - (-b) is a + b, in every bit.
// CHECK-LABEL: @negated
// CHECK: weir.sub
// CHECK-NOT: weir.sub
// CHECK: return %[[A:.*]], %[[A]]
func.func @negated(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = weir.neg %y : (tensor<4xf32>) -> tensor<4xf32>
  %1 = weir.sub %x, %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = weir.add %1, %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %3 = weir.add %y, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %4 = weir.sub %3, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %5 = weir.add %2, %3 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %6 = weir.add %1, %4 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %5, %6 : tensor<4xf32>, tensor<4xf32>
}

// Multiplying by a repeated row is multiplying by the row.
// CHECK-LABEL: @broadcast_operand
// CHECK-COUNT-1: weir.mul
// CHECK-NOT: weir.mul
func.func @broadcast_operand(%x: tensor<4x3xf32>, %row: tensor<3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>) {
  %shape = weir.constant dense<[4, 3]> : tensor<2xi64>
  %rows = weir.broadcast_to %row, %shape : (tensor<3xf32>, tensor<2xi64>) -> tensor<4x3xf32>
  %0 = weir.mul %x, %row : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  %1 = weir.mul %rows, %x : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  return %0, %1 : tensor<4x3xf32>, tensor<4x3xf32>
}

// Where nothing else has the result's shape, repeating is needed.
// CHECK-LABEL: @broadcast_result
// CHECK-COUNT-2: weir.mul
func.func @broadcast_result(%x: tensor<3xf32>, %row: tensor<3xf32>) -> (tensor<4x3xf32>, tensor<3xf32>) {
  %shape = weir.constant dense<[4, 3]> : tensor<2xi64>
  %rows = weir.broadcast_to %row, %shape : (tensor<3xf32>, tensor<2xi64>) -> tensor<4x3xf32>
  %0 = weir.mul %x, %rows : (tensor<3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %1 = weir.mul %x, %row : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return %0, %1 : tensor<4x3xf32>, tensor<3xf32>
}

// Reshapes agree by their types: [-1] and [6] are the same here.
// CHECK-LABEL: @reshapes
// CHECK-COUNT-1: weir.reshape
// CHECK-NOT: weir.reshape
func.func @reshapes(%x: tensor<2x3xf32>) -> (tensor<6xf32>, tensor<6xf32>) {
  %a = weir.constant dense<-1> : tensor<1xi64>
  %b = weir.constant dense<6> : tensor<1xi64>
  %0 = weir.reshape %x, %a : (tensor<2x3xf32>, tensor<1xi64>) -> tensor<6xf32>
  %1 = weir.reshape %x, %b : (tensor<2x3xf32>, tensor<1xi64>) -> tensor<6xf32>
  return %0, %1 : tensor<6xf32>, tensor<6xf32>
}

// Three turns are one.
// CHECK-LABEL: @transpositions
// CHECK: %[[T:.*]] = weir.transpose %arg0
// CHECK: return %[[T]], %[[T]]
func.func @transpositions(%x: tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>) {
  %0 = weir.transpose %x {permutation = array<i64: 1, 0>} : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %1 = weir.relu %0 : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %2 = weir.transpose %0 {permutation = array<i64: 1, 0>} : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %3 = weir.transpose %2 {permutation = array<i64: 1, 0>} : (tensor<2x2xf32>) -> tensor<2x2xf32>
  return %0, %3 : tensor<2x2xf32>, tensor<2x2xf32>
}

// select(not c, a, b) is select(c, b, a).
// CHECK-LABEL: @selections
// CHECK-COUNT-1: weir.select
// CHECK-NOT: weir.select
func.func @selections(%c: tensor<4xi1>, %x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %n = weir.not %c : (tensor<4xi1>) -> tensor<4xi1>
  %0 = weir.select %c, %x, %y : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = weir.select %n, %y, %x : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// The condition may stretch what both branches are.
// CHECK-LABEL: @stretched_selection
// CHECK: weir.select
func.func @stretched_selection(%c: tensor<?xi1>, %x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = weir.neg %x : (tensor<?xf32>) -> tensor<?xf32>
  %1 = weir.neg %x : (tensor<?xf32>) -> tensor<?xf32>
  %2 = weir.select %c, %0, %1 : (tensor<?xi1>, tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  return %2 : tensor<?xf32>
}

// Attributes count.
// CHECK-LABEL: @attributes
// CHECK-COUNT-2: weir.reduce
func.func @attributes(%x: tensor<2x2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %0 = weir.reduce %x {axes = array<i64: 0>, keep_dims = false, kind = "sum"} : (tensor<2x2xf32>) -> tensor<2xf32>
  %1 = weir.reduce %x {axes = array<i64: 1>, keep_dims = false, kind = "sum"} : (tensor<2x2xf32>) -> tensor<2xf32>
  return %0, %1 : tensor<2xf32>, tensor<2xf32>
}

// Bytes of a file and an attribute that hold the same are one constant; those
// of another type are not.
// CHECK-LABEL: @constants
// CHECK-COUNT-2: weir.constant
// CHECK-NOT: weir.constant
func.func @constants() -> (tensor<2xi32>, tensor<2xi32>, tensor<2xf32>) {
  %0 = weir.constant dense<[1, 2]> : tensor<2xi32>
  %1 = weir.constant dense<[1, 2]> : tensor<2xi32>
  %2 = weir.constant dense<[1.0e-45, 2.8e-45]> : tensor<2xf32>
  return %0, %1, %2 : tensor<2xi32>, tensor<2xi32>, tensor<2xf32>
}
