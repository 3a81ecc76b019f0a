// A loop whose body lies on two devices: both have the loop, the condition is
// computed on one and sent to the other in every iteration, and a carried value
// lives where it is made.
// REQUIRES: weir-opt
// RUN: weir-opt %s --weir-partition --split-input-file | FileCheck %s

module attributes {weir_plan.devices = ["/device:CPU:0", "/device:CPU:1"]} {
  // CHECK-LABEL: func.func @loop__0()
  // CHECK: weir.while %{{.*}} : (tensor<i64>) -> tensor<i64> while {
  // CHECK: %[[MORE:.*]] = weir.compare
  // CHECK-NEXT: weir.send %[[MORE]] {edge = 0 : i64, key = "less:0;/device:CPU:0;/device:CPU:1"}
  // CHECK-NEXT: weir.yield %[[MORE]]
  // CHECK: weir.add {{.*}} tensor<i64>
  // CHECK-NOT: tensor<4xf32>, tensor<4xf32>
  // CHECK-LABEL: func.func @loop__1(%arg0: tensor<4xf32> {weir.feed_index = 0 : i64})
  // CHECK: weir.while %arg0 : (tensor<4xf32>) -> tensor<4xf32> while {
  // CHECK: %[[TOLD:.*]] = weir.receive {edge = 0 : i64
  // CHECK-NEXT: weir.yield %[[TOLD]]
  // CHECK-NOT: weir.receive
  // CHECK: weir.add {{.*}} (tensor<4xf32>, tensor<4xf32>)
  func.func @loop(%x: tensor<4xf32>) -> (tensor<i64>, tensor<4xf32>) {
    %zero = weir.constant dense<0> : tensor<i64>
    %0:2 = weir.while %zero, %x : (tensor<i64>, tensor<4xf32>) -> (tensor<i64>, tensor<4xf32>) while {
    ^bb0(%i: tensor<i64>, %v: tensor<4xf32>):
      %ten = weir.constant dense<10> : tensor<i64>
      %more = weir.compare %i, %ten {predicate = "lt", weir.device_index = 0 : i64} : (tensor<i64>, tensor<i64>) -> tensor<i1> loc("less")
      weir.yield %more : tensor<i1>
    } do {
    ^bb0(%i: tensor<i64>, %v: tensor<4xf32>):
      %one = weir.constant dense<1> : tensor<i64>
      %next = weir.add %i, %one {weir.device_index = 0 : i64} : (tensor<i64>, tensor<i64>) -> tensor<i64> loc("add")
      %w = weir.add %v, %v {weir.device_index = 1 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("double")
      weir.yield %next, %w : tensor<i64>, tensor<4xf32>
    } {weir.homes = array<i64: 0, 1>} loc("loop")
    return %0#0, %0#1 : tensor<i64>, tensor<4xf32>
  }
}

// -----

// What is carried on one device and used on the other is sent inside of the
// body; what comes from outside is sent once, before.
module attributes {weir_plan.devices = ["/device:CPU:0", "/device:CPU:1"]} {
  // CHECK-LABEL: func.func @uses__0
  // CHECK: %[[K:.*]] = weir.exp
  // CHECK-NEXT: weir.send %[[K]] {edge = 0
  // CHECK: weir.while
  // CHECK: } do {
  // CHECK: ^bb0(%[[V:.*]]: tensor<4xf32>):
  // CHECK-NEXT: weir.send %[[V]] {edge = 2
  // CHECK: %[[BACK:.*]] = weir.receive {edge = 3
  // CHECK: weir.yield %[[BACK]]
  // CHECK-LABEL: func.func @uses__1
  // CHECK: %[[OUTSIDE:.*]] = weir.receive {edge = 0
  // CHECK: weir.while : () -> ()
  // CHECK: weir.receive {edge = 1
  // CHECK: } do {
  // CHECK-NEXT: %[[INSIDE:.*]] = weir.receive {edge = 2
  // CHECK-NEXT: %[[SUM:.*]] = weir.add %[[INSIDE]], %[[OUTSIDE]]
  // CHECK-NEXT: weir.send %[[SUM]] {edge = 3
  // CHECK-NEXT: weir.yield
  func.func @uses(%x: tensor<4xf32>) -> tensor<4xf32> {
    %k = weir.exp %x {weir.device_index = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32> loc("k")
    %0 = weir.while %x : (tensor<4xf32>) -> tensor<4xf32> while {
    ^bb0(%v: tensor<4xf32>):
      %s = weir.custom_call %v {callee = "test", parameters = array<i64>, pure = true, weir.device_index = 0 : i64} : (tensor<4xf32>) -> tensor<i1> loc("test")
      weir.yield %s : tensor<i1>
    } do {
    ^bb0(%v: tensor<4xf32>):
      %w = weir.add %v, %k {weir.device_index = 1 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("sum")
      weir.yield %w : tensor<4xf32>
    } {weir.homes = array<i64: 0>} loc("loop")
    return %0 : tensor<4xf32>
  }
}
