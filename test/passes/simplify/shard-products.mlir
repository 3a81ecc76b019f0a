// RUN: weir-opt %s --weir-shard-products --split-input-file --verify-diagnostics | FileCheck %s

// Columns of the first, then the sum of the second over what they became: each device goes on with its
// own part, of the bias too, and asks for itself. Only sums are added up.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: weir.device_requests = {
// CHECK-SAME: "fc1/shard_0" = "/job:worker/task:0/device:CPU:0", "fc1/shard_1" = "/job:worker/task:1/device:CPU:0"
// CHECK-SAME: "fc2/shard_1" = "/job:worker/task:1/device:CPU:0"
// CHECK-NOT: weir.slice
// CHECK: %[[W0:.*]] = weir.constant dense<{{\[\[}}1.000000e+00, 2.000000e+00], [5.000000e+00, 6.000000e+00]]> : tensor<2x2xf32>
// CHECK: %[[G0:.*]] = weir.gate %[[W0]] {weir.weight = "w/shard_0", weir.weight_part}
// CHECK: %[[A:.*]] = weir.dot_general %{{.*}}, %[[G0]]
// CHECK: %[[W1:.*]] = weir.constant dense<{{\[\[}}3.000000e+00, 4.000000e+00], [7.000000e+00, 8.000000e+00]]> : tensor<2x2xf32>
// CHECK: weir.dot_general
// CHECK: %[[BIAS:.*]] = weir.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
// CHECK: %[[B:.*]] = weir.add %[[A]], %[[BIAS]]
// CHECK: %[[C:.*]] = weir.maximum %[[B]]
// CHECK: %[[D:.*]] = weir.dot_general %[[C]], {{.*}} : (tensor<?x2xf32>, tensor<2x3xf32>) -> tensor<?x3xf32>
// CHECK: %[[E:.*]] = weir.dot_general {{.*}} : (tensor<?x2xf32>, tensor<2x3xf32>) -> tensor<?x3xf32>
// CHECK: weir.add %[[D]], %[[E]]
module attributes {weir.sharded_products = ["fc1:1", "fc2:sum"], weir.cluster = {devices = [{name = "/job:worker/task:0/device:CPU:0"}, {name = "/job:worker/task:1/device:CPU:0"}]}} {
  func.func @main(%x: tensor<?x2xf32> {weir.name = "x"}) -> (tensor<?x3xf32> {weir.name = "y"}) attributes {weir.entry = "main"} {
    %c = weir.constant dense<[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]> : tensor<2x4xf32>
    %w = weir.gate %c {weir.weight = "w"} : tensor<2x4xf32> loc("w")
    %bias = weir.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
    %zero = weir.constant dense<0.0> : tensor<f32>
    %v = weir.constant dense<[[1.0, 2.0, 3.0], [5.0, 6.0, 7.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]> : tensor<4x3xf32>
    %0 = weir.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, accumulator = f32} : (tensor<?x2xf32>, tensor<2x4xf32>) -> tensor<?x4xf32> loc("fc1")
    %1 = weir.add %0, %bias : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32> loc("plus")
    %2 = weir.maximum %1, %zero : (tensor<?x4xf32>, tensor<f32>) -> tensor<?x4xf32> loc("relu")
    %3 = weir.dot_general %2, %v {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, accumulator = f32} : (tensor<?x4xf32>, tensor<4x3xf32>) -> tensor<?x3xf32> loc("fc2")
    return %3 : tensor<?x3xf32>
  }
}

// -----

// A result that something else uses is put together.
// CHECK-LABEL: func.func @main(
// CHECK: weir.concat {{.*}} {axis = 1 : i64} : (tensor<?x1xf32>, tensor<?x2xf32>) -> tensor<?x3xf32>
module attributes {weir.sharded_products = ["fc:-1"], weir.cluster = {devices = [{name = "/task:0"}, {name = "/task:1"}]}} {
  func.func @main(%x: tensor<?x2xf32> {weir.name = "x"}) -> (tensor<?x3xf32> {weir.name = "y"}) attributes {weir.entry = "main"} {
    %c = weir.constant dense<[[1.0, 2.0, 3.0], [5.0, 6.0, 7.0]]> : tensor<2x3xf32>
    %0 = weir.dot_general %x, %c {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, accumulator = f32} : (tensor<?x2xf32>, tensor<2x3xf32>) -> tensor<?x3xf32> loc("fc")
    return %0 : tensor<?x3xf32>
  }
}

// -----

// expected-error@unknown {{W0419: found --shard=fc:0 to ask for dimension 0 of the result, which the second operand has not; possible: a dimension of the second operand's columns, or sum}}
module attributes {weir.sharded_products = ["fc:0"], weir.cluster = {devices = [{name = "/task:0"}, {name = "/task:1"}]}} {
  func.func @main(%x: tensor<?x2xf32> {weir.name = "x"}) -> (tensor<?x3xf32> {weir.name = "y"}) attributes {weir.entry = "main"} {
    %c = weir.constant dense<[[1.0, 2.0, 3.0], [5.0, 6.0, 7.0]]> : tensor<2x3xf32>
    %0 = weir.dot_general %x, %c {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, accumulator = f32} : (tensor<?x2xf32>, tensor<2x3xf32>) -> tensor<?x3xf32> loc("fc")
    return %0 : tensor<?x3xf32>
  }
}

// -----

// expected-error@unknown {{W0419: found no product "other" to divide; possible: "fc"}}
module attributes {weir.sharded_products = ["other:1"], weir.cluster = {devices = [{name = "/task:0"}, {name = "/task:1"}]}} {
  func.func @main(%x: tensor<?x2xf32> {weir.name = "x"}) -> (tensor<?x3xf32> {weir.name = "y"}) attributes {weir.entry = "main"} {
    %c = weir.constant dense<[[1.0, 2.0, 3.0], [5.0, 6.0, 7.0]]> : tensor<2x3xf32>
    %0 = weir.dot_general %x, %c {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, accumulator = f32} : (tensor<?x2xf32>, tensor<2x3xf32>) -> tensor<?x3xf32> loc("fc")
    return %0 : tensor<?x3xf32>
  }
}

// -----

// expected-error@unknown {{W0419: found --shard=fc:1 and one device; possible: with --devices or --cluster, which have several}}
module attributes {weir.sharded_products = ["fc:1"]} {
}

// -----

// Two stages or replicas share four devices: nodes have a member's number, and no device yet.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: weir.shard_count = 2 : i64, weir.shard_members = {"fc/shard_0" = 0 : i64, "fc/shard_1" = 1 : i64, "w/shard_0" = 0 : i64, "w/shard_1" = 1 : i64}
// CHECK-NOT: weir.device_requests
module attributes {weir.sharded_products = ["fc:1"], weir.shard_groups = 2 : i64, weir.cluster = {devices = [{name = "/task:0"}, {name = "/task:1"}, {name = "/task:2"}, {name = "/task:3"}]}} {
  func.func @main(%x: tensor<?x2xf32> {weir.name = "x"}) -> (tensor<?x4xf32> {weir.name = "y"}) attributes {weir.entry = "main"} {
    %c = weir.constant dense<[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]> : tensor<2x4xf32> loc("w")
    %0 = weir.dot_general %x, %c {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, accumulator = f32} : (tensor<?x2xf32>, tensor<2x4xf32>) -> tensor<?x4xf32> loc("fc")
    return %0 : tensor<?x4xf32>
  }
}

// -----

// expected-error@unknown {{W0419: found --shard=fc:1 with 3 devices, for --replicas and --pipeline that make 2 groups of them; possible: a multiple of 2, from 4 on}}
module attributes {weir.sharded_products = ["fc:1"], weir.shard_groups = 2 : i64, weir.cluster = {devices = [{name = "/task:0"}, {name = "/task:1"}, {name = "/task:2"}]}} {
  func.func @main(%x: tensor<?x2xf32> {weir.name = "x"}) -> (tensor<?x4xf32> {weir.name = "y"}) attributes {weir.entry = "main"} {
    %c = weir.constant dense<[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]> : tensor<2x4xf32>
    %0 = weir.dot_general %x, %c {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, accumulator = f32} : (tensor<?x2xf32>, tensor<2x4xf32>) -> tensor<?x4xf32> loc("fc")
    return %0 : tensor<?x4xf32>
  }
}

// -----

// A weight that two products use is one, of which each device takes its part.
// CHECK-LABEL: func.func @main(
// CHECK: %[[W:.*]] = weir.gate {{.*}} {weir.weight = "w"}
// CHECK-NOT: weir.weight
// CHECK: weir.slice %[[W]]
// CHECK: weir.slice %[[W]]
// CHECK: weir.dot_general %{{.*}}, %[[W]]
module attributes {weir.sharded_products = ["fc:1"], weir.cluster = {devices = [{name = "/task:0"}, {name = "/task:1"}]}} {
  func.func @main(%x: tensor<?x2xf32> {weir.name = "x"}) -> (tensor<?x2xf32> {weir.name = "y"}) attributes {weir.entry = "main"} {
    %c = weir.constant dense<[[1.0, 2.0], [5.0, 6.0]]> : tensor<2x2xf32>
    %w = weir.gate %c {weir.weight = "w"} : tensor<2x2xf32> loc("w")
    %0 = weir.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, accumulator = f32} : (tensor<?x2xf32>, tensor<2x2xf32>) -> tensor<?x2xf32> loc("fc")
    %1 = weir.dot_general %0, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, accumulator = f32} : (tensor<?x2xf32>, tensor<2x2xf32>) -> tensor<?x2xf32> loc("again")
    return %1 : tensor<?x2xf32>
  }
}

// -----

// expected-error@unknown {{W0419: found --shard=fc:all; possible behind the node: the number of a dimension, or sum}}
module attributes {weir.sharded_products = ["fc:all"], weir.cluster = {devices = [{name = "/task:0"}, {name = "/task:1"}]}} {
  func.func @main(%x: tensor<?x2xf32> {weir.name = "x"}) -> (tensor<?x2xf32> {weir.name = "y"}) attributes {weir.entry = "main"} {
    %c = weir.constant dense<[[1.0, 2.0], [5.0, 6.0]]> : tensor<2x2xf32>
    %0 = weir.dot_general %x, %c {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, accumulator = f32} : (tensor<?x2xf32>, tensor<2x2xf32>) -> tensor<?x2xf32> loc("fc")
    return %0 : tensor<?x2xf32>
  }
}

// -----

// expected-error@unknown {{W0419: found --shard twice for node "fc"; possible: once}}
module attributes {weir.sharded_products = ["fc:1", "fc:sum"], weir.cluster = {devices = [{name = "/task:0"}, {name = "/task:1"}]}} {
  func.func @main(%x: tensor<?x2xf32> {weir.name = "x"}) -> (tensor<?x2xf32> {weir.name = "y"}) attributes {weir.entry = "main"} {
    %c = weir.constant dense<[[1.0, 2.0], [5.0, 6.0]]> : tensor<2x2xf32>
    %0 = weir.dot_general %x, %c {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, accumulator = f32} : (tensor<?x2xf32>, tensor<2x2xf32>) -> tensor<?x2xf32> loc("fc")
    return %0 : tensor<?x2xf32>
  }
}

// -----

// expected-error@unknown {{W0419: found --shard=fc:1 to ask for a product inside of a loop or a branch; possible: a dimension of the second operand's columns, or sum}}
module attributes {weir.sharded_products = ["fc:1"], weir.cluster = {devices = [{name = "/task:0"}, {name = "/task:1"}]}} {
  func.func @main(%x: tensor<?x2xf32> {weir.name = "x"}, %p: tensor<i1> {weir.name = "p"}) -> (tensor<?x2xf32> {weir.name = "y"}) attributes {weir.entry = "main"} {
    %c = weir.constant dense<[[1.0, 2.0], [5.0, 6.0]]> : tensor<2x2xf32>
    %0 = weir.if %p : (tensor<i1>) -> tensor<?x2xf32> then {
      %1 = weir.dot_general %x, %c {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, accumulator = f32} : (tensor<?x2xf32>, tensor<2x2xf32>) -> tensor<?x2xf32> loc("fc")
      weir.yield %1 : tensor<?x2xf32>
    } else {
      weir.yield %x : tensor<?x2xf32>
    }
    return %0 : tensor<?x2xf32>
  }
}
