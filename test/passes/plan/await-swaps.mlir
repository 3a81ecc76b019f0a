// Values that wait in the host's memory, to keep a limit on a GPU.
// REQUIRES: weir-opt
// RUN: weir-opt %s --weir-recompute-launches=limit=13000 | FileCheck %s
// RUN: weir-opt %s --weir-recompute-launches=limit=13000 --weir-bufferize --weir-plan-memory --weir-await-swaps | FileCheck %s --check-prefix=PLAN
// RUN: weir-opt --weir-recompute-launches=limit=20000 %s | FileCheck %s --check-prefix=NONE
// RUN: sed s/GPU:0/CPU:1/ %s | weir-opt --weir-recompute-launches=limit=13000 | FileCheck %s --check-prefix=NONE
// RUN: sed 's/bandwidth = 1.0e12/bandwidth = 1.0e3/' %s | weir-opt --weir-recompute-launches=limit=13000 | FileCheck %s --check-prefix=DEAR

// The first wide value waits across two others. It is saved where it is made, and
// copied back in front of what reads a view of it; the host's link is as fast as its
// memory, and making it again takes a launch.
// CHECK: weir_plan.swap = {bytes = 8192 : i64, repeating_launches = 1 : i64, repeating_peak = {{[0-9]+}} : i64, returned = 1 : i64, saved = 1 : i64}
// CHECK-LABEL: @waits
// CHECK: %[[A:.*]] = weir_plan.launch @wide
// CHECK-NEXT: %[[T:.*]] = weir_plan.swap_out %[[A]] : tensor<1024xf32>
// CHECK: weir.reshape %[[A]]
// CHECK: weir_plan.launch @both
// CHECK: %[[B:.*]] = weir_plan.swap_in %[[T]] -> tensor<1024xf32>
// CHECK: %[[W:.*]] = weir.reshape %[[B]]
// CHECK: weir_plan.launch @narrow(%[[W]])

// Who comes to lie over it waits for the copy out, who reads it for the copy back.
// PLAN-LABEL: @waits
// PLAN: weir_plan.run @wide
// PLAN-NEXT: %[[OUT:.*]] = weir_plan.swap_out %{{.*}} slot 0 : memref<1024xf32>
// PLAN: weir_plan.run @narrow
// PLAN: weir_plan.await_swap %[[OUT]]
// PLAN: weir_plan.run @both
// PLAN: %[[BACK:.*]] = weir_plan.swap_in %[[OUT]] to %{{.*}} : memref<1024xf32>
// PLAN: weir_plan.await_swap %[[BACK]]
// PLAN: weir_plan.run @narrow

// NONE-LABEL: @waits
// NONE-NOT: swap_out

// Over a slow link it is computed again.
// DEAR: weir_plan.swap = {bytes = 0 : i64
// DEAR-LABEL: @waits
// DEAR-NOT: swap_out
// DEAR-COUNT-4: launch @wide
module attributes {
    weir_plan.devices = ["/job:localhost/replica:0/task:0/device:CPU:0", "/job:localhost/replica:0/task:0/device:GPU:0"],
    weir.cluster = {devices = [{name = "/job:localhost/replica:0/task:0/device:CPU:0"},
                               {name = "/job:localhost/replica:0/task:0/device:GPU:0", flops = 1.0e13, bandwidth = 1.0e12, overhead = 3.0e-6}],
                    links = [{source = 0 : i64, destination = 1 : i64, bandwidth = 1.0e12, latency = 1.0e-9},
                             {source = 1 : i64, destination = 0 : i64, bandwidth = 1.0e12, latency = 1.0e-9}]}} {
weir_plan.kernel @wide schedule <loops> nodes "w" {
^bb0(%x: tensor<1xf32>):
  %shape = weir.constant dense<1024> : tensor<1xi64>
  %0 = weir.tile %x, %shape : (tensor<1xf32>, tensor<1xi64>) -> tensor<1024xf32>
  weir_plan.return %0 : tensor<1024xf32>
}
weir_plan.kernel @both schedule <loops> nodes "b" {
^bb0(%x: tensor<1024xf32>, %y: tensor<1024xf32>):
  %0 = weir.reverse %x {axes = array<i64: 0>} : (tensor<1024xf32>) -> tensor<1024xf32>
  %1 = weir.reverse %y {axes = array<i64: 0>} : (tensor<1024xf32>) -> tensor<1024xf32>
  %2 = weir.add %0, %1 : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  weir_plan.return %2 : tensor<1024xf32>
}
weir_plan.kernel @narrow schedule <loops> nodes "n" {
^bb0(%x: tensor<32x32xf32>):
  %0 = weir.reduce %x {axes = array<i64: 0, 1>, keep_dims = false, kind = "sum"} : (tensor<32x32xf32>) -> tensor<f32>
  weir_plan.return %0 : tensor<f32>
}
weir_plan.kernel @sum schedule <loops> nodes "s" {
^bb0(%x: tensor<1024xf32>):
  %0 = weir.reduce %x {axes = array<i64: 0>, keep_dims = true, kind = "sum"} : (tensor<1024xf32>) -> tensor<1xf32>
  weir_plan.return %0 : tensor<1xf32>
}
func.func @waits(%a: tensor<1xf32>, %b: tensor<1xf32>, %c: tensor<1xf32>) -> (tensor<f32>, tensor<f32>, tensor<1xf32>) attributes {weir.device_index = 1 : i64} {
  %shape = weir.constant dense<32> : tensor<2xi64>
  %0 = weir_plan.launch @wide(%a) : (tensor<1xf32>) -> tensor<1024xf32>
  %v = weir.reshape %0, %shape : (tensor<1024xf32>, tensor<2xi64>) -> tensor<32x32xf32>
  %n = weir_plan.launch @narrow(%v) : (tensor<32x32xf32>) -> tensor<f32>
  %1 = weir_plan.launch @wide(%b) : (tensor<1xf32>) -> tensor<1024xf32>
  %2 = weir_plan.launch @wide(%c) : (tensor<1xf32>) -> tensor<1024xf32>
  %3 = weir_plan.launch @both(%1, %2) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  %s = weir_plan.launch @sum(%3) : (tensor<1024xf32>) -> tensor<1xf32>
  %m = weir_plan.launch @narrow(%v) : (tensor<32x32xf32>) -> tensor<f32>
  return %n, %m, %s : tensor<f32>, tensor<f32>, tensor<1xf32>
}
}
