// A tensor is sent as late as the times of the simulated step allow: between
// what the sender does until then, or when the receiver asks for it.
// REQUIRES: weir-opt
// RUN: weir-opt %s --weir-partition --split-input-file | FileCheck %s

// weir.times: start at the earliest, start at the latest, duration, in seconds;
// bytes of the result. e starts at 2.5 ms at the latest: a's 16 bytes cross
// between b, which ends at 2, and c, which ends at 3. By then h is gone, so that
// the second device never holds both.
module attributes {weir_plan.devices = ["/device:CPU:0", "/device:CPU:1"]} {
  // CHECK: weir_plan.late_transfers = {asked = 0 : i64, moved = 1 : i64}
  // CHECK-LABEL: func.func @between__0
  // CHECK: %[[H:.*]] = weir.cos
  // CHECK-NEXT: weir.send %[[H]] {edge = 0
  // CHECK-NEXT: %[[A:.*]] = weir.neg
  // CHECK-NEXT: %[[B:.*]] = weir.exp
  // CHECK-NEXT: %[[DONE:.*]] = weir.done %[[B]]
  // CHECK-NEXT: weir.send %[[A]], %[[DONE]] {edge = 1 : i64, key = "a:0;/device:CPU:0;/device:CPU:1"}
  // CHECK-NEXT: weir.sin
  // CHECK-LABEL: func.func @between__1
  // CHECK: weir.tanh
  // CHECK: %[[A:.*]] = weir.receive {edge = 1
  // CHECK-NEXT: weir.cos %[[A]]
  // CHECK-NOT: weir.times
  func.func @between(%f: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %h = weir.cos %f {weir.device_index = 0 : i64, weir.times = array<f64: 0.0, 0.0, 0.5e-3, 16.0>} : (tensor<4xf32>) -> tensor<4xf32> loc("h")
    %a = weir.neg %f {weir.device_index = 0 : i64, weir.times = array<f64: 0.5e-3, 0.5e-3, 0.5e-3>} : (tensor<4xf32>) -> tensor<4xf32> loc("a")
    %g = weir.tanh %h {weir.device_index = 1 : i64, weir.times = array<f64: 0.6e-3, 0.6e-3, 0.8e-3>} : (tensor<4xf32>) -> tensor<4xf32> loc("g")
    %b = weir.exp %f {weir.device_index = 0 : i64, weir.times = array<f64: 1.0e-3, 1.0e-3, 1.0e-3, 16.0>} : (tensor<4xf32>) -> tensor<4xf32> loc("b")
    %c = weir.sin %b {weir.device_index = 0 : i64, weir.times = array<f64: 2.0e-3, 2.0e-3, 1.0e-3, 40.0>} : (tensor<4xf32>) -> tensor<4xf32> loc("c")
    %e = weir.cos %a {weir.device_index = 1 : i64, weir.times = array<f64: 1.5e-3, 2.5e-3, 0.5e-3>} : (tensor<4xf32>) -> tensor<4xf32> loc("e")
    return %c, %e : tensor<4xf32>, tensor<4xf32>
  }
}

// -----

// Without h nothing is gained: the first device would hold it instead.
module attributes {weir_plan.devices = ["/device:CPU:0", "/device:CPU:1"]} {
  // CHECK-NOT: weir_plan.late_transfers
  // CHECK-LABEL: func.func @no_gain__0
  // CHECK: %[[A:.*]] = weir.neg
  // CHECK-NEXT: weir.send %[[A]]
  // CHECK-NEXT: weir.exp
  func.func @no_gain(%f: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %a = weir.neg %f {weir.device_index = 0 : i64, weir.times = array<f64: 0.0, 0.0, 1.0e-3, 16.0>} : (tensor<4xf32>) -> tensor<4xf32> loc("a")
    %b = weir.exp %f {weir.device_index = 0 : i64, weir.times = array<f64: 1.0e-3, 1.0e-3, 1.0e-3, 16.0>} : (tensor<4xf32>) -> tensor<4xf32> loc("b")
    %c = weir.sin %b {weir.device_index = 0 : i64, weir.times = array<f64: 2.0e-3, 2.0e-3, 1.0e-3, 16.0>} : (tensor<4xf32>) -> tensor<4xf32> loc("c")
    %e = weir.cos %a {weir.device_index = 1 : i64, weir.times = array<f64: 1.5e-3, 2.5e-3, 0.5e-3, 16.0>} : (tensor<4xf32>) -> tensor<4xf32> loc("e")
    return %c, %e : tensor<4xf32>, tensor<4xf32>
  }
}

// -----

// On the critical path nothing waits.
module attributes {weir_plan.devices = ["/device:CPU:0", "/device:CPU:1"]} {
  // CHECK-NOT: weir_plan.late_transfers
  // CHECK-LABEL: func.func @critical__0
  // CHECK: %[[A:.*]] = weir.neg
  // CHECK-NEXT: weir.send %[[A]]
  // CHECK-NEXT: weir.exp
  func.func @critical(%f: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %a = weir.neg %f {weir.device_index = 0 : i64, weir.times = array<f64: 0.0, 0.0, 1.0e-3>} : (tensor<4xf32>) -> tensor<4xf32> loc("a")
    %b = weir.exp %f {weir.device_index = 0 : i64, weir.times = array<f64: 1.0e-3, 1.0e-3, 1.0e-3>} : (tensor<4xf32>) -> tensor<4xf32> loc("b")
    %e = weir.cos %a {weir.device_index = 1 : i64, weir.times = array<f64: 1.005e-3, 1.005e-3, 0.5e-3>} : (tensor<4xf32>) -> tensor<4xf32> loc("e")
    return %b, %e : tensor<4xf32>, tensor<4xf32>
  }
}

// -----

// Never behind the first use's place in the order, whatever the times say: the
// programs stay projections of one order.
module attributes {weir_plan.devices = ["/device:CPU:0", "/device:CPU:1"]} {
  // CHECK-LABEL: func.func @order__0
  // CHECK: %[[A:.*]] = weir.neg
  // CHECK-NEXT: weir.send %[[A]]
  // CHECK-NEXT: %[[E:.*]] = weir.receive
  // CHECK-NEXT: weir.exp %[[E]]
  func.func @order(%f: tensor<4xf32>) -> tensor<4xf32> {
    %a = weir.neg %f {weir.device_index = 0 : i64, weir.times = array<f64: 0.0, 0.0, 1.0e-3>} : (tensor<4xf32>) -> tensor<4xf32> loc("a")
    %e = weir.cos %a {weir.device_index = 1 : i64, weir.times = array<f64: 1.0e-3, 9.0e-3, 0.5e-3>} : (tensor<4xf32>) -> tensor<4xf32> loc("e")
    %b = weir.exp %e {weir.device_index = 0 : i64, weir.times = array<f64: 2.0e-3, 2.0e-3, 1.0e-3>} : (tensor<4xf32>) -> tensor<4xf32> loc("b")
    return %b : tensor<4xf32>
  }
}

// -----

// The sender has nothing left to do, and the tensor is large: it goes when the
// receiver asks, before what starts early enough (c at 6 ms, not d at 8), when
// h is gone.
module attributes {weir_plan.devices = ["/device:CPU:0", "/device:CPU:1"]} {
  // CHECK: weir_plan.edges = [{destination = 1 : i64, name = "h:0;/device:CPU:0;/device:CPU:1", source = 0 : i64}, {destination = 1 : i64, name = "a:0;/device:CPU:0;/device:CPU:1", source = 0 : i64}, {destination = 0 : i64, name = "request a:0;/device:CPU:1;/device:CPU:0", source = 1 : i64}]
  // CHECK: weir_plan.late_transfers = {asked = 1 : i64, moved = 0 : i64}
  // CHECK-LABEL: func.func @asked__0
  // CHECK: %[[A:.*]] = weir.neg
  // CHECK-NEXT: %[[T:.*]] = weir.receive {edge = 2 : i64, key = "request a:0;/device:CPU:1;/device:CPU:0"} : !weir.token
  // CHECK-NEXT: weir.send %[[A]], %[[T]] {edge = 1
  // CHECK-LABEL: func.func @asked__1
  // CHECK: weir.tanh
  // CHECK: %[[B:.*]] = weir.exp
  // CHECK-NEXT: %[[DONE:.*]] = weir.done %[[B]]
  // CHECK-NEXT: weir.send %[[DONE]] {edge = 2
  // CHECK-NEXT: weir.sin
  // CHECK-NEXT: weir.cos
  // CHECK-NEXT: weir.receive {edge = 1
  // CHECK-NEXT: weir.add
  func.func @asked(%f: tensor<16384xf32>) -> tensor<16384xf32> {
    %h = weir.cos %f {weir.device_index = 0 : i64, weir.times = array<f64: 0.0, 0.0, 0.5e-3, 65536.0>} : (tensor<16384xf32>) -> tensor<16384xf32> loc("h")
    %a = weir.neg %f {weir.device_index = 0 : i64, weir.times = array<f64: 0.5e-3, 1.0e-3, 0.5e-3, 65536.0>} : (tensor<16384xf32>) -> tensor<16384xf32> loc("a")
    %g = weir.tanh %h {weir.device_index = 1 : i64, weir.times = array<f64: 0.6e-3, 0.6e-3, 1.4e-3>} : (tensor<16384xf32>) -> tensor<16384xf32> loc("g")
    %b = weir.exp %f {weir.device_index = 1 : i64, weir.times = array<f64: 2.0e-3, 2.0e-3, 2.0e-3, 65536.0>} : (tensor<16384xf32>) -> tensor<16384xf32> loc("b")
    %c = weir.sin %b {weir.device_index = 1 : i64, weir.times = array<f64: 4.0e-3, 6.0e-3, 1.0e-3>} : (tensor<16384xf32>) -> tensor<16384xf32> loc("c")
    %d = weir.cos %c {weir.device_index = 1 : i64, weir.times = array<f64: 5.0e-3, 8.0e-3, 1.0e-3>} : (tensor<16384xf32>) -> tensor<16384xf32> loc("d")
    %e = weir.add %a, %d {weir.device_index = 1 : i64, weir.times = array<f64: 6.0e-3, 8.0e-3, 1.0e-3>} : (tensor<16384xf32>, tensor<16384xf32>) -> tensor<16384xf32> loc("e")
    return %e : tensor<16384xf32>
  }
}

// -----

// A small tensor is not worth a message.
module attributes {weir_plan.devices = ["/device:CPU:0", "/device:CPU:1"]} {
  // CHECK-LABEL: func.func @small__0
  // CHECK-NOT: weir.receive
  // CHECK-LABEL: func.func @small__1
  // CHECK-NOT: weir.send
  // CHECK: return
  func.func @small(%f: tensor<16xf32>) -> tensor<16xf32> {
    %a = weir.neg %f {weir.device_index = 0 : i64, weir.times = array<f64: 0.0, 1.0e-3, 1.0e-3>} : (tensor<16xf32>) -> tensor<16xf32> loc("a")
    %b = weir.exp %f {weir.device_index = 1 : i64, weir.times = array<f64: 0.0, 0.0, 4.0e-3>} : (tensor<16xf32>) -> tensor<16xf32> loc("b")
    %c = weir.sin %b {weir.device_index = 1 : i64, weir.times = array<f64: 4.0e-3, 6.0e-3, 1.0e-3>} : (tensor<16xf32>) -> tensor<16xf32> loc("c")
    %e = weir.add %a, %c {weir.device_index = 1 : i64, weir.times = array<f64: 6.0e-3, 8.0e-3, 1.0e-3>} : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32> loc("e")
    return %e : tensor<16xf32>
  }
}

// -----

// Inside of a loop every iteration sends at once, before what follows it.
module attributes {weir_plan.devices = ["/device:CPU:0", "/device:CPU:1"]} {
  // CHECK-LABEL: func.func @loop__0
  // CHECK: do {
  // CHECK: %[[A:.*]] = weir.neg
  // CHECK-NEXT: weir.send %[[A]]
  // CHECK: weir.exp
  func.func @loop(%f: tensor<4xf32>, %n: tensor<i1>) -> (tensor<4xf32>, tensor<4xf32>) {
    %0:2 = weir.while %f, %f : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) while {
    ^bb0(%u: tensor<4xf32>, %v: tensor<4xf32>):
      weir.yield %n : tensor<i1>
    } do {
    ^bb0(%u: tensor<4xf32>, %v: tensor<4xf32>):
      %a = weir.neg %u {weir.device_index = 0 : i64, weir.times = array<f64: 0.0, 0.0, 1.0e-3>} : (tensor<4xf32>) -> tensor<4xf32> loc("a")
      %b = weir.exp %a {weir.device_index = 0 : i64, weir.times = array<f64: 1.0e-3, 1.0e-3, 1.0e-3>} : (tensor<4xf32>) -> tensor<4xf32> loc("b")
      %e = weir.add %a, %v {weir.device_index = 1 : i64, weir.times = array<f64: 1.5e-3, 9.0e-3, 0.5e-3>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("e")
      weir.yield %b, %e : tensor<4xf32>, tensor<4xf32>
    } {weir.homes = array<i64: 0, 1>} loc("loop")
    return %0#0, %0#1 : tensor<4xf32>, tensor<4xf32>
  }
}
