// A training step in stages, with its batch in micro-batches.
// REQUIRES: weir-opt
// RUN: weir-opt --weir-form-pipeline --split-input-file %s | FileCheck %s
// RUN: weir-opt --weir-form-pipeline --weir-replicate --split-input-file %s | FileCheck %s --check-prefix=PLACED

// Two nodes, a stage each: the first does two forward passes before its first backward one. Each
// micro-batch has its rows; the sum grows as they come, and stays in the stage of its parts.
// CHECK: weir_plan.pipeline = {{.*}}micro_batches = 3
// CHECK-SAME: first = "a"
// CHECK-SAME: order = "F0 F1 B0 F2 B1 B2"
// CHECK-SAME: first = "b"
// CHECK-SAME: order = "F0 B0 F1 B1 F2 B2"
// CHECK-LABEL: func.func @train_step(
// CHECK-SAME: tensor<12x64xf32>
// CHECK-SAME: weir.keeps_order
// CHECK: weir.slice {{.*}} -> tensor<4x64xf32>
// CHECK: %[[F0:.*]] = weir.exp {{.*}}{weir.stage_index = 0
// CHECK: weir.tanh %[[F0]] {weir.stage_index = 1
// CHECK: %[[B0:.*]] = weir.mul {{.*}}{weir.stage_index = 0
// CHECK-SAME: weir.stored
// CHECK: %[[B1:.*]] = weir.mul {{.*}}{weir.stage_index = 0
// CHECK: %[[S1:.*]] = weir.add %[[B0]], %[[B1]] {weir.stage_index = 0 : i64, weir.stored}
// CHECK: %[[B2:.*]] = weir.mul {{.*}}{weir.stage_index = 0
// CHECK: %[[S2:.*]] = weir.add %[[S1]], %[[B2]] {weir.stage_index = 0
// CHECK-NOT: weir.micro_sum
// CHECK: weir.variable_assign %{{.*}}, %[[S2]]
// PLACED-LABEL: func.func @train_step(
// PLACED-NOT: weir.stage_index
// PLACED: weir.exp {{.*}}/task:0/device:CPU:0
// PLACED: weir.tanh {{.*}}/task:1/device:CPU:0
// PLACED: weir.variable_assign {{.*}}/task:0/device:CPU:0
// PLACED-NOT: @synchronize
func.func @train_step(%x: tensor<4x64xf32> {weir.name = "x"}) -> (tensor<f32> {weir.name = "loss"})
    attributes {weir.entry = "train_step", weir.stages = 2 : i64, weir.micro_batches = 3 : i64} {
  %r = weir.variable {name = "w", container = "", type = tensor<4x64xf32>, initial = dense<1.0> : tensor<4x64xf32>} : !weir.resource loc("w")
  %a = weir.exp %x : (tensor<4x64xf32>) -> tensor<4x64xf32> loc("a")
  %b = weir.tanh %a : (tensor<4x64xf32>) -> tensor<4x64xf32> loc("b")
  %l = weir.reduce %b {kind = "sum", axes = array<i64: 0, 1>, keep_dims = false} : (tensor<4x64xf32>) -> tensor<f32> loc("b")
  %loss = weir.gate %l {weir.micro_sum} : tensor<f32> loc("b")
  %g = weir.neg %b : (tensor<4x64xf32>) -> tensor<4x64xf32> loc("b")
  %h = weir.mul %g, %a : (tensor<4x64xf32>, tensor<4x64xf32>) -> tensor<4x64xf32> loc("a")
  %sum = weir.gate %h {weir.micro_sum} : tensor<4x64xf32> loc("a")
  %t = weir.variable_assign %r, %sum : (!weir.resource, tensor<4x64xf32>) -> !weir.token loc("w")
  return %loss : tensor<f32>
}

// -----

// Stages of two replicas: gradients meet stage by stage, in buckets of their own.
// PLACED-LABEL: func.func @train_step(
// PLACED-SAME: tensor<16x64xf32>
// PLACED-DAG: weir.exp {{.*}}/task:0/device:CPU:0
// PLACED-DAG: weir.tanh {{.*}}/task:1/device:CPU:0
// PLACED-DAG: weir.exp {{.*}}/task:2/device:CPU:0
// PLACED-DAG: weir.tanh {{.*}}/task:3/device:CPU:0
// PLACED-DAG: weir.all_reduce {{.*}}weir.collective{{.*}}/task:1/device:CPU:0
// PLACED-DAG: weir.all_reduce {{.*}}weir.collective{{.*}}/task:0/device:CPU:0
// PLACED-LABEL: func.func @synchronize()
// PLACED: weir.variable_assign {{.*}}/task:2/device:CPU:0
func.func @train_step(%x: tensor<4x64xf32> {weir.name = "x"}) -> (tensor<f32> {weir.name = "loss"})
    attributes {weir.entry = "train_step", weir.replicas = 2 : i64, weir.stages = 2 : i64, weir.micro_batches = 2 : i64} {
  %r = weir.variable {name = "w", container = "", type = tensor<4x64xf32>, initial = dense<1.0> : tensor<4x64xf32>} : !weir.resource loc("w")
  %a = weir.exp %x : (tensor<4x64xf32>) -> tensor<4x64xf32> loc("a")
  %b = weir.tanh %a : (tensor<4x64xf32>) -> tensor<4x64xf32> loc("b")
  %l = weir.reduce %b {kind = "sum", axes = array<i64: 0, 1>, keep_dims = false} : (tensor<4x64xf32>) -> tensor<f32> loc("b")
  %micro = weir.gate %l {weir.micro_sum} : tensor<f32> loc("b")
  %loss = weir.gate %micro {weir.replica_sum} : tensor<f32> loc("b")
  %g = weir.neg %b : (tensor<4x64xf32>) -> tensor<4x64xf32> loc("b")
  %h = weir.mul %g, %a : (tensor<4x64xf32>, tensor<4x64xf32>) -> tensor<4x64xf32> loc("a")
  %part = weir.gate %h {weir.micro_sum} : tensor<4x64xf32> loc("a")
  %sum = weir.gate %part {weir.replica_sum} : tensor<4x64xf32> loc("a")
  %t = weir.variable_assign %r, %sum : (!weir.resource, tensor<4x64xf32>) -> !weir.token loc("w")
  return %loss : tensor<f32>
}

// -----

// What is needed of all micro-batches before the first can go on (rows that count) comes first, and nothing
// else does: the second forward pass stays behind the first backward one.
// CHECK-LABEL: func.func @train_step(
// CHECK: weir.exp
// CHECK-COUNT-2: weir.cast
// CHECK: weir.div
// CHECK: weir.neg
// CHECK: weir.exp
// CHECK-NOT: weir.cast
// CHECK: weir.div
func.func @train_step(%x: tensor<4xf32> {weir.name = "x"}, %labels: tensor<4xi64> {weir.name = "labels"})
    -> (tensor<f32> {weir.name = "loss"})
    attributes {weir.entry = "train_step", weir.stages = 1 : i64, weir.micro_batches = 2 : i64} {
  %r = weir.variable {name = "w", container = "", type = tensor<4xf32>, initial = dense<1.0> : tensor<4xf32>} : !weir.resource loc("w")
  %a = weir.exp %x : (tensor<4xf32>) -> tensor<4xf32> loc("a")
  %one = weir.cast %labels {saturate = false} : (tensor<4xi64>) -> tensor<4xf32> loc("count")
  %n = weir.reduce %one {kind = "sum", axes = array<i64: 0>, keep_dims = false} : (tensor<4xf32>) -> tensor<f32> loc("count")
  %all = weir.gate %n {weir.micro_sum} : tensor<f32> loc("count")
  %d = weir.div %a, %all : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32> loc("b")
  %l = weir.reduce %d {kind = "sum", axes = array<i64: 0>, keep_dims = false} : (tensor<4xf32>) -> tensor<f32> loc("b")
  %loss = weir.gate %l {weir.micro_sum} : tensor<f32> loc("b")
  %g = weir.neg %d : (tensor<4xf32>) -> tensor<4xf32> loc("b")
  %sum = weir.gate %g {weir.micro_sum} : tensor<4xf32> loc("b")
  %t = weir.variable_assign %r, %sum : (!weir.resource, tensor<4xf32>) -> !weir.token loc("w")
  return %loss : tensor<f32>
}
