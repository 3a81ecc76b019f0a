// RUN: weir-opt %s --weir-form-pipeline --split-input-file --verify-diagnostics

// One node cannot be two stages.
// expected-error@unknown {{W0420: found 1 pieces of the forward pass that --pipeline=2 could make stages of; possible: fewer stages}}
func.func @train_step(%x: tensor<4xf32> {weir.name = "x"}) -> (tensor<f32> {weir.name = "loss"})
    attributes {weir.entry = "train_step", weir.stages = 2 : i64, weir.micro_batches = 2 : i64} {
  %l = weir.reduce %x {kind = "sum", axes = array<i64: 0>, keep_dims = false} : (tensor<4xf32>) -> tensor<f32> loc("a")
  %loss = weir.gate %l {weir.micro_sum} : tensor<f32> loc("a")
  return %loss : tensor<f32>
}

// -----

// Two weights of 400 bytes, and devices that hold one, but not what comes with it.
// expected-error@unknown {{W0420: found no cut into 2 stages within the memory of their devices; possible: more stages, more micro-batches, more memory}}
module attributes {weir.cluster = {devices = [{name = "/job:worker/replica:0/task:0/device:CPU:0", memory = 100 : i64}, {name = "/job:worker/replica:0/task:1/device:CPU:0", memory = 100 : i64}], links = []}} {
  func.func @train_step(%x: tensor<100xf32> {weir.name = "x"}) -> (tensor<f32> {weir.name = "loss"})
      attributes {weir.entry = "train_step", weir.stages = 2 : i64, weir.micro_batches = 2 : i64} {
    %r = weir.variable {name = "w", container = "", type = tensor<100xf32>, initial = dense<1.0> : tensor<100xf32>} : !weir.resource loc("w")
    %w = weir.variable_read %r : (!weir.resource) -> tensor<100xf32> loc("w")
    %a = weir.mul %x, %w : (tensor<100xf32>, tensor<100xf32>) -> tensor<100xf32> loc("a")
    %c = weir.exp %a : (tensor<100xf32>) -> tensor<100xf32> loc("c")
    %l = weir.reduce %c {kind = "sum", axes = array<i64: 0>, keep_dims = false} : (tensor<100xf32>) -> tensor<f32> loc("b")
    %loss = weir.gate %l {weir.micro_sum} : tensor<f32> loc("b")
    %g = weir.mul %a, %x : (tensor<100xf32>, tensor<100xf32>) -> tensor<100xf32> loc("a")
    %sum = weir.gate %g {weir.micro_sum} : tensor<100xf32> loc("a")
    %t = weir.variable_assign %r, %sum : (!weir.resource, tensor<100xf32>) -> !weir.token loc("w")
    return %loss : tensor<f32>
  }
}
