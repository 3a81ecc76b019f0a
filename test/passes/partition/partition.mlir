// A tensor crosses once for each destination, however many uses it has there;
// control edges are sends of tokens; data and variables' handles never cross.
// REQUIRES: weir-opt
// RUN: weir-opt %s --weir-partition --split-input-file | FileCheck %s
// RUN: weir-opt %s --weir-partition --split-input-file | grep -c 'weir.send' | FileCheck %s --check-prefix=COUNT
// 1 in fan_out, 1 in order, 2 in branches.
// COUNT: {{^}}4{{$}}

// The white paper's figure 4: a and x are used twice on the other device.
module attributes {weir_plan.devices = ["/device:CPU:0", "/device:CPU:1"]} {
  // CHECK-LABEL: func.func @fan_out__0
  // CHECK-COUNT-1: weir.send
  // CHECK-NOT: weir.send
  // CHECK-LABEL: func.func @fan_out__1
  // CHECK: %[[A:.*]] = weir.receive {edge = 0 : i64, key = "a:0;/device:CPU:0;/device:CPU:1"}
  // CHECK-NEXT: %[[X:.*]] = weir.exp %[[A]]
  // CHECK-NEXT: %[[B:.*]] = weir.add %[[A]], %[[X]]
  // CHECK-NEXT: weir.mul %[[A]], %[[B]]
  // CHECK-NOT: weir.receive
  func.func @fan_out(%f: tensor<4xf32>) -> tensor<4xf32> {
    %a = weir.neg %f {weir.device_index = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32> loc("a")
    %x = weir.exp %a {weir.device_index = 1 : i64} : (tensor<4xf32>) -> tensor<4xf32> loc("x")
    %b = weir.add %a, %x {weir.device_index = 1 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("b")
    %c = weir.mul %a, %b {weir.device_index = 1 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("c")
    return %c : tensor<4xf32>
  }
}

// -----

module attributes {weir_plan.devices = ["/device:CPU:0", "/device:CPU:1"]} {
  // A token has no bytes; feeds and constants are each device's own.
  // CHECK-LABEL: func.func @order__0
  // CHECK: %[[T:.*]] = weir.variable_assign
  // CHECK-NEXT: weir.send %[[T]] {{.*}} : (!weir.token) -> ()
  // CHECK-NOT: weir.send
  // CHECK-LABEL: func.func @order__1(%arg0: tensor<f32> {weir.feed_index = 0 : i64})
  // CHECK: %[[T:.*]] = weir.receive {{.*}} : !weir.token
  // CHECK-NEXT: weir.gate %arg0 after %[[T]]
  func.func @order(%f: tensor<f32>) -> tensor<f32> {
    %v = weir.variable {name = "v", container = "", type = tensor<f32>} : !weir.resource
    %t = weir.variable_assign %v, %f {weir.device_index = 0 : i64} : (!weir.resource, tensor<f32>) -> !weir.token loc("assign")
    %g = weir.gate %f after %t {weir.device_index = 1 : i64} : tensor<f32> loc("gate")
    return %g : tensor<f32>
  }
}

// -----

module attributes {weir_plan.devices = ["/device:CPU:0", "/device:CPU:1", "/device:CPU:2"]} {
  // Who has a part in a conditional is told its condition; the result lives
  // where it is made, and the other branch sends its own there. A device
  // without a part hears nothing.
  // CHECK-LABEL: func.func @branches__0
  // CHECK: weir.send %{{.*}} : (tensor<i1>) -> ()
  // CHECK: %[[R:.*]] = weir.if %{{.*}} : (tensor<i1>) -> tensor<4xf32> then {
  // CHECK: weir.neg
  // CHECK: } else {
  // CHECK-NEXT: %[[E:.*]] = weir.receive
  // CHECK-NEXT: weir.yield %[[E]]
  // CHECK-LABEL: func.func @branches__1
  // CHECK: %[[C:.*]] = weir.receive {{.*}} : tensor<i1>
  // CHECK: weir.if %[[C]] : (tensor<i1>) -> () then {
  // CHECK-NEXT: weir.yield
  // CHECK-NEXT: } else {
  // CHECK: %[[X:.*]] = weir.exp
  // CHECK-NEXT: weir.send %[[X]]
  // CHECK-LABEL: func.func @branches__2
  // CHECK-NOT: weir.if
  func.func @branches(%f: tensor<4xf32>, %g: tensor<i1>) -> (tensor<4xf32>, tensor<4xf32>) {
    %c = weir.not %g {weir.device_index = 0 : i64} : (tensor<i1>) -> tensor<i1> loc("c")
    %r = weir.if %c : (tensor<i1>) -> tensor<4xf32> then {
      %n = weir.neg %f {weir.device_index = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32> loc("n")
      weir.yield %n : tensor<4xf32>
    } else {
      %x = weir.exp %f {weir.device_index = 1 : i64} : (tensor<4xf32>) -> tensor<4xf32> loc("x")
      weir.yield %x : tensor<4xf32>
    } {weir.homes = array<i64: 0>} loc("r")
    %s = weir.sin %f {weir.device_index = 2 : i64} : (tensor<4xf32>) -> tensor<4xf32> loc("s")
    return %r, %s : tensor<4xf32>, tensor<4xf32>
  }
}
