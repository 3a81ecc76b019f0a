// f32 crosses a compressed link as its upper half, in one direction and type
// only; nothing else is touched.
// REQUIRES: weir-opt
// RUN: weir-opt %s --weir-partition | FileCheck %s

module attributes {weir_plan.devices = ["/device:CPU:0", "/device:CPU:1"],
                   weir.cluster = {devices = [{name = "/cpu:0"}, {name = "/cpu:1"}],
                                   links = [{source = 0 : i64, destination = 1 : i64, compress = true}]}} {
  // CHECK-LABEL: func.func @main__0
  // CHECK: %[[A:.*]] = weir.neg
  // CHECK: %[[BITS:.*]] = weir.bitcast %[[A]] : (tensor<4xf32>) -> tensor<4xui32>
  // CHECK: %[[UPPER:.*]] = weir.shr %[[BITS]]
  // CHECK: %[[HALF:.*]] = weir.cast %[[UPPER]] {saturate = false} : (tensor<4xui32>) -> tensor<4xui16>
  // CHECK: weir.send %[[HALF]] {{.*}} : (tensor<4xui16>) -> ()
  // CHECK: weir.send %{{.*}} : (tensor<4xi32>) -> ()
  // CHECK: weir.receive {{.*}} : tensor<4xf32>
  // CHECK-LABEL: func.func @main__1
  // CHECK: %[[HALF:.*]] = weir.receive {{.*}} : tensor<4xui16>
  // CHECK: %[[WIDE:.*]] = weir.cast %[[HALF]]
  // CHECK: %[[UPPER:.*]] = weir.shl %[[WIDE]]
  // CHECK: %[[B:.*]] = weir.bitcast %[[UPPER]] : (tensor<4xui32>) -> tensor<4xf32>
  // CHECK: weir.exp %[[B]]
  // CHECK: weir.send %{{.*}} : (tensor<4xf32>) -> ()
  // CHECK: weir.receive {{.*}} : tensor<4xi32>
  func.func @main(%x: tensor<4xf32>, %n: tensor<4xi32>) -> (tensor<4xf32>, tensor<4xi32>) {
    %a = weir.neg %x {weir.device_index = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32> loc("a")
    %m = weir.neg %n {weir.device_index = 0 : i64} : (tensor<4xi32>) -> tensor<4xi32> loc("m")
    %b = weir.exp %a {weir.device_index = 1 : i64} : (tensor<4xf32>) -> tensor<4xf32> loc("b")
    %k = weir.neg %m {weir.device_index = 1 : i64} : (tensor<4xi32>) -> tensor<4xi32> loc("k")
    %c = weir.neg %b {weir.device_index = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32> loc("c")
    return %c, %k : tensor<4xf32>, tensor<4xi32>
  }
}
