// The canonical rule of the white paper's figure 4, counted: a tensor crosses
// once for each pair of a tensor and a place that it is used in, where a place is
// a device and its kind of memory, however many users it has there. Control
// edges become empty messages.
// REQUIRES: weir-opt
// RUN: weir-opt %s --weir-partition --split-input-file | FileCheck %s

// Three users on one device, two on another, one at home: two transfers.
module attributes {weir_plan.devices = ["/device:CPU:0", "/device:CPU:1", "/device:CPU:2"]} {
  // CHECK: weir_plan.edges = [
  // CHECK-SAME: name = "a:0;/device:CPU:0;/device:CPU:1"
  // CHECK-SAME: name = "a:0;/device:CPU:0;/device:CPU:2"
  // CHECK-NOT: name =
  // CHECK-LABEL: func.func @devices__0
  // CHECK-COUNT-2: weir.send
  // CHECK-NOT: weir.send
  // CHECK-LABEL: func.func @devices__1
  // CHECK-COUNT-1: weir.receive
  // CHECK-NOT: weir.receive
  // CHECK-LABEL: func.func @devices__2
  // CHECK-COUNT-1: weir.receive
  // CHECK-NOT: weir.receive
  // CHECK: return
  func.func @devices(%f: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
    %a = weir.neg %f {weir.device_index = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32> loc("a")
    %h = weir.exp %a {weir.device_index = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32> loc("h")
    %b = weir.exp %a {weir.device_index = 1 : i64} : (tensor<4xf32>) -> tensor<4xf32> loc("b")
    %c = weir.add %a, %b {weir.device_index = 1 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("c")
    %d = weir.mul %a, %c {weir.device_index = 1 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("d")
    %e = weir.sin %a {weir.device_index = 2 : i64} : (tensor<4xf32>) -> tensor<4xf32> loc("e")
    %g = weir.add %a, %e {weir.device_index = 2 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("g")
    return %h, %d, %g : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
}

// -----

// Two results of one node are two tensors.
module attributes {weir_plan.devices = ["/device:CPU:0", "/device:CPU:1"]} {
  // CHECK: weir_plan.edges = [
  // CHECK-SAME: name = "top:0;/device:CPU:0;/device:CPU:1"
  // CHECK-SAME: name = "top:1;/device:CPU:0;/device:CPU:1"
  // CHECK-NOT: name =
  // CHECK-LABEL: func.func @ports__0
  func.func @ports(%f: tensor<8xf32>) -> (tensor<2xf32>, tensor<2xi64>, tensor<2xf32>) {
    %k = weir.constant dense<2> : tensor<i64>
    %v, %i = weir.top_k %f, %k {axis = 0 : i64, index_type = i64, largest = true, sorted = true, weir.device_index = 0 : i64} : (tensor<8xf32>, tensor<i64>) -> (tensor<2xf32>, tensor<2xi64>) loc("top")
    %b = weir.neg %v {weir.device_index = 1 : i64} : (tensor<2xf32>) -> tensor<2xf32> loc("b")
    %c = weir.neg %i {weir.device_index = 1 : i64} : (tensor<2xi64>) -> tensor<2xi64> loc("c")
    %d = weir.add %v, %b {weir.device_index = 1 : i64} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32> loc("d")
    return %b, %c, %d : tensor<2xf32>, tensor<2xi64>, tensor<2xf32>
  }
}

// -----

// A GPU's memory is not its host's, although both are of one task: from GPU:0 a
// tensor goes once to its host and once to the other GPU. What the host feeds
// goes to both.
module attributes {weir_plan.devices = ["/device:CPU:0", "/device:GPU:0", "/device:GPU:1"]} {
  // CHECK: weir_plan.edges = [
  // CHECK-SAME: name = "{{[^"]*}};/device:CPU:0;/device:GPU:0"
  // CHECK-SAME: name = "a:0;/device:GPU:0;/device:CPU:0"
  // CHECK-SAME: name = "a:0;/device:GPU:0;/device:GPU:1"
  // CHECK-SAME: name = "d:0;/device:GPU:1;/device:CPU:0"
  // CHECK-NOT: name =
  // CHECK-LABEL: func.func @memories__0
  func.func @memories(%f: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %a = weir.neg %f {weir.device_index = 1 : i64} : (tensor<4xf32>) -> tensor<4xf32> loc("a")
    %b = weir.exp %a {weir.device_index = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32> loc("b")
    %c = weir.add %a, %b {weir.device_index = 0 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("c")
    %d = weir.sin %a {weir.device_index = 2 : i64} : (tensor<4xf32>) -> tensor<4xf32> loc("d")
    return %c, %d : tensor<4xf32>, tensor<4xf32>
  }
}

// -----

// One control edge to two nodes of a device, and one to a third: two messages
// without bytes. A token that stays at home is none.
module attributes {weir_plan.devices = ["/device:CPU:0", "/device:CPU:1", "/device:CPU:2"]} {
  // CHECK-LABEL: func.func @control__0
  // CHECK: %[[T:.*]] = weir.variable_assign
  // CHECK-DAG: weir.send %[[T]] {{.*}};/device:CPU:0;/device:CPU:1"} : (!weir.token) -> ()
  // CHECK-DAG: weir.send %[[T]] {{.*}};/device:CPU:0;/device:CPU:2"} : (!weir.token) -> ()
  // CHECK-NOT: weir.send
  // CHECK-LABEL: func.func @control__1
  // CHECK-COUNT-1: weir.receive {{.*}} : !weir.token
  // CHECK-NOT: weir.receive
  // CHECK-LABEL: func.func @control__2
  // CHECK-COUNT-1: weir.receive {{.*}} : !weir.token
  // CHECK-NOT: weir.receive
  // CHECK: return
  func.func @control(%f: tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) {
    %v = weir.variable {name = "v", container = "", type = tensor<f32>} : !weir.resource
    %t = weir.variable_assign %v, %f {weir.device_index = 0 : i64} : (!weir.resource, tensor<f32>) -> !weir.token loc("assign")
    %h = weir.gate %f after %t {weir.device_index = 0 : i64} : tensor<f32> loc("h")
    %g = weir.gate %f after %t {weir.device_index = 1 : i64} : tensor<f32> loc("g")
    %i = weir.gate %f after %t {weir.device_index = 1 : i64} : tensor<f32> loc("i")
    %j = weir.gate %f after %t {weir.device_index = 2 : i64} : tensor<f32> loc("j")
    return %h, %g, %i, %j : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>
  }
}

// -----

// Used outside and inside of a loop on the other device: still once, before both.
module attributes {weir_plan.devices = ["/device:CPU:0", "/device:CPU:1"]} {
  // CHECK: weir_plan.edges = [
  // CHECK-SAME: name = "a:0;/device:CPU:0;/device:CPU:1"
  // CHECK-NOT: name =
  // CHECK-LABEL: func.func @regions__1
  // CHECK-COUNT-1: weir.receive
  // CHECK-NOT: weir.receive
  // CHECK: return
  func.func @regions(%f: tensor<4xf32>, %n: tensor<i1>) -> (tensor<4xf32>, tensor<4xf32>) {
    %a = weir.neg %f {weir.device_index = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32> loc("a")
    %b = weir.exp %a {weir.device_index = 1 : i64} : (tensor<4xf32>) -> tensor<4xf32> loc("b")
    %0 = weir.while %b : (tensor<4xf32>) -> tensor<4xf32> while {
    ^bb0(%u: tensor<4xf32>):
      weir.yield %n : tensor<i1>
    } do {
    ^bb0(%u: tensor<4xf32>):
      %c = weir.add %a, %u {weir.device_index = 1 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("c")
      %d = weir.mul %a, %c {weir.device_index = 1 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("d")
      weir.yield %d : tensor<4xf32>
    } {weir.homes = array<i64: 1>} loc("loop")
    return %0, %a : tensor<4xf32>, tensor<4xf32>
  }
}
