// What several devices of a task have a part of, and several of them use, they reduce together.
// REQUIRES: weir-opt
// RUN: weir-opt --weir-place --weir-form-collectives --split-input-file %s | FileCheck %s

module attributes {weir.cluster = {devices = [{name = "/job:localhost/replica:0/task:0/device:CPU:0"}, {name = "/job:localhost/replica:0/task:0/device:GPU:0"}, {name = "/job:localhost/replica:0/task:0/device:GPU:1"}], links = []}} {
  // CHECK: weir_plan.collectives = [
  // CHECK-LABEL: @both
  // CHECK: weir_plan.has_collective 0
  // CHECK: weir.if
  // CHECK-COUNT-2: weir_plan.all_reduce 0
  // CHECK: weir.all_reduce
  func.func @both(%x: tensor<64x64xf32>, %y: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) attributes {weir.entry = "both"} {
    %0 = weir.exp %x {weir.device = "/device:GPU:0"} : (tensor<64x64xf32>) -> tensor<64x64xf32> loc("a")
    %1 = weir.exp %y {weir.device = "/device:GPU:1"} : (tensor<64x64xf32>) -> tensor<64x64xf32> loc("b")
    %2 = weir.all_reduce %0, %1 {kind = "sum", weir.device = "/device:GPU:0"} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32> loc("s")
    %3 = weir.tanh %2 {weir.device = "/device:GPU:0"} : (tensor<64x64xf32>) -> tensor<64x64xf32> loc("c")
    %4 = weir.tanh %2 {weir.device = "/device:GPU:1"} : (tensor<64x64xf32>) -> tensor<64x64xf32> loc("d")
    return %3, %4 : tensor<64x64xf32>, tensor<64x64xf32>
  }
}

// -----

// One device has both parts: nobody else takes part.
module attributes {weir.cluster = {devices = [{name = "/job:localhost/replica:0/task:0/device:CPU:0"}, {name = "/job:localhost/replica:0/task:0/device:GPU:0"}, {name = "/job:localhost/replica:0/task:0/device:GPU:1"}], links = []}} {
  // CHECK-LABEL: @one
  // CHECK-NOT: has_collective
  // CHECK: weir.all_reduce
  // CHECK-NOT: has_collective
  // CHECK: return
  func.func @one(%x: tensor<64x64xf32>, %y: tensor<64x64xf32>) -> tensor<64x64xf32> attributes {weir.entry = "one"} {
    %0 = weir.exp %x {weir.device = "/device:GPU:0"} : (tensor<64x64xf32>) -> tensor<64x64xf32> loc("a")
    %1 = weir.exp %y {weir.device = "/device:GPU:0"} : (tensor<64x64xf32>) -> tensor<64x64xf32> loc("b")
    %2 = weir.all_reduce %0, %1 {kind = "sum", weir.device = "/device:GPU:0"} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32> loc("s")
    return %2 : tensor<64x64xf32>
  }
}
