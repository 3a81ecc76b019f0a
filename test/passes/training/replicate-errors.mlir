// RUN: weir-opt %s --weir-replicate --split-input-file --verify-diagnostics

// expected-error@unknown {{W0417: found no feed "y" of train_step to divide among replicas; possible: "x"}}
func.func @train_step(%x: tensor<4x3xf32> {weir.name = "x"}) -> (tensor<4x3xf32> {weir.name = "loss"})
    attributes {weir.entry = "train_step", weir.replicas = 2 : i64, weir.sharded_feeds = ["y"]} {
  return %x : tensor<4x3xf32>
}

// -----

// expected-error@unknown {{W0418: found 1 devices for --replicas=2; possible: as many devices, or fewer replicas}}
module attributes {weir.cluster = {devices = [{name = "/job:worker/replica:0/task:0/device:CPU:0"}]}} {
  func.func @train_step(%x: tensor<4x3xf32> {weir.name = "x"}) -> (tensor<4x3xf32> {weir.name = "loss"})
      attributes {weir.entry = "train_step", weir.replicas = 2 : i64} {
    return %x : tensor<4x3xf32>
  }
}
