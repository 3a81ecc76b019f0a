// Broadcasts to sizes that are the operand's, whatever is fed, are dropped.
// REQUIRES: weir-opt
// RUN: weir-opt --weir-equal-sizes %s | FileCheck %s

// Feeds' dimensions of one name are equal; elementwise operations, transposes
// and products keep sizes.
// CHECK-LABEL: func.func @named
// CHECK-NOT: broadcast_to
// CHECK: weir.dot_general
func.func @named(%x: tensor<?x4x3xf32> {weir.dims = ["n", "", ""]}, %y: tensor<?x1x1xf32> {weir.dims = ["n", "", ""]}) -> tensor<?x4x4xf32> {
  %c = weir.constant dense<[4, 3]> : tensor<2xi64>
  %0 = weir.constant dense<0> : tensor<1xi64>
  %1 = weir.constant dense<1> : tensor<1xi64>
  %one = weir.constant dense<1> : tensor<i64>
  %s = weir.add %x, %y : (tensor<?x4x3xf32>, tensor<?x1x1xf32>) -> tensor<?x4x3xf32>
  %t = weir.transpose %x {permutation = array<i64: 0, 2, 1>} : (tensor<?x4x3xf32>) -> tensor<?x3x4xf32>
  %d = weir.shape_of %s {index_type = i64} : (tensor<?x4x3xf32>) -> tensor<3xi64>
  %e = weir.shape_of %t {index_type = i64} : (tensor<?x3x4xf32>) -> tensor<3xi64>
  %m = weir.slice %d, %0, %1, %1 {axes = array<i64: 0>, strict = false} : (tensor<3xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
  %n = weir.slice %e, %0, %1, %1 {axes = array<i64: 0>, strict = false} : (tensor<3xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
  %is = weir.compare %m, %one {predicate = "eq"} : (tensor<1xi64>, tensor<i64>) -> tensor<1xi1>
  %b = weir.select %is, %n, %m : (tensor<1xi1>, tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
  %shape = weir.concat %b, %c {axis = 0 : i64} : (tensor<1xi64>, tensor<2xi64>) -> tensor<3xi64>
  %wide = weir.broadcast_to %s, %shape : (tensor<?x4x3xf32>, tensor<3xi64>) -> tensor<?x4x3xf32>
  %p = weir.dot_general %wide, %t {accumulator = f32, lhs_batch = array<i64: 0>, lhs_contract = array<i64: 2>, rhs_batch = array<i64: 0>, rhs_contract = array<i64: 1>} : (tensor<?x4x3xf32>, tensor<?x3x4xf32>) -> tensor<?x4x4xf32>
  return %p : tensor<?x4x4xf32>
}

// Names differ, or there is none.
// CHECK-LABEL: func.func @unnamed
// CHECK: broadcast_to
func.func @unnamed(%x: tensor<?xf32> {weir.dims = ["n"]}, %y: tensor<?xf32> {weir.dims = ["m"]}) -> tensor<?xf32> {
  %s = weir.shape_of %y {index_type = i64} : (tensor<?xf32>) -> tensor<1xi64>
  %wide = weir.broadcast_to %x, %s : (tensor<?xf32>, tensor<1xi64>) -> tensor<?xf32>
  return %wide : tensor<?xf32>
}

// A sum of two open sizes has either: the other may be 1.
// CHECK-LABEL: func.func @either
// CHECK: broadcast_to
func.func @either(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  %z = weir.add %x, %y : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  %s = weir.shape_of %z {index_type = i64} : (tensor<?xf32>) -> tensor<1xi64>
  %wide = weir.broadcast_to %x, %s : (tensor<?xf32>, tensor<1xi64>) -> tensor<?xf32>
  return %wide : tensor<?xf32>
}

// A concatenation wants all dimensions but one equal, and what comes behind it
// has found them so; not what comes before.
// CHECK-LABEL: func.func @concatenated
// CHECK: broadcast_to %arg0
// CHECK: weir.concat
// CHECK-NOT: broadcast_to
func.func @concatenated(%x: tensor<?x2xf32>, %y: tensor<?x3xf32>) -> (tensor<?x5xf32>, tensor<?x2xf32>, tensor<?x2xf32>) {
  %two = weir.constant dense<2> : tensor<1xi64>
  %0 = weir.constant dense<0> : tensor<1xi64>
  %1 = weir.constant dense<1> : tensor<1xi64>
  %s = weir.shape_of %y {index_type = i64} : (tensor<?x3xf32>) -> tensor<2xi64>
  %n = weir.slice %s, %0, %1, %1 {axes = array<i64: 0>, strict = false} : (tensor<2xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
  %shape = weir.concat %n, %two {axis = 0 : i64} : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
  %before = weir.broadcast_to %x, %shape : (tensor<?x2xf32>, tensor<2xi64>) -> tensor<?x2xf32>
  %c = weir.concat %x, %y {axis = 1 : i64} : (tensor<?x2xf32>, tensor<?x3xf32>) -> tensor<?x5xf32>
  %behind = weir.broadcast_to %x, %shape : (tensor<?x2xf32>, tensor<2xi64>) -> tensor<?x2xf32>
  return %c, %before, %behind : tensor<?x5xf32>, tensor<?x2xf32>, tensor<?x2xf32>
}

// What only a branch makes sure of does not hold behind it.
// CHECK-LABEL: func.func @branch
// CHECK: weir.if
// CHECK: broadcast_to
func.func @branch(%c: tensor<i1>, %x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  %0 = weir.constant dense<0.0> : tensor<f32>
  %z = "weir.if"(%c) ({
    %p = weir.dot_general %x, %y {accumulator = f32, lhs_batch = array<i64>, lhs_contract = array<i64: 0>, rhs_batch = array<i64>, rhs_contract = array<i64: 0>} : (tensor<?xf32>, tensor<?xf32>) -> tensor<f32>
    "weir.yield"(%p) : (tensor<f32>) -> ()
  }, {
    "weir.yield"(%0) : (tensor<f32>) -> ()
  }) : (tensor<i1>) -> tensor<f32>
  %s = weir.shape_of %y {index_type = i64} : (tensor<?xf32>) -> tensor<1xi64>
  %wide = weir.broadcast_to %x, %s : (tensor<?xf32>, tensor<1xi64>) -> tensor<?xf32>
  %r = weir.add %wide, %z : (tensor<?xf32>, tensor<f32>) -> tensor<?xf32>
  return %r : tensor<?xf32>
}

// Numbers counted up to a size are as many, those of a shape as many as that says; counted from
// elsewhere they are not.
// CHECK-LABEL: func.func @counted
// CHECK-NOT: broadcast_to
// CHECK: return
func.func @counted(%x: tensor<?x3xf32>) -> (tensor<?xi64>, tensor<?xi64>) {
  %zero = weir.constant dense<0> : tensor<i64>
  %one = weir.constant dense<1> : tensor<i64>
  %first = weir.constant dense<0> : tensor<1xi64>
  %d = weir.shape_of %x {index_type = i64} : (tensor<?x3xf32>) -> tensor<2xi64>
  %n = weir.gather %d, %first {axis = 0 : i64, batch_dims = 0 : i64, wrap_negative = true} : (tensor<2xi64>, tensor<1xi64>) -> tensor<1xi64>
  %limit = weir.gather %d, %zero {axis = 0 : i64, batch_dims = 0 : i64, wrap_negative = true} : (tensor<2xi64>, tensor<i64>) -> tensor<i64>
  %r = weir.range %zero, %limit, %one : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
  %i = weir.iota %n {axis = 0 : i64, element_type = i64} : (tensor<1xi64>) -> tensor<?xi64>
  %0 = weir.broadcast_to %r, %n : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
  %1 = weir.broadcast_to %i, %n : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
  return %0, %1 : tensor<?xi64>, tensor<?xi64>
}

// CHECK-LABEL: func.func @counted_from_one
// CHECK: broadcast_to
func.func @counted_from_one(%x: tensor<?x3xf32>) -> tensor<?xi64> {
  %zero = weir.constant dense<0> : tensor<i64>
  %one = weir.constant dense<1> : tensor<i64>
  %first = weir.constant dense<0> : tensor<1xi64>
  %d = weir.shape_of %x {index_type = i64} : (tensor<?x3xf32>) -> tensor<2xi64>
  %n = weir.gather %d, %first {axis = 0 : i64, batch_dims = 0 : i64, wrap_negative = true} : (tensor<2xi64>, tensor<1xi64>) -> tensor<1xi64>
  %limit = weir.gather %d, %zero {axis = 0 : i64, batch_dims = 0 : i64, wrap_negative = true} : (tensor<2xi64>, tensor<i64>) -> tensor<i64>
  %r = weir.range %one, %limit, %one : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
  %0 = weir.broadcast_to %r, %n : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
  return %0 : tensor<?xi64>
}

// A sum with the first entries of a table, as many as it has itself, keeps its size: the table is longer
// than 1, so that fewer do not stretch. Of a table of one entry they may.
// CHECK-LABEL: func.func @prefix
// CHECK-NOT: broadcast_to
// CHECK: return
func.func @prefix(%x: tensor<?x3xf32>, %table: tensor<512x3xf32>) -> tensor<?x3xf32> {
  %first = weir.constant dense<0> : tensor<1xi64>
  %one = weir.constant dense<1> : tensor<1xi64>
  %d = weir.shape_of %x {index_type = i64} : (tensor<?x3xf32>) -> tensor<2xi64>
  %n = weir.slice %d, %first, %one, %one {axes = array<i64: 0>, strict = false} : (tensor<2xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
  %p = weir.slice %table, %first, %n, %one {axes = array<i64: 0>, strict = false} : (tensor<512x3xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?x3xf32>
  %s = weir.add %p, %x : (tensor<?x3xf32>, tensor<?x3xf32>) -> tensor<?x3xf32>
  %0 = weir.broadcast_to %s, %d : (tensor<?x3xf32>, tensor<2xi64>) -> tensor<?x3xf32>
  return %0 : tensor<?x3xf32>
}

// CHECK-LABEL: func.func @prefix_of_one
// CHECK: broadcast_to
func.func @prefix_of_one(%x: tensor<?x3xf32>, %table: tensor<1x3xf32>) -> tensor<?x3xf32> {
  %first = weir.constant dense<0> : tensor<1xi64>
  %one = weir.constant dense<1> : tensor<1xi64>
  %d = weir.shape_of %x {index_type = i64} : (tensor<?x3xf32>) -> tensor<2xi64>
  %n = weir.slice %d, %first, %one, %one {axes = array<i64: 0>, strict = false} : (tensor<2xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
  %p = weir.slice %table, %first, %n, %one {axes = array<i64: 0>, strict = false} : (tensor<1x3xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?x3xf32>
  %s = weir.add %p, %x : (tensor<?x3xf32>, tensor<?x3xf32>) -> tensor<?x3xf32>
  %0 = weir.broadcast_to %s, %d : (tensor<?x3xf32>, tensor<2xi64>) -> tensor<?x3xf32>
  return %0 : tensor<?x3xf32>
}

// Entries picked by the first numbers of such a table, as many as a size says, stretched to that size
// as ONNX's Expand writes it: what is 1 there may stretch, and is the size itself in that case.
// CHECK-LABEL: func.func @stretched_prefix
// CHECK: %[[S:.*]] = weir.broadcast_to {{.*}} : (tensor<1x?xi64>, tensor<2xi64>)
// CHECK-NEXT: weir.add %[[S]]
// CHECK-NOT: weir.broadcast_to
// CHECK: return
func.func @stretched_prefix(%x: tensor<?x?xi64>, %entries: tensor<1x512xi64>, %table: tensor<1x512xi64>) -> tensor<?x?xi64> {
  %first = weir.constant dense<0> : tensor<1xi64>
  %one = weir.constant dense<1> : tensor<1xi64>
  %two = weir.constant dense<2> : tensor<1xi64>
  %scalar = weir.constant dense<1> : tensor<i64>
  %d = weir.shape_of %x {index_type = i64} : (tensor<?x?xi64>) -> tensor<2xi64>
  %b = weir.slice %d, %first, %one, %one {axes = array<i64: 0>, strict = false} : (tensor<2xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
  %n = weir.slice %d, %one, %two, %one {axes = array<i64: 0>, strict = false} : (tensor<2xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
  %p = weir.slice %table, %first, %n, %one {axes = array<i64: 1>, strict = false} : (tensor<1x512xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x?xi64>
  %g = weir.gather_elements %entries, %p {axis = 1 : i64, wrap_negative = true} : (tensor<1x512xi64>, tensor<1x?xi64>) -> tensor<1x?xi64>
  %stretches = weir.compare %n, %scalar {predicate = "eq"} : (tensor<1xi64>, tensor<i64>) -> tensor<1xi1>
  %own = weir.shape_of %g {index_type = i64} : (tensor<1x?xi64>) -> tensor<2xi64>
  %ownN = weir.slice %own, %one, %two, %one {axes = array<i64: 0>, strict = false} : (tensor<2xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
  %to = weir.select %stretches, %ownN, %n : (tensor<1xi1>, tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
  %shape = weir.concat %b, %to {axis = 0 : i64} : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
  %e = weir.broadcast_to %g, %shape : (tensor<1x?xi64>, tensor<2xi64>) -> tensor<?x?xi64>
  %s = weir.add %e, %x : (tensor<?x?xi64>, tensor<?x?xi64>) -> tensor<?x?xi64>
  %0 = weir.broadcast_to %s, %d : (tensor<?x?xi64>, tensor<2xi64>) -> tensor<?x?xi64>
  return %0 : tensor<?x?xi64>
}

// Of what is compared with another number than 1 nothing follows.
// CHECK-LABEL: func.func @stretched_from_two
// CHECK: weir.add
// CHECK: weir.broadcast_to
func.func @stretched_from_two(%x: tensor<?x3xi64>, %table: tensor<512x3xi64>) -> tensor<?x3xi64> {
  %first = weir.constant dense<0> : tensor<1xi64>
  %one = weir.constant dense<1> : tensor<1xi64>
  %three = weir.constant dense<3> : tensor<1xi64>
  %scalar = weir.constant dense<2> : tensor<i64>
  %d = weir.shape_of %x {index_type = i64} : (tensor<?x3xi64>) -> tensor<2xi64>
  %n = weir.slice %d, %first, %one, %one {axes = array<i64: 0>, strict = false} : (tensor<2xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
  %p = weir.slice %table, %first, %n, %one {axes = array<i64: 0>, strict = false} : (tensor<512x3xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?x3xi64>
  %is = weir.compare %n, %scalar {predicate = "eq"} : (tensor<1xi64>, tensor<i64>) -> tensor<1xi1>
  %own = weir.shape_of %p {index_type = i64} : (tensor<?x3xi64>) -> tensor<2xi64>
  %ownN = weir.slice %own, %first, %one, %one {axes = array<i64: 0>, strict = false} : (tensor<2xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
  %to = weir.select %is, %ownN, %n : (tensor<1xi1>, tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
  %shape = weir.concat %to, %three {axis = 0 : i64} : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
  %e = weir.broadcast_to %p, %shape : (tensor<?x3xi64>, tensor<2xi64>) -> tensor<?x3xi64>
  %s = weir.add %e, %x : (tensor<?x3xi64>, tensor<?x3xi64>) -> tensor<?x3xi64>
  %0 = weir.broadcast_to %s, %d : (tensor<?x3xi64>, tensor<2xi64>) -> tensor<?x3xi64>
  return %0 : tensor<?x3xi64>
}

// Twice as many as there are rows, whether they were picked or repeated.
// CHECK-LABEL: func.func @picked_for_each
// CHECK-NOT: broadcast_to
// CHECK: return
func.func @picked_for_each(%x: tensor<?x?x4xf32>) -> tensor<?x4xf32> {
  %first = weir.constant dense<0> : tensor<1xi64>
  %one = weir.constant dense<1> : tensor<1xi64>
  %two = weir.constant dense<2> : tensor<1xi64>
  %rows = weir.constant dense<[-1, 4]> : tensor<2xi64>
  %line = weir.constant dense<[-1]> : tensor<1xi64>
  %twice = weir.constant dense<[2, 1]> : tensor<2xi64>
  %a = weir.reshape %x, %rows : (tensor<?x?x4xf32>, tensor<2xi64>) -> tensor<?x4xf32>
  %values, %indices = weir.top_k %a, %two {axis = 1 : i64, index_type = i64, largest = true, sorted = true} : (tensor<?x4xf32>, tensor<1xi64>) -> (tensor<?x2xf32>, tensor<?x2xi64>)
  %flat = weir.reshape %indices, %line : (tensor<?x2xi64>, tensor<1xi64>) -> tensor<?xi64>
  %t = weir.tile %a, %twice : (tensor<?x4xf32>, tensor<2xi64>) -> tensor<?x4xf32>
  %d = weir.shape_of %flat {index_type = i64} : (tensor<?xi64>) -> tensor<1xi64>
  %four = weir.constant dense<4> : tensor<1xi64>
  %shape = weir.concat %d, %four {axis = 0 : i64} : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
  %0 = weir.broadcast_to %t, %shape : (tensor<?x4xf32>, tensor<2xi64>) -> tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}

// Three times as many are others.
// CHECK-LABEL: func.func @repeated_otherwise
// CHECK: broadcast_to
func.func @repeated_otherwise(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %four = weir.constant dense<4> : tensor<1xi64>
  %line = weir.constant dense<[-1]> : tensor<1xi64>
  %twice = weir.constant dense<[2, 1]> : tensor<2xi64>
  %thrice = weir.constant dense<[3, 1]> : tensor<2xi64>
  %t = weir.tile %x, %twice : (tensor<?x4xf32>, tensor<2xi64>) -> tensor<?x4xf32>
  %u = weir.tile %x, %thrice : (tensor<?x4xf32>, tensor<2xi64>) -> tensor<?x4xf32>
  %all = weir.shape_of %u {index_type = i64} : (tensor<?x4xf32>) -> tensor<2xi64>
  %0 = weir.broadcast_to %t, %all : (tensor<?x4xf32>, tensor<2xi64>) -> tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}

// The rows of an index are those it was found in.
// CHECK-LABEL: func.func @best_of_each
// CHECK-NOT: broadcast_to
// CHECK: return
func.func @best_of_each(%x: tensor<?x4xf32>) -> tensor<?xi64> {
  %first = weir.constant dense<0> : tensor<1xi64>
  %one = weir.constant dense<1> : tensor<1xi64>
  %a = weir.arg_reduce %x {axis = 1 : i64, index_type = i64, keep_dims = false, largest = true, select_last = false} : (tensor<?x4xf32>) -> tensor<?xi64>
  %all = weir.shape_of %x {index_type = i64} : (tensor<?x4xf32>) -> tensor<2xi64>
  %n = weir.slice %all, %first, %one, %one {axes = array<i64: 0>, strict = false} : (tensor<2xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
  %0 = weir.broadcast_to %a, %n : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
  return %0 : tensor<?xi64>
}
