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

// -----

// A model's own devices are none of replicas'.
// expected-warning@unknown {{W0422: found node "double" to ask for device "/device:CPU:1"; --replicas and --pipeline give all nodes theirs}}
func.func @train_step(%x: tensor<4xf32> {weir.name = "x"}) -> (tensor<4xf32> {weir.name = "y"})
    attributes {weir.entry = "train_step", weir.replicas = 2 : i64, weir.device_requests = {double = "/device:CPU:1", other = "/device:CPU:1"}} {
  %0 = weir.add %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("double")
  return %0 : tensor<4xf32>
}
