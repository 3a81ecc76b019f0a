// Variables that no function of the module changes are constants: where none is changed at all, unless the module says
// otherwise. What has no value in a new session, or not one for all, stays.
//
// RUN: weir-opt %s --split-input-file --weir-freeze-variables | FileCheck %s

// CHECK: module attributes {weir.frozen_variables = 2 : i64}
// CHECK-LABEL: func.func @first
// CHECK: %[[W:.*]] = weir.constant dense<[1.000000e+00, 2.000000e+00]>
// CHECK: %[[T:.*]] = weir.done
// CHECK: %[[S:.*]] = weir.constant dense<3.000000e+00> : tensor<f32>
// CHECK: %[[G:.*]] = weir.gate %[[S]] after %[[T]]
// CHECK: weir.mul %[[W]], %[[G]]
// CHECK: %[[V:.*]] = weir.variable {{.*}}name = "empty"
// CHECK: weir.variable_read %[[V]]
// CHECK-LABEL: func.func @second
// CHECK-NOT: weir.variable
// CHECK: %[[W:.*]] = weir.constant dense<[1.000000e+00, 2.000000e+00]>
// CHECK: return %[[W]]
module {
  func.func @first(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
    %w = weir.variable {container = "", initial = dense<[1.0, 2.0]> : tensor<2xf32>, name = "w", type = tensor<2xf32>} : !weir.resource
    %a = weir.variable_read %w : (!weir.resource) -> tensor<2xf32>
    %t = weir.done %x : (tensor<2xf32>) -> !weir.token
    %s = weir.variable {container = "", initial = dense<3.0> : tensor<f32>, name = "s", type = tensor<f32>} : !weir.resource
    %b = weir.variable_read %s, %t : (!weir.resource, !weir.token) -> tensor<f32>
    %c = weir.mul %a, %b : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
    %e = weir.variable {container = "", name = "empty", type = tensor<2xf32>} : !weir.resource
    %d = weir.variable_read %e : (!weir.resource) -> tensor<2xf32>
    return %c, %d : tensor<2xf32>, tensor<2xf32>
  }
  func.func @second() -> tensor<2xf32> {
    %w = weir.variable {container = "", initial = dense<[1.0, 2.0]> : tensor<2xf32>, name = "w", type = tensor<2xf32>} : !weir.resource
    %a = weir.variable_read %w : (!weir.resource) -> tensor<2xf32>
    return %a : tensor<2xf32>
  }
}

// -----

// A program that changes one variable keeps them all: they are saved together.
// CHECK-LABEL: func.func @step
// CHECK: weir.variable_read
// CHECK: weir.variable_read
module {
  func.func @step(%x: tensor<f32>) -> tensor<f32> {
    %w = weir.variable {container = "", initial = dense<1.0> : tensor<f32>, name = "w", type = tensor<f32>} : !weir.resource
    %a = weir.variable_read %w : (!weir.resource) -> tensor<f32>
    %n = weir.variable {container = "", initial = dense<0.0> : tensor<f32>, name = "n", type = tensor<f32>} : !weir.resource
    %b = weir.variable_read %n : (!weir.resource) -> tensor<f32>
    %c = weir.add %a, %b : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %t = weir.variable_assign %n, %c : (!weir.resource, tensor<f32>) -> !weir.token
    return %c : tensor<f32>
  }
}

// -----

// Those that are only read, where the module asks for that; of one container alone, as names are.
// CHECK: module attributes {weir.freeze = true, weir.frozen_variables = 1 : i64}
// CHECK-LABEL: func.func @reads
// CHECK-NEXT: %[[W:.*]] = weir.constant dense<1.000000e+00> : tensor<f32>
// CHECK: %[[N:.*]] = weir.variable_read
// CHECK: weir.add %[[W]], %[[N]]
// CHECK-LABEL: func.func @assigns
// CHECK: weir.variable {{.*}}container = "c"
module attributes {weir.freeze = true} {
  func.func @reads() -> tensor<f32> {
    %w = weir.variable {container = "", initial = dense<1.0> : tensor<f32>, name = "w", type = tensor<f32>} : !weir.resource
    %a = weir.variable_read %w : (!weir.resource) -> tensor<f32>
    %n = weir.variable {container = "c", initial = dense<0.0> : tensor<f32>, name = "w", type = tensor<f32>} : !weir.resource
    %b = weir.variable_read %n : (!weir.resource) -> tensor<f32>
    %c = weir.add %a, %b : (tensor<f32>, tensor<f32>) -> tensor<f32>
    return %c : tensor<f32>
  }
  func.func @assigns(%x: tensor<f32>) {
    %n = weir.variable {container = "c", initial = dense<0.0> : tensor<f32>, name = "w", type = tensor<f32>} : !weir.resource
    %t = weir.variable_assign %n, %x : (!weir.resource, tensor<f32>) -> !weir.token
    return
  }
}

// -----

// CHECK-LABEL: func.func @kept
// CHECK: weir.variable_read
module attributes {weir.freeze = false} {
  func.func @kept() -> tensor<f32> {
    %w = weir.variable {container = "", initial = dense<1.0> : tensor<f32>, name = "w", type = tensor<f32>} : !weir.resource
    %a = weir.variable_read %w : (!weir.resource) -> tensor<f32>
    return %a : tensor<f32>
  }
}

// -----

// Several devices of one task change nothing.
// CHECK-LABEL: func.func @devices
// CHECK-NOT: weir.variable_read
// CHECK: return
module attributes {weir.cluster = {devices = [{name = "/job:localhost/replica:0/task:0/device:CPU:0"}, {name = "/job:localhost/replica:0/task:0/device:GPU:0"}], links = []}} {
  func.func @devices() -> tensor<f32> {
    %w = weir.variable {container = "", initial = dense<1.0> : tensor<f32>, name = "w", type = tensor<f32>} : !weir.resource
    %a = weir.variable_read %w : (!weir.resource) -> tensor<f32>
    return %a : tensor<f32>
  }
}

// -----

// Where iterators stand is saved, and variables with it.
// CHECK-LABEL: func.func @iterates
// CHECK: weir.variable_read
module {
  func.func @iterates(%name: tensor<!weir.string>) -> tensor<f32> {
    %w = weir.variable {container = "", initial = dense<1.0> : tensor<f32>, name = "w", type = tensor<f32>} : !weir.resource
    %a = weir.variable_read %w : (!weir.resource) -> tensor<f32>
    weir.custom_call %name {callee = "weir_kernel_iterator_drop", parameters = array<i64>, pure = false} : (tensor<!weir.string>) -> ()
    return %a : tensor<f32>
  }
}

// -----

// Tasks of a cluster are planned around where variables lie.
// CHECK-LABEL: func.func @shared
// CHECK: weir.variable_read
module attributes {weir.cluster = {devices = [{name = "/job:worker/replica:0/task:0/device:CPU:0"}, {name = "/job:worker/replica:0/task:1/device:CPU:0"}], links = []}} {
  func.func @shared() -> tensor<f32> {
    %w = weir.variable {container = "", initial = dense<1.0> : tensor<f32>, name = "w", type = tensor<f32>} : !weir.resource
    %a = weir.variable_read %w : (!weir.resource) -> tensor<f32>
    return %a : tensor<f32>
  }
}

// -----

// What is handed on as a handle, or begins with another value elsewhere, stays.
// CHECK-LABEL: func.func @handed
// CHECK: weir.variable_read
// CHECK-LABEL: func.func @other
// CHECK: weir.variable_read
module attributes {weir.freeze = true} {
  func.func @handed(%x: tensor<i1>) -> tensor<f32> {
    %w = weir.variable {container = "", initial = dense<1.0> : tensor<f32>, name = "w", type = tensor<f32>} : !weir.resource
    %r = weir.if %x : (tensor<i1>) -> !weir.resource then {
      weir.yield %w : !weir.resource
    } else {
      weir.yield %w : !weir.resource
    }
    %a = weir.variable_read %r : (!weir.resource) -> tensor<f32>
    return %a : tensor<f32>
  }
  func.func @other() -> tensor<f32> {
    %v = weir.variable {container = "", initial = dense<1.0> : tensor<f32>, name = "v", type = tensor<f32>} : !weir.resource
    %a = weir.variable_read %v : (!weir.resource) -> tensor<f32>
    %u = weir.variable {container = "", initial = dense<2.0> : tensor<f32>, name = "v", type = tensor<f32>} : !weir.resource
    %b = weir.variable_read %u : (!weir.resource) -> tensor<f32>
    %c = weir.add %a, %b : (tensor<f32>, tensor<f32>) -> tensor<f32>
    return %c : tensor<f32>
  }
}
