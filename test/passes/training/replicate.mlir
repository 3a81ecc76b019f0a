// RUN: weir-opt %s --weir-replicate --split-input-file | FileCheck %s
// RUN: weir-opt %s --weir-replicate --weir-place --weir-form-collectives --split-input-file | FileCheck %s --check-prefix=FORMED

// Two replicas, each with its device, variables and rows. The two gradients are summed in
// one bucket; what waits for it stands behind.
// CHECK-LABEL: func.func @train_step(
// CHECK-SAME: tensor<8x3xf32> {weir.name = "x"}, %{{[^ ]*}}: tensor<f32> {weir.name = "rate"})
// CHECK: weir.slice {{.*}}task:0{{.*}} -> tensor<4x3xf32>
// CHECK: weir.slice {{.*}}task:1{{.*}} -> tensor<4x3xf32>
// CHECK-DAG: weir.variable {container = "", {{.*}}name = "w"
// CHECK-DAG: weir.variable {container = "replica_1", {{.*}}name = "w"{{.*}}weir.copy
// CHECK-NOT: weir.replica_sum
// CHECK: %[[A:.*]] = weir.concat
// CHECK: %[[B:.*]] = weir.concat
// CHECK: weir.all_reduce
// CHECK-SAME: weir.collective
// CHECK-SAME: tensor<6xf32>, tensor<6xf32>
// CHECK: weir.variable_assign
// CHECK: weir.variable_assign
// CHECK-LABEL: func.func @synchronize()
// CHECK: %[[W:.*]] = weir.variable {container = "",
// CHECK: %[[V:.*]] = weir.variable_read %[[W]]
// CHECK: %[[C:.*]] = weir.variable {container = "replica_1"
// CHECK: weir.variable_assign %[[C]], %[[V]]

// To the steps it is an edge from each device to itself.
// FORMED: weir_plan.host_collectives = [{devices = array<i64: 0, 1>, down = array<i64: -1, 7>, entry = "train_step", inputs = array<i64: 0, 3>, kind = "sum",
// FORMED-SAME: outputs = array<i64: 1, 4>, ring = array<i64: 2, 5>
// FORMED: weir.send {{.*}}edge = 0
// FORMED: weir.send {{.*}}edge = 3
// FORMED-NOT: weir.all_reduce
// FORMED-DAG: weir.receive {edge = 1
// FORMED-DAG: weir.receive {edge = 4
func.func @train_step(%x: tensor<4x3xf32> {weir.name = "x"}, %rate: tensor<f32> {weir.name = "rate"})
    -> (tensor<f32> {weir.name = "loss"})
    attributes {weir.entry = "train_step", weir.replicas = 2 : i64} {
  %r = weir.variable {name = "w", container = "", type = tensor<3xf32>, initial = dense<1.0> : tensor<3xf32>} : !weir.resource
  %w = weir.variable_read %r : (!weir.resource) -> tensor<3xf32>
  %0 = weir.mul %x, %w : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  %loss = weir.reduce %0 {kind = "sum", axes = array<i64: 0, 1>, keep_dims = false} : (tensor<4x3xf32>) -> tensor<f32>
  %g = weir.reduce %x {kind = "sum", axes = array<i64: 0>, keep_dims = false} : (tensor<4x3xf32>) -> tensor<3xf32>
  %sum = weir.gate %g {weir.replica_sum} : tensor<3xf32>
  %step = weir.mul %sum, %rate : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  %new = weir.sub %w, %step : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %t = weir.variable_assign %r, %new : (!weir.resource, tensor<3xf32>) -> !weir.token
  %h = weir.mul %g, %g : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %second = weir.gate %h {weir.replica_sum} : tensor<3xf32>
  %r2 = weir.variable {name = "s", container = "", type = tensor<3xf32>, initial = dense<1.0> : tensor<3xf32>} : !weir.resource
  %t2 = weir.variable_assign %r2, %second : (!weir.resource, tensor<3xf32>) -> !weir.token
  return %loss : tensor<f32>
}

// -----

// Each replica knows its number; a sum that another hangs on is a bucket of its own.
// CHECK-LABEL: func.func @train_step(
// CHECK-DAG: weir.constant dense<0> : tensor<i64>
// CHECK-DAG: weir.constant dense<1> : tensor<i64>
// CHECK-NOT: weir.replica_index
// CHECK: weir.all_reduce
// CHECK: weir.all_reduce
func.func @train_step(%x: tensor<?x3xf32> {weir.name = "x"}) -> (tensor<f32> {weir.name = "loss"})
    attributes {weir.entry = "train_step", weir.replicas = 2 : i64} {
  %zero = weir.constant dense<0> : tensor<i64>
  %index = weir.gate %zero {weir.replica_index} : tensor<i64>
  %n = weir.cast %index {saturate = false} : (tensor<i64>) -> tensor<f32>
  %r = weir.variable {name = "w", container = "", type = tensor<f32>, initial = dense<1.0> : tensor<f32>} : !weir.resource
  %0 = weir.mul %x, %n : (tensor<?x3xf32>, tensor<f32>) -> tensor<?x3xf32>
  %s = weir.reduce %0 {kind = "sum", axes = array<i64: 0, 1>, keep_dims = false} : (tensor<?x3xf32>) -> tensor<f32>
  %count = weir.gate %s {weir.replica_sum} : tensor<f32>
  %1 = weir.div %s, %count : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %loss = weir.gate %1 {weir.replica_sum} : tensor<f32>
  %t = weir.variable_assign %r, %loss : (!weir.resource, tensor<f32>) -> !weir.token
  return %loss : tensor<f32>
}

// -----

// Each replica updates its half: a sum of which it takes no more than that is scattered, in the order
// of parts (of [3, 4] along the second dimension, two rows of 6), and what they have made is gathered. A
// variable of a part is no copy.
// CHECK-LABEL: func.func @train_step(
// CHECK-NOT: weir.replica_
// CHECK: weir.transpose {{.*}} -> tensor<2x3x2xf32>
// CHECK: %[[SUM:.*]] = weir.all_reduce {{.*}}weir.collective{{.*}}tensor<12xf32>
// CHECK: weir.slice %[[SUM]], {{.*}}task:0{{.*}} -> tensor<6xf32>
// CHECK: weir.slice %[[SUM]], {{.*}}task:1{{.*}} -> tensor<6xf32>
// CHECK: weir.variable {container = "", {{.*}}name = "m"{{.*}}weir.shard = 1
// CHECK: weir.variable {container = "replica_1", {{.*}}name = "m"{{.*}}type = tensor<3x2xf32>{{.*}}weir.shard = 1
// CHECK: %[[ALL:.*]] = weir.concat {{.*}}weir.collective{{.*}} -> tensor<12xf32>
// CHECK: weir.reshape %[[ALL]], {{.*}}task:0{{.*}} -> tensor<2x6xf32>
// CHECK: weir.transpose {{.*}} -> tensor<3x2x2xf32>
// CHECK-LABEL: func.func @synchronize()
// CHECK-NOT: name = "m"
// CHECK: return

// FORMED: way = "reduce_scatter"
// FORMED-SAME: way = "all_gather"
// FORMED: weir.send {{.*}}tensor<12xf32>
// FORMED: weir.receive {{.*}}reduce_scatter{{.*}} : tensor<6xf32>
// FORMED: weir.send {{.*}}all_gather{{.*}}tensor<6xf32>
// FORMED: weir.receive {{.*}}all_gather{{.*}} : tensor<12xf32>
func.func @train_step(%x: tensor<4x3x4xf32> {weir.name = "x"}) -> (tensor<3x4xf32> {weir.name = "w"})
    attributes {weir.entry = "train_step", weir.replicas = 2 : i64} {
  %g = weir.reduce %x {kind = "sum", axes = array<i64: 0>, keep_dims = false} : (tensor<4x3x4xf32>) -> tensor<3x4xf32>
  %zero = weir.constant dense<0> : tensor<1xi64>
  %one = weir.constant dense<1> : tensor<1xi64>
  %two = weir.constant dense<2> : tensor<1xi64>
  %sum = weir.gate %g {weir.replica_sum} : tensor<3x4xf32>
  %index = weir.gate %zero {weir.replica_index} : tensor<1xi64>
  %begin = weir.mul %index, %two : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
  %end = weir.add %begin, %two : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
  %own = weir.slice %sum, %begin, %end, %one {axes = array<i64: 1>, strict = false} : (tensor<3x4xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<3x2xf32>
  %r = weir.variable {name = "m", container = "", type = tensor<3x2xf32>, initial = dense<1.0> : tensor<3x2xf32>, weir.shard = 1 : i64} : !weir.resource
  %m = weir.variable_read %r : (!weir.resource) -> tensor<3x2xf32>
  %next = weir.add %m, %own : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  %t = weir.variable_assign %r, %next : (!weir.resource, tensor<3x2xf32>) -> !weir.token
  %p0 = weir.gate %next {weir.replica_part = 0 : i64} : tensor<3x2xf32>
  %p1 = weir.gate %next {weir.replica_part = 1 : i64} : tensor<3x2xf32>
  %all = weir.concat %p0, %p1 {axis = 1 : i64} : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x4xf32>
  %r2 = weir.variable {name = "w", container = "", type = tensor<3x4xf32>, initial = dense<1.0> : tensor<3x4xf32>} : !weir.resource
  %t2 = weir.variable_assign %r2, %all : (!weir.resource, tensor<3x4xf32>) -> !weir.token
  return %all : tensor<3x4xf32>
}

// -----

// What is there first goes first, from where it is there on, also where its variable is updated last,
// and where the plan, which takes a sum for work of a device, would put it off.
// CHECK-LABEL: func.func @first_goes_first(
// CHECK: weir.all_reduce
// CHECK: weir.mul {{.*}} -> tensor<2x300000xf32>
// CHECK: weir.all_reduce
// FORMED-LABEL: func.func @first_goes_first(
// FORMED: weir.send
// FORMED: weir.send
// FORMED: weir.mul {{.*}} -> tensor<2x300000xf32>
// FORMED: weir.send
// FORMED: weir.send
// FORMED: weir.receive
func.func @first_goes_first(%x: tensor<2x300000xf32> {weir.name = "x"}) -> (tensor<f32> {weir.name = "loss"})
    attributes {weir.entry = "train_step", weir.replicas = 2 : i64} {
  %a = weir.variable {name = "a", container = "", type = tensor<300000xf32>, initial = dense<1.0> : tensor<300000xf32>} : !weir.resource
  %b = weir.variable {name = "b", container = "", type = tensor<300000xf32>, initial = dense<1.0> : tensor<300000xf32>} : !weir.resource
  %first = weir.reduce %x {kind = "sum", axes = array<i64: 0>, keep_dims = false} : (tensor<2x300000xf32>) -> tensor<300000xf32>
  %squares = weir.mul %x, %x : (tensor<2x300000xf32>, tensor<2x300000xf32>) -> tensor<2x300000xf32>
  %second = weir.reduce %squares {kind = "sum", axes = array<i64: 0>, keep_dims = false} : (tensor<2x300000xf32>) -> tensor<300000xf32>
  %loss = weir.reduce %second {kind = "sum", axes = array<i64: 0>, keep_dims = false} : (tensor<300000xf32>) -> tensor<f32>
  %ofA = weir.gate %second {weir.replica_sum} : tensor<300000xf32>
  %t = weir.variable_assign %a, %ofA : (!weir.resource, tensor<300000xf32>) -> !weir.token
  %ofB = weir.gate %first {weir.replica_sum} : tensor<300000xf32>
  %t2 = weir.variable_assign %b, %ofB : (!weir.resource, tensor<300000xf32>) -> !weir.token
  return %loss : tensor<f32>
}

// -----

// Two devices of each replica share a product: gradients are summed by those of the same part.
// CHECK-LABEL: func.func @train_step(
// CHECK-NOT: weir.shard_
// CHECK-DAG: weir.variable {{.*}}name = "w/shard_0"{{.*}}weir.device = "{{[^"]*}}task:0
// CHECK-DAG: weir.variable {{.*}}name = "w/shard_0"{{.*}}weir.device = "{{[^"]*}}task:2
// CHECK-DAG: weir.variable {{.*}}name = "w/shard_1"{{.*}}weir.device = "{{[^"]*}}task:1
// CHECK-DAG: weir.variable {{.*}}name = "w/shard_1"{{.*}}weir.device = "{{[^"]*}}task:3
// FORMED: weir_plan.host_collectives = [{devices = array<i64: 1, 3>
// FORMED-SAME: devices = array<i64: 0, 2>
func.func @train_step(%x: tensor<4x3xf32> {weir.name = "x"}) -> (tensor<f32> {weir.name = "loss"})
    attributes {weir.entry = "train_step", weir.replicas = 2 : i64, weir.shard_count = 2 : i64,
                weir.shard_members = {"w/shard_0" = 0 : i64, "w/shard_1" = 1 : i64}} {
  %loss = weir.reduce %x {kind = "sum", axes = array<i64: 0, 1>, keep_dims = false} : (tensor<4x3xf32>) -> tensor<f32>
  %g = weir.reduce %x {kind = "sum", axes = array<i64: 0>, keep_dims = false} : (tensor<4x3xf32>) -> tensor<3xf32> loc("w/shard_0")
  %s = weir.gate %g {weir.replica_sum} : tensor<3xf32> loc("w/shard_0")
  %v = weir.variable {name = "w/shard_0", container = "", type = tensor<3xf32>, initial = dense<1.0> : tensor<3xf32>} : !weir.resource loc("w/shard_0")
  %t = weir.variable_assign %v, %s : (!weir.resource, tensor<3xf32>) -> !weir.token loc("w/shard_0")
  %g1 = weir.reduce %x {kind = "sum", axes = array<i64: 0>, keep_dims = false} : (tensor<4x3xf32>) -> tensor<3xf32> loc("w/shard_1")
  %s1 = weir.gate %g1 {weir.replica_sum} : tensor<3xf32> loc("w/shard_1")
  %v1 = weir.variable {name = "w/shard_1", container = "", type = tensor<3xf32>, initial = dense<1.0> : tensor<3xf32>} : !weir.resource loc("w/shard_1")
  %t1 = weir.variable_assign %v1, %s1 : (!weir.resource, tensor<3xf32>) -> !weir.token loc("w/shard_1")
  return %loss : tensor<f32>
}
