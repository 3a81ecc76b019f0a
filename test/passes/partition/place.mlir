// What constraints leave, and what they forbid.
// REQUIRES: weir-opt
// RUN: weir-opt %s --weir-place --split-input-file --verify-diagnostics | FileCheck %s

// Requests by name, partial and legacy; what asks for nothing goes where it
// shares a kernel.
// CHECK: weir_plan.devices = ["/job:localhost/replica:0/task:0/device:CPU:0", "/job:localhost/replica:0/task:0/device:CPU:1"]
// CHECK-LABEL: @requests
// CHECK: weir.neg {{.*}}weir.device_index = 1
// CHECK: weir.exp {{.*}}weir.device_index = 0
// CHECK: weir.sin {{.*}}weir.device_index = 0
func.func @requests(%f: tensor<4096xf32>) -> tensor<4096xf32> attributes {weir.device_requests = {a = "/cpu:1", c = "/job:localhost/device:CPU:0"}} {
  %a = weir.neg %f : (tensor<4096xf32>) -> tensor<4096xf32> loc("a")
  %b = weir.exp %a : (tensor<4096xf32>) -> tensor<4096xf32> loc("b")
  %c = weir.sin %b : (tensor<4096xf32>) -> tensor<4096xf32> loc("c")
  return %c : tensor<4096xf32>
}

// -----

// Partial names of a group are intersected: task 1 and CPU:1 are one device.
// CHECK-LABEL: @intersection
// CHECK: weir.neg {{.*}}weir.device_index = 3
// CHECK: weir.sin {{.*}}weir.device_index = 3
module attributes {weir.cluster = {devices = [{name = "/job:w/task:0/device:CPU:0"}, {name = "/job:w/task:0/device:CPU:1"}, {name = "/job:w/task:1/device:CPU:0"}, {name = "/job:w/task:1/device:CPU:1"}]}} {
  func.func @intersection(%f: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {weir.device_requests = {a = "/task:1", b = "/cpu:1"}, weir.colocations = {b = ["a"]}} {
    %a = weir.neg %f : (tensor<4xf32>) -> tensor<4xf32> loc("a")
    %b = weir.sin %f : (tensor<4xf32>) -> tensor<4xf32> loc("b")
    return %a, %b : tensor<4xf32>, tensor<4xf32>
  }
}

// -----

// The same where requests may give way: the first operation's holds.
// CHECK-LABEL: @soft_conflict
// CHECK: weir.sin {{.*}}weir.device_index = 1
func.func @soft_conflict(%f: tensor<4xf32>) -> tensor<4xf32> attributes {weir.device_requests = {a = "/cpu:0", b = "/cpu:1"}, weir.colocations = {b = ["a"]}} {
  %b = weir.sin %f : (tensor<4xf32>) -> tensor<4xf32> loc("b")
  return %b : tensor<4xf32>
}

// -----

// CHECK-LABEL: @soft_missing
// CHECK: weir.neg {{.*}}weir.device_index = 0
module attributes {weir.cluster = {devices = [{name = "/cpu:0"}]}} {
  func.func @soft_missing(%f: tensor<4xf32>) -> tensor<4xf32> attributes {weir.device_requests = {a = "/gpu:0"}} {
    %a = weir.neg %f : (tensor<4xf32>) -> tensor<4xf32> loc("a")
    return %a : tensor<4xf32>
  }
}

// -----

func.func @unreadable(%f: tensor<4xf32>) -> tensor<4xf32> attributes {weir.device_requests = {a = "cpu zero"}} {
  // expected-error @unknown {{W0601: found device "cpu zero", which cannot be read}}
  %a = weir.neg %f : (tensor<4xf32>) -> tensor<4xf32> loc("a")
  return %a : tensor<4xf32>
}

// -----

// Who uses a variable goes where it lives, whatever it asks for.
// CHECK-LABEL: @resources
// CHECK: weir.variable_assign {{.*}}weir.device_index = 1
// CHECK: weir.variable_read {{.*}}weir.device_index = 1
func.func @resources(%f: tensor<f32>) -> tensor<f32> attributes {weir.device_requests = {assign = "/cpu:0", v = "/cpu:1"}} {
  %v = weir.variable {name = "v", container = "", type = tensor<f32>} : !weir.resource loc("v")
  %t = weir.variable_assign %v, %f : (!weir.resource, tensor<f32>) -> !weir.token loc("assign")
  %r = weir.variable_read %v, %t : (!weir.resource, !weir.token) -> tensor<f32> loc("read")
  return %r : tensor<f32>
}

// -----

// A lock holds one node; memory that no device has is an error.
// CHECK-LABEL: @locked
// CHECK: weir.neg {{.*}}weir.device_index = 1
module attributes {weir.locks = {a = "/cpu:1"}, weir.cluster = {devices = [{name = "/cpu:0"}, {name = "/cpu:1"}]}} {
  func.func @locked(%f: tensor<4xf32>) -> tensor<4xf32> {
    %a = weir.neg %f : (tensor<4xf32>) -> tensor<4xf32> loc("a")
    return %a : tensor<4xf32>
  }
}

// -----

// expected-error @unknown {{W0603: found no placement within the memory of the devices}}
module attributes {weir.cluster = {devices = [{name = "/cpu:0", memory = 100.0}, {name = "/cpu:1", memory = 100.0}]}} {
  func.func @too_large(%f: tensor<4096xf32>) -> tensor<4096xf32> {
    %a = weir.neg %f : (tensor<4096xf32>) -> tensor<4096xf32> loc("a")
    return %a : tensor<4096xf32>
  }
}

// -----

// Two large products that need nothing of each other are spread, a chain of
// small operations is not.
// CHECK-LABEL: @spread
// CHECK: weir.dot_general {{.*}}weir.device_index = [[FIRST:[01]]]
// CHECK-NOT: weir.device_index = [[FIRST]]
// CHECK: weir.dot_general
module attributes {weir.cluster = {devices = [{name = "/cpu:0"}, {name = "/cpu:1"}]}} {
  func.func @spread(%f: tensor<512x512xf32>) -> (tensor<512x512xf32>, tensor<512x512xf32>) {
    %a = weir.dot_general %f, %f {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, accumulator = f32} : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32> loc("a")
    %b = weir.dot_general %f, %f {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 0>, rhs_contract = array<i64: 1>, accumulator = f32} : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32> loc("b")
    return %a, %b : tensor<512x512xf32>, tensor<512x512xf32>
  }
}

// -----

// CHECK-LABEL: @together
// CHECK: weir.neg {{.*}}weir.device_index = [[ONE:[01]]]
// CHECK: weir.reduce {{.*}}weir.device_index = [[ONE]]
module attributes {weir.cluster = {devices = [{name = "/cpu:0"}, {name = "/cpu:1"}]}} {
  func.func @together(%f: tensor<64x64xf32>) -> tensor<64xf32> {
    %a = weir.neg %f : (tensor<64x64xf32>) -> tensor<64x64xf32> loc("a")
    %b = weir.reduce %a {kind = "sum", axes = array<i64: 1>, keep_dims = false} : (tensor<64x64xf32>) -> tensor<64xf32> loc("b")
    return %b : tensor<64xf32>
  }
}

// -----

// Two nodes that must be together are locked to two devices: an error, whatever
// else may give way.
module attributes {weir.locks = {p = "/cpu:2", q = "/cpu:3"}} {
  func.func @contradicting_locks(%f: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {weir.colocations = {q = ["p"]}} {
    %a = weir.neg %f : (tensor<4xf32>) -> tensor<4xf32> loc("p")
    // expected-error @unknown {{W0602: found device "/cpu:3", but the nodes that it is colocated with ask for /device:CPU:2; possible: one device for all of them}}
    // expected-note @unknown {{node "p" asks for /cpu:2 (the placement file)}}
    // expected-note @unknown {{node "q" asks for /cpu:3 (the placement file)}}
    // expected-note @unknown {{"q" is colocated with "p"}}
    %b = weir.sin %f : (tensor<4xf32>) -> tensor<4xf32> loc("q")
    return %a, %b : tensor<4xf32>, tensor<4xf32>
  }
}

// -----

// What the model asks for gives way to a lock.
// CHECK-LABEL: @lock_over_request
// CHECK: weir.neg {{.*}}weir.device_index = 1
// CHECK: weir.sin {{.*}}weir.device_index = 1
module attributes {weir.locks = {b = "/cpu:1"}} {
  func.func @lock_over_request(%f: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {weir.device_requests = {a = "/cpu:0"}, weir.colocations = {b = ["a"]}} {
    %a = weir.neg %f : (tensor<4xf32>) -> tensor<4xf32> loc("a")
    %b = weir.sin %f : (tensor<4xf32>) -> tensor<4xf32> loc("b")
    return %a, %b : tensor<4xf32>, tensor<4xf32>
  }
}

// -----

// A lock to what is not there is an error, too.
module attributes {weir.locks = {a = "/cpu:3"}, weir.cluster = {devices = [{name = "/cpu:0"}]}} {
  func.func @missing_lock(%f: tensor<4xf32>) -> tensor<4xf32> {
    // expected-error @unknown {{W0601: found device "/device:CPU:3", which is not there; possible: /job:localhost/replica:0/task:0/device:CPU:0}}
    %a = weir.neg %f : (tensor<4xf32>) -> tensor<4xf32> loc("a")
    return %a : tensor<4xf32>
  }
}

// -----

// "*" stands for any.
// CHECK-LABEL: @wildcards
// CHECK: weir.neg {{.*}}weir.device_index = 1
module attributes {weir.cluster = {devices = [{name = "/job:w/task:0/cpu:0"}, {name = "/job:w/task:1/cpu:0"}]}} {
  func.func @wildcards(%f: tensor<4xf32>) -> tensor<4xf32> attributes {weir.device_requests = {a = "/job:*/replica:*/task:1/device:*:*"}} {
    %a = weir.neg %f : (tensor<4xf32>) -> tensor<4xf32> loc("a")
    return %a : tensor<4xf32>
  }
}

// -----

// The plan's order: what the other device waits for comes first, although the
// file has it last. Times of the simulated step are noted.
// CHECK-LABEL: @static_order
// CHECK: weir.neg {{.*}}weir.times = array<f64: 0.0
// CHECK: weir.dot_general
// CHECK: weir.dot_general
module attributes {weir.locks = {long = "/cpu:0", a = "/cpu:0", b = "/cpu:1"}, weir.cluster = {devices = [{name = "/cpu:0"}, {name = "/cpu:1"}]}} {
  func.func @static_order(%f: tensor<256x256xf32>, %g: tensor<256x256xf32>) -> (tensor<256x256xf32>, tensor<256x256xf32>) {
    %long = weir.dot_general %f, %f {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, accumulator = f32} : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32> loc("long")
    %a = weir.neg %g : (tensor<256x256xf32>) -> tensor<256x256xf32> loc("a")
    %b = weir.dot_general %a, %f {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 0>, rhs_contract = array<i64: 1>, accumulator = f32} : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32> loc("b")
    return %long, %b : tensor<256x256xf32>, tensor<256x256xf32>
  }
}

