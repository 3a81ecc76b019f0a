// Heads of keys and values that query heads share are not copied for each of them.
// REQUIRES: weir-opt
// RUN: weir-opt --weir-grouped-query-attention --canonicalize --split-input-file %s | FileCheck %s

// Four query heads, two of keys, two queries: what stretches the keys is one operation.
// CHECK-LABEL: @several
// CHECK-NOT: broadcast_to
// CHECK: %[[K:.*]] = weir.repeat %arg1 {axis = 1 : i64, times = 2 : i64} : (tensor<1x2x5x8xf32>) -> tensor<1x4x5x8xf32>
// CHECK: weir.dot_general %arg0, %[[K]]
func.func @several(%q: tensor<1x4x2x8xf32>, %k: tensor<1x2x5x8xf32>) -> tensor<1x4x2x5xf32> {
  %split = weir.constant dense<[1, 2, 1, 5, 8]> : tensor<5xi64>
  %wide = weir.constant dense<[1, 2, 2, 5, 8]> : tensor<5xi64>
  %all = weir.constant dense<[1, 4, 5, 8]> : tensor<4xi64>
  %0 = weir.reshape %k, %split : (tensor<1x2x5x8xf32>, tensor<5xi64>) -> tensor<1x2x1x5x8xf32>
  %1 = weir.broadcast_to %0, %wide : (tensor<1x2x1x5x8xf32>, tensor<5xi64>) -> tensor<1x2x2x5x8xf32>
  %2 = weir.reshape %1, %all : (tensor<1x2x2x5x8xf32>, tensor<4xi64>) -> tensor<1x4x5x8xf32>
  %s = weir.dot_general %q, %2 {accumulator = f32, lhs_batch = array<i64: 0, 1>, lhs_contract = array<i64: 3>, rhs_batch = array<i64: 0, 1>, rhs_contract = array<i64: 3>} : (tensor<1x4x2x8xf32>, tensor<1x4x5x8xf32>) -> tensor<1x4x2x5xf32>
  return %s : tensor<1x4x2x5xf32>
}

// -----

// Open sizes are traced through what computes them.
// CHECK-LABEL: @open
// CHECK: weir.repeat %arg1 {axis = 1 : i64, times = 2 : i64} : (tensor<?x2x?x8xf32>) -> tensor<?x4x?x8xf32>
func.func @open(%q: tensor<?x4x?x8xf32>, %k: tensor<?x2x?x8xf32>) -> tensor<?x4x?x?xf32> {
  %at0 = weir.constant dense<0> : tensor<1xi64>
  %at1 = weir.constant dense<1> : tensor<1xi64>
  %at2 = weir.constant dense<2> : tensor<1xi64>
  %at3 = weir.constant dense<3> : tensor<1xi64>
  %four = weir.constant dense<4> : tensor<1xi64>
  %eight = weir.constant dense<8> : tensor<1xi64>
  %sizes = weir.shape_of %k {index_type = i64} : (tensor<?x2x?x8xf32>) -> tensor<4xi64>
  %b = weir.slice %sizes, %at0, %at1, %at1 {axes = array<i64: 0>, strict = false} : (tensor<4xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
  %n = weir.slice %sizes, %at2, %at3, %at1 {axes = array<i64: 0>, strict = false} : (tensor<4xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
  %split = weir.concat %b, %at2, %at1, %n, %eight {axis = 0 : i64} : (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<5xi64>
  %wide = weir.concat %b, %at2, %at2, %n, %eight {axis = 0 : i64} : (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<5xi64>
  %all = weir.concat %b, %four, %n, %eight {axis = 0 : i64} : (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<4xi64>
  %0 = weir.reshape %k, %split : (tensor<?x2x?x8xf32>, tensor<5xi64>) -> tensor<?x2x1x?x8xf32>
  %1 = weir.broadcast_to %0, %wide : (tensor<?x2x1x?x8xf32>, tensor<5xi64>) -> tensor<?x2x2x?x8xf32>
  %2 = weir.reshape %1, %all : (tensor<?x2x2x?x8xf32>, tensor<4xi64>) -> tensor<?x4x?x8xf32>
  %s = weir.dot_general %q, %2 {accumulator = f32, lhs_batch = array<i64: 0, 1>, lhs_contract = array<i64: 3>, rhs_batch = array<i64: 0, 1>, rhs_contract = array<i64: 3>} : (tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>) -> tensor<?x4x?x?xf32>
  return %s : tensor<?x4x?x?xf32>
}

// -----

// Keys of an open length may turn out to be one that is stretched along it: that stays a
// broadcast, of the heads that there are.
// CHECK-LABEL: @stretched_length
// CHECK: %[[LONG:.*]] = weir.broadcast_to %arg1, %{{.*}} : (tensor<1x2x?x8xf32>, tensor<4xi64>) -> tensor<1x2x5x8xf32>
// CHECK: weir.repeat %[[LONG]] {axis = 1 : i64, times = 2 : i64} : (tensor<1x2x5x8xf32>) -> tensor<1x4x5x8xf32>
func.func @stretched_length(%q: tensor<1x4x2x8xf32>, %k: tensor<1x2x?x8xf32>) -> tensor<1x4x2x5xf32> {
  %split = weir.constant dense<[1, 2, 1, -1, 8]> : tensor<5xi64>
  %wide = weir.constant dense<[1, 2, 2, 5, 8]> : tensor<5xi64>
  %all = weir.constant dense<[1, 4, 5, 8]> : tensor<4xi64>
  %0 = weir.reshape %k, %split : (tensor<1x2x?x8xf32>, tensor<5xi64>) -> tensor<1x2x1x?x8xf32>
  %1 = weir.broadcast_to %0, %wide : (tensor<1x2x1x?x8xf32>, tensor<5xi64>) -> tensor<1x2x2x5x8xf32>
  %2 = weir.reshape %1, %all : (tensor<1x2x2x5x8xf32>, tensor<4xi64>) -> tensor<1x4x5x8xf32>
  %s = weir.dot_general %q, %2 {accumulator = f32, lhs_batch = array<i64: 0, 1>, lhs_contract = array<i64: 3>, rhs_batch = array<i64: 0, 1>, rhs_contract = array<i64: 3>} : (tensor<1x4x2x8xf32>, tensor<1x4x5x8xf32>) -> tensor<1x4x2x5xf32>
  return %s : tensor<1x4x2x5xf32>
}

// -----

// A broadcast that may stretch the batch, too, stays: its size comes from elsewhere.
// CHECK-LABEL: @other_batch
// CHECK-NOT: weir.repeat
// CHECK: weir.broadcast_to
func.func @other_batch(%q: tensor<?x4x2x8xf32>, %k: tensor<?x2x5x8xf32>, %b: tensor<1xi64>) -> tensor<?x4x2x5xf32> {
  %at0 = weir.constant dense<0> : tensor<1xi64>
  %at1 = weir.constant dense<1> : tensor<1xi64>
  %at2 = weir.constant dense<2> : tensor<1xi64>
  %rest = weir.constant dense<[2, 2, 5, 8]> : tensor<4xi64>
  %split = weir.constant dense<[-1, 2, 1, 5, 8]> : tensor<5xi64>
  %all = weir.constant dense<[-1, 4, 5, 8]> : tensor<4xi64>
  %wide = weir.concat %b, %rest {axis = 0 : i64} : (tensor<1xi64>, tensor<4xi64>) -> tensor<5xi64>
  %0 = weir.reshape %k, %split : (tensor<?x2x5x8xf32>, tensor<5xi64>) -> tensor<?x2x1x5x8xf32>
  %1 = weir.broadcast_to %0, %wide : (tensor<?x2x1x5x8xf32>, tensor<5xi64>) -> tensor<?x2x2x5x8xf32>
  %2 = weir.reshape %1, %all : (tensor<?x2x2x5x8xf32>, tensor<4xi64>) -> tensor<?x4x5x8xf32>
  %s = weir.dot_general %q, %2 {accumulator = f32, lhs_batch = array<i64: 0, 1>, lhs_contract = array<i64: 3>, rhs_batch = array<i64: 0, 1>, rhs_contract = array<i64: 3>} : (tensor<?x4x2x8xf32>, tensor<?x4x5x8xf32>) -> tensor<?x4x2x5xf32>
  return %s : tensor<?x4x2x5xf32>
}

// -----

// [1, 2, 4] to [2, 2, 4]: copies of all heads, not of each.
// CHECK-LABEL: @tiled
// CHECK-NOT: weir.repeat
func.func @tiled(%q: tensor<4x2x8xf32>, %k: tensor<2x5x8xf32>) -> tensor<4x2x5xf32> {
  %split = weir.constant dense<[1, 2, 5, 8]> : tensor<4xi64>
  %wide = weir.constant dense<[2, 2, 5, 8]> : tensor<4xi64>
  %all = weir.constant dense<[4, 5, 8]> : tensor<3xi64>
  %0 = weir.reshape %k, %split : (tensor<2x5x8xf32>, tensor<4xi64>) -> tensor<1x2x5x8xf32>
  %1 = weir.broadcast_to %0, %wide : (tensor<1x2x5x8xf32>, tensor<4xi64>) -> tensor<2x2x5x8xf32>
  %2 = weir.reshape %1, %all : (tensor<2x2x5x8xf32>, tensor<3xi64>) -> tensor<4x5x8xf32>
  %s = weir.dot_general %q, %2 {accumulator = f32, lhs_batch = array<i64: 0>, lhs_contract = array<i64: 2>, rhs_batch = array<i64: 0>, rhs_contract = array<i64: 2>} : (tensor<4x2x8xf32>, tensor<4x5x8xf32>) -> tensor<4x2x5xf32>
  return %s : tensor<4x2x5xf32>
}

// -----

// What is no product's stays as it is.
// CHECK-LABEL: @elementwise
// CHECK-NOT: weir.repeat
func.func @elementwise(%x: tensor<2x3xf32>) -> tensor<4x3xf32> {
  %split = weir.constant dense<[2, 1, 3]> : tensor<3xi64>
  %wide = weir.constant dense<[2, 2, 3]> : tensor<3xi64>
  %all = weir.constant dense<[4, 3]> : tensor<2xi64>
  %0 = weir.reshape %x, %split : (tensor<2x3xf32>, tensor<3xi64>) -> tensor<2x1x3xf32>
  %1 = weir.broadcast_to %0, %wide : (tensor<2x1x3xf32>, tensor<3xi64>) -> tensor<2x2x3xf32>
  %2 = weir.reshape %1, %all : (tensor<2x2x3xf32>, tensor<2xi64>) -> tensor<4x3xf32>
  %3 = weir.neg %2 : (tensor<4x3xf32>) -> tensor<4x3xf32>
  return %3 : tensor<4x3xf32>
}

// -----

// Single queries become those of one head; a mask for each query head goes along, one for
// all stays. Keys are scaled down: so are the queries instead. The transposition behind
// moves the single query, which is nothing.
// CHECK-LABEL: @single
// CHECK-NOT: weir.repeat
// CHECK: %[[Q:.*]] = weir.reshape %arg0, {{.*}} -> tensor<?x2x3x8xf32>
// CHECK: %[[QS:.*]] = weir.mul %[[Q]]
// CHECK: %[[S:.*]] = weir.dot_general %[[QS]], %arg1 {{.*}} -> tensor<?x2x3x5xf32>
// CHECK: %[[M:.*]] = weir.reshape %arg3, {{.*}} -> tensor<?x2x3x5xf32>
// CHECK: %[[A:.*]] = weir.add %[[S]], %[[M]]
// CHECK: %[[B:.*]] = weir.add %[[A]], %arg4 : (tensor<?x2x3x5xf32>, tensor<?x1x1x5xf32>)
// CHECK: %[[MAX:.*]] = weir.reduce %[[B]] {{.*}} -> tensor<?x2x3x1xf32>
// CHECK: %[[W:.*]] = weir.sub %[[B]], %[[MAX]]
// CHECK: %[[Y:.*]] = weir.dot_general %[[W]], %arg2 {{.*}} -> tensor<?x2x3x8xf32>
// CHECK-NOT: weir.transpose
// CHECK: return {{.*}} : tensor<?x1x6x8xf32>
func.func @single(%q: tensor<?x6x1x8xf32>, %k: tensor<?x2x5x8xf32>, %v: tensor<?x2x5x8xf32>, %m: tensor<?x6x1x5xf32>, %n: tensor<?x1x1x5xf32>) -> tensor<?x1x6x8xf32> {
  %half = weir.constant dense<0.5> : tensor<f32>
  %keys = weir.repeat %k {axis = 1 : i64, times = 3 : i64} : (tensor<?x2x5x8xf32>) -> tensor<?x6x5x8xf32>
  %values = weir.repeat %v {axis = 1 : i64, times = 3 : i64} : (tensor<?x2x5x8xf32>) -> tensor<?x6x5x8xf32>
  %scaled = weir.mul %keys, %half : (tensor<?x6x5x8xf32>, tensor<f32>) -> tensor<?x6x5x8xf32>
  %s = weir.dot_general %q, %scaled {accumulator = f32, lhs_batch = array<i64: 0, 1>, lhs_contract = array<i64: 3>, rhs_batch = array<i64: 0, 1>, rhs_contract = array<i64: 3>} : (tensor<?x6x1x8xf32>, tensor<?x6x5x8xf32>) -> tensor<?x6x1x5xf32>
  %a = weir.add %s, %m : (tensor<?x6x1x5xf32>, tensor<?x6x1x5xf32>) -> tensor<?x6x1x5xf32>
  %b = weir.add %a, %n : (tensor<?x6x1x5xf32>, tensor<?x1x1x5xf32>) -> tensor<?x6x1x5xf32>
  %max = weir.reduce %b {axes = array<i64: 3>, keep_dims = true, kind = "max"} : (tensor<?x6x1x5xf32>) -> tensor<?x6x1x1xf32>
  %w = weir.sub %b, %max : (tensor<?x6x1x5xf32>, tensor<?x6x1x1xf32>) -> tensor<?x6x1x5xf32>
  %y = weir.dot_general %w, %values {accumulator = f32, lhs_batch = array<i64: 0, 1>, lhs_contract = array<i64: 3>, rhs_batch = array<i64: 0, 1>, rhs_contract = array<i64: 2>} : (tensor<?x6x1x5xf32>, tensor<?x6x5x8xf32>) -> tensor<?x6x1x8xf32>
  %t = weir.transpose %y {permutation = array<i64: 0, 2, 1, 3>} : (tensor<?x6x1x8xf32>) -> tensor<?x1x6x8xf32>
  return %t : tensor<?x1x6x8xf32>
}

// -----

// Scores that are shown, too, are computed once.
// CHECK-LABEL: @shown
// CHECK-COUNT-2: weir.dot_general
// CHECK-NOT: weir.dot_general
func.func @shown(%q: tensor<1x6x1x8xf32>, %k: tensor<1x2x5x8xf32>, %v: tensor<1x2x5x8xf32>) -> (tensor<1x6x1x8xf32>, tensor<1x6x1x5xf32>) {
  %keys = weir.repeat %k {axis = 1 : i64, times = 3 : i64} : (tensor<1x2x5x8xf32>) -> tensor<1x6x5x8xf32>
  %values = weir.repeat %v {axis = 1 : i64, times = 3 : i64} : (tensor<1x2x5x8xf32>) -> tensor<1x6x5x8xf32>
  %s = weir.dot_general %q, %keys {accumulator = f32, lhs_batch = array<i64: 0, 1>, lhs_contract = array<i64: 3>, rhs_batch = array<i64: 0, 1>, rhs_contract = array<i64: 3>} : (tensor<1x6x1x8xf32>, tensor<1x6x5x8xf32>) -> tensor<1x6x1x5xf32>
  %e = weir.exp %s : (tensor<1x6x1x5xf32>) -> tensor<1x6x1x5xf32>
  %y = weir.dot_general %e, %values {accumulator = f32, lhs_batch = array<i64: 0, 1>, lhs_contract = array<i64: 3>, rhs_batch = array<i64: 0, 1>, rhs_contract = array<i64: 2>} : (tensor<1x6x1x5xf32>, tensor<1x6x5x8xf32>) -> tensor<1x6x1x8xf32>
  return %y, %s : tensor<1x6x1x8xf32>, tensor<1x6x1x5xf32>
}

// -----

// Repetitions of constants are constants; one is none.
// CHECK-LABEL: @folded
// CHECK: %[[C:.*]] = weir.constant dense<{{\[}}[1, 1, 2, 2], [3, 3, 4, 4]]> : tensor<2x4xi32>
// CHECK: return %[[C]], %arg0
func.func @folded(%x: tensor<3xf32>) -> (tensor<2x4xi32>, tensor<3xf32>) {
  %c = weir.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
  %0 = weir.repeat %c {axis = 1 : i64, times = 2 : i64} : (tensor<2x2xi32>) -> tensor<2x4xi32>
  %1 = weir.repeat %x {axis = 0 : i64, times = 1 : i64} : (tensor<3xf32>) -> tensor<3xf32>
  return %0, %1 : tensor<2x4xi32>, tensor<3xf32>
}
