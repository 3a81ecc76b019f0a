// Loops and conditionals whose conditions are computed from a device's data are the device's to decide.
// REQUIRES: weir-opt
// RUN: weir-opt --weir-mark-device-control --split-input-file %s | FileCheck %s
// RUN: weir-opt --weir-mark-device-control "--weir-place=placer=on:/device:GPU:0" --split-input-file %s | FileCheck %s --check-prefix=PLACED
// RUN: weir-opt --weir-mark-device-control "--weir-place=placer=on:/device:CPU:0" --split-input-file %s | FileCheck %s --check-prefix=HOST

// Where the host has the work after all, its integers are scalars as ever.
// HOST-NOT: weir.decided_on_device

module attributes {weir.cluster = {devices = [{name = "/job:localhost/replica:0/task:0/device:CPU:0"}, {name = "/job:localhost/replica:0/task:0/device:GPU:0"}], links = []}} {
  // CHECK-LABEL: @halve
  // CHECK: weir.while
  // CHECK-NOT: weir.decided_on_device
  // CHECK: } {weir.decided_on_device}
  // All of it is one device's, the counter, too.
  // PLACED-LABEL: @halve
  // PLACED: weir.compare {{.*}}weir.device_index = 1
  // PLACED: weir.add {{.*}}weir.device_index = 1
  // PLACED: } {weir.decided_on_device, weir.homes = array<i64: 1, 1>}
  func.func @halve(%a: tensor<96xf32>) -> (tensor<96xf32>, tensor<i32>) attributes {weir.entry = "halve"} {
    %none = weir.constant dense<0> : tensor<i32>
    %one = weir.constant dense<1> : tensor<i32>
    %small = weir.constant dense<1.0> : tensor<f32>
    %half = weir.constant dense<0.5> : tensor<f32>
    %end:2 = weir.while %a, %none : (tensor<96xf32>, tensor<i32>) -> (tensor<96xf32>, tensor<i32>) while {
    ^bb0(%x: tensor<96xf32>, %i: tensor<i32>):
      %w = weir.reduce %x {axes = array<i64: 0>, keep_dims = false, kind = "max"} : (tensor<96xf32>) -> tensor<f32> loc("max")
      %go = weir.compare %w, %small {predicate = "gt"} : (tensor<f32>, tensor<f32>) -> tensor<i1> loc("go")
      weir.yield %go : tensor<i1>
    } do {
    ^bb0(%x: tensor<96xf32>, %i: tensor<i32>):
      %y = weir.mul %x, %half : (tensor<96xf32>, tensor<f32>) -> tensor<96xf32> loc("half")
      %j = weir.add %i, %one : (tensor<i32>, tensor<i32>) -> tensor<i32> loc("next")
      weir.yield %y, %j : tensor<96xf32>, tensor<i32>
    } loc("loop")
    return %end#0, %end#1 : tensor<96xf32>, tensor<i32>
  }

  // What computes the condition goes with the conditional.
  // CHECK-LABEL: @choose
  // CHECK: weir.reduce
  // CHECK-NOT: weir.decided_on_device
  // CHECK: weir.compare {{.*}}weir.decided_on_device
  // CHECK: weir.compare {{.*}}weir.decided_on_device
  // CHECK: weir.and {{.*}}weir.decided_on_device
  // CHECK: } {weir.decided_on_device}
  func.func @choose(%a: tensor<96xf32>) -> tensor<96xf32> attributes {weir.entry = "choose"} {
    %large = weir.constant dense<9.0> : tensor<f32>
    %small = weir.constant dense<1.0> : tensor<f32>
    %w = weir.reduce %a {axes = array<i64: 0>, keep_dims = false, kind = "max"} : (tensor<96xf32>) -> tensor<f32> loc("c.max")
    %high = weir.compare %w, %small {predicate = "gt"} : (tensor<f32>, tensor<f32>) -> tensor<i1> loc("c.high")
    %low = weir.compare %w, %large {predicate = "lt"} : (tensor<f32>, tensor<f32>) -> tensor<i1> loc("c.low")
    %go = weir.and %high, %low : (tensor<i1>, tensor<i1>) -> tensor<i1> loc("c.go")
    %r = weir.if %go : (tensor<i1>) -> tensor<96xf32> then {
      %t = weir.tanh %a : (tensor<96xf32>) -> tensor<96xf32> loc("c.tanh")
      weir.yield %t : tensor<96xf32>
    } else {
      weir.yield %a : tensor<96xf32>
    } loc("c.if")
    return %r : tensor<96xf32>
  }
  // What nothing inside assigns has one value in all turns.
  // CHECK-LABEL: func.func @reads
  // CHECK: } {weir.decided_on_device}
  func.func @reads(%a: tensor<96xf32>) -> tensor<96xf32> attributes {weir.entry = "reads"} {
    %v = weir.variable {name = "v", container = "", type = tensor<96xf32>, initial = dense<1.0> : tensor<96xf32>} : !weir.resource loc("v")
    %small = weir.constant dense<1.0> : tensor<f32>
    %end = weir.while %a : (tensor<96xf32>) -> tensor<96xf32> while {
    ^bb0(%x: tensor<96xf32>):
      %w = weir.reduce %x {axes = array<i64: 0>, keep_dims = false, kind = "max"} : (tensor<96xf32>) -> tensor<f32> loc("k.max")
      %go = weir.compare %w, %small {predicate = "gt"} : (tensor<f32>, tensor<f32>) -> tensor<i1> loc("k.go")
      weir.yield %go : tensor<i1>
    } do {
    ^bb0(%x: tensor<96xf32>):
      %y = weir.variable_read %v : (!weir.resource) -> tensor<96xf32> loc("k.read")
      weir.yield %y : tensor<96xf32>
    } loc("k.loop")
    return %end : tensor<96xf32>
  }
}

// -----

// Not: what counts; what has a size that is open; an effect; a part that a node asks to be elsewhere;
// a condition that is fed.
module attributes {weir.cluster = {devices = [{name = "/job:localhost/replica:0/task:0/device:CPU:0"}, {name = "/job:localhost/replica:0/task:0/device:GPU:0"}], links = []}} {
  // CHECK-NOT: weir.decided_on_device
  func.func @counts(%a: tensor<96xf32>) -> tensor<96xf32> attributes {weir.entry = "counts"} {
    %none = weir.constant dense<0> : tensor<i32>
    %one = weir.constant dense<1> : tensor<i32>
    %end:2 = weir.while %a, %one : (tensor<96xf32>, tensor<i32>) -> (tensor<96xf32>, tensor<i32>) while {
    ^bb0(%x: tensor<96xf32>, %i: tensor<i32>):
      %go = weir.compare %i, %none {predicate = "gt"} : (tensor<i32>, tensor<i32>) -> tensor<i1> loc("d.go")
      weir.yield %go : tensor<i1>
    } do {
    ^bb0(%x: tensor<96xf32>, %i: tensor<i32>):
      %y = weir.tanh %x : (tensor<96xf32>) -> tensor<96xf32> loc("d.tanh")
      %j = weir.sub %i, %one : (tensor<i32>, tensor<i32>) -> tensor<i32> loc("d.next")
      weir.yield %y, %j : tensor<96xf32>, tensor<i32>
    } loc("d.loop")
    return %end#0 : tensor<96xf32>
  }
  // CHECK-LABEL: func.func @open
  // CHECK-NOT: weir.decided_on_device
  // CHECK: weir.decided_by_host = "the host decides \22e.loop\22: node \22e.loop\22 carries values whose size is open"
  func.func @open(%a: tensor<?xf32>) -> tensor<?xf32> attributes {weir.entry = "open"} {
    %small = weir.constant dense<1.0> : tensor<f32>
    %end = weir.while %a : (tensor<?xf32>) -> tensor<?xf32> while {
    ^bb0(%x: tensor<?xf32>):
      %w = weir.reduce %x {axes = array<i64: 0>, keep_dims = false, kind = "max"} : (tensor<?xf32>) -> tensor<f32> loc("e.max")
      %go = weir.compare %w, %small {predicate = "gt"} : (tensor<f32>, tensor<f32>) -> tensor<i1> loc("e.go")
      weir.yield %go : tensor<i1>
    } do {
    ^bb0(%x: tensor<?xf32>):
      %y = weir.tanh %x : (tensor<?xf32>) -> tensor<?xf32> loc("e.tanh")
      weir.yield %y : tensor<?xf32>
    } loc("e.loop")
    return %end : tensor<?xf32>
  }
  // CHECK-LABEL: func.func @effect
  // CHECK-NOT: weir.decided_on_device
  // CHECK: weir.decided_by_host = "the host decides \22g.loop\22: node \22g.assign\22 assigns a variable"
  // CHECK-NOT: weir.decided_on_device
  func.func @effect(%a: tensor<96xf32>) -> tensor<96xf32> attributes {weir.entry = "effect"} {
    %v = weir.variable {name = "v", container = "", type = tensor<96xf32>, initial = dense<1.0> : tensor<96xf32>} : !weir.resource loc("v")
    %small = weir.constant dense<1.0> : tensor<f32>
    %end = weir.while %a : (tensor<96xf32>) -> tensor<96xf32> while {
    ^bb0(%x: tensor<96xf32>):
      %w = weir.reduce %x {axes = array<i64: 0>, keep_dims = false, kind = "max"} : (tensor<96xf32>) -> tensor<f32> loc("g.max")
      %go = weir.compare %w, %small {predicate = "gt"} : (tensor<f32>, tensor<f32>) -> tensor<i1> loc("g.go")
      weir.yield %go : tensor<i1>
    } do {
    ^bb0(%x: tensor<96xf32>):
      %t = weir.variable_assign %v, %x : (!weir.resource, tensor<96xf32>) -> !weir.token loc("g.assign")
      weir.yield %x : tensor<96xf32>
    } loc("g.loop")
    return %end : tensor<96xf32>
  }
  func.func @elsewhere(%a: tensor<96xf32>) -> tensor<96xf32> attributes {weir.entry = "elsewhere"} {
    %small = weir.constant dense<1.0> : tensor<f32>
    %end = weir.while %a : (tensor<96xf32>) -> tensor<96xf32> while {
    ^bb0(%x: tensor<96xf32>):
      %w = weir.reduce %x {axes = array<i64: 0>, keep_dims = false, kind = "max"} : (tensor<96xf32>) -> tensor<f32> loc("h.max")
      %go = weir.compare %w, %small {predicate = "gt"} : (tensor<f32>, tensor<f32>) -> tensor<i1> loc("h.go")
      weir.yield %go : tensor<i1>
    } do {
    ^bb0(%x: tensor<96xf32>):
      %y = weir.tanh %x {weir.device = "/device:CPU:0"} : (tensor<96xf32>) -> tensor<96xf32> loc("h.tanh")
      weir.yield %y : tensor<96xf32>
    } loc("h.loop")
    return %end : tensor<96xf32>
  }
  func.func @fed(%a: tensor<96xf32>, %c: tensor<i1>) -> tensor<96xf32> attributes {weir.entry = "fed"} {
    %r = weir.if %c : (tensor<i1>) -> tensor<96xf32> then {
      %t = weir.tanh %a : (tensor<96xf32>) -> tensor<96xf32> loc("i.tanh")
      weir.yield %t : tensor<96xf32>
    } else {
      weir.yield %a : tensor<96xf32>
    } loc("i.if")
    return %r : tensor<96xf32>
  }
}

// -----

// Without a GPU there is nobody to decide.
module {
  // CHECK-LABEL: @alone
  // CHECK-NOT: weir.decided_on_device
  func.func @alone(%a: tensor<96xf32>) -> tensor<96xf32> attributes {weir.entry = "alone"} {
    %small = weir.constant dense<1.0> : tensor<f32>
    %end = weir.while %a : (tensor<96xf32>) -> tensor<96xf32> while {
    ^bb0(%x: tensor<96xf32>):
      %w = weir.reduce %x {axes = array<i64: 0>, keep_dims = false, kind = "max"} : (tensor<96xf32>) -> tensor<f32> loc("max")
      %go = weir.compare %w, %small {predicate = "gt"} : (tensor<f32>, tensor<f32>) -> tensor<i1> loc("go")
      weir.yield %go : tensor<i1>
    } do {
    ^bb0(%x: tensor<96xf32>):
      %y = weir.tanh %x : (tensor<96xf32>) -> tensor<96xf32> loc("tanh")
      weir.yield %y : tensor<96xf32>
    } loc("loop")
    return %end : tensor<96xf32>
  }
}
