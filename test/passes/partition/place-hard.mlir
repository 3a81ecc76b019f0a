// Devices that are asked for and cannot be had, where none may give way.
// REQUIRES: weir-opt
// RUN: weir-opt %s --weir-place=hard=true --split-input-file --verify-diagnostics | FileCheck %s

// Colocated nodes that contradict each other, where nothing may give way.
module {
  func.func @conflict(%f: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {weir.device_requests = {a = "/cpu:0", b = "/cpu:1"}, weir.colocations = {b = ["a"]}} {
    %a = weir.neg %f : (tensor<4xf32>) -> tensor<4xf32> loc("a")
    // expected-error @unknown {{W0602: found device "/cpu:1", but the nodes that it is colocated with ask for /device:CPU:0; possible: one device for all of them}}
    // expected-note @unknown {{node "a" asks for /cpu:0 (the model)}}
    // expected-note @unknown {{node "b" asks for /cpu:1 (the model)}}
    // expected-note @unknown {{"b" is colocated with "a"}}
    %b = weir.sin %f : (tensor<4xf32>) -> tensor<4xf32> loc("b")
    return %a, %b : tensor<4xf32>, tensor<4xf32>
  }
}

// -----

// A device that is not there: an error, or another one of its task.
module attributes {weir.cluster = {devices = [{name = "/cpu:0"}]}} {
  func.func @missing(%f: tensor<4xf32>) -> tensor<4xf32> attributes {weir.device_requests = {a = "/gpu:0"}} {
    // expected-error @unknown {{W0601: found device "/device:GPU:0", which is not there; possible: /job:localhost/replica:0/task:0/device:CPU:0}}
    %a = weir.neg %f : (tensor<4xf32>) -> tensor<4xf32> loc("a")
    return %a : tensor<4xf32>
  }
}

// -----

// Calls with effects are together. A kernel of the runtime goes where the others
// are; a user's function, whatever it is called, is where its node asks to be.
// CHECK-LABEL: @runtime_calls
module {
  func.func @runtime_calls(%f: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {weir.device_requests = {a = "/cpu:0", b = "/cpu:1"}} {
    %a = weir.custom_call %f {callee = "weir_kernel_a", parameters = array<i64>, pure = false} : (tensor<4xf32>) -> tensor<4xf32> loc("a")
    %b = weir.custom_call %f {callee = "weir_kernel_b", parameters = array<i64>, pure = false} : (tensor<4xf32>) -> tensor<4xf32> loc("b")
    return %a, %b : tensor<4xf32>, tensor<4xf32>
  }
}

// -----

module {
  func.func @user_calls(%f: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {weir.device_requests = {u = "/cpu:4", v = "/cpu:5"}} {
    %a = weir.custom_call %f {callee = "weir_kernel_a", parameters = array<i64>, pure = false, weir.operation = "A"} : (tensor<4xf32>) -> tensor<4xf32> loc("u")
    // expected-error @unknown {{W0602: found device "/cpu:5", but the nodes that it is colocated with ask for /device:CPU:4}}
    // expected-note @unknown {{node "u" asks for /cpu:4 (the model)}}
    // expected-note @unknown {{node "v" asks for /cpu:5 (the model)}}
    // expected-note @unknown {{both are calls with effects}}
    %b = weir.custom_call %f {callee = "weir_b", parameters = array<i64>, pure = false, weir.operation = "B"} : (tensor<4xf32>) -> tensor<4xf32> loc("v")
    return %a, %b : tensor<4xf32>, tensor<4xf32>
  }
}
