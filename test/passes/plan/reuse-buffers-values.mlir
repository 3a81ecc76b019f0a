// What is assigned to variables of a device that keeps their values is computed where
// it stays.
// REQUIRES: weir-opt
// RUN: weir-opt %s --weir-reuse-buffers --split-input-file | FileCheck %s

// On the GPU: memory of its own for the variable's next value, which the second launch
// reads, too; not over the operand that dies. On the host: over the operand.
// CHECK: weir_plan.reuse = {buffers = 1 : i64, bytes = 64 : i64, copies = 1 : i64}
// CHECK-LABEL: @gpu
// CHECK: %[[A:.*]] = weir_plan.buffer
// CHECK: %[[V:.*]] = weir_plan.alloc() {weir_plan.slot = 3 : i64}
// CHECK: run @relu{{.*}} reads(%[[A]] {{.*}} writes(%[[V]]
// CHECK: variable_assign 3, "v", %[[V]]
// CHECK: run @exp{{.*}} reads(%[[V]]
// CHECK-LABEL: @host
// CHECK-NOT: weir_plan.alloc
module attributes {weir_plan.devices = ["/device:CPU:0", "/device:GPU:0"]} {
weir_plan.kernel @relu schedule <loops> nodes "r" {
^bb0(%x: tensor<4xf32>):
  %0 = weir.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  weir_plan.return %0 : tensor<4xf32>
}
weir_plan.kernel @exp schedule <loops> nodes "e" {
^bb0(%x: tensor<4xf32>):
  %0 = weir.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  weir_plan.return %0 : tensor<4xf32>
}
func.func @gpu() attributes {weir.device_index = 1 : i64} {
  %c4 = arith.constant 4 : index
  %in = weir_plan.variable_read 3, "v" : memref<4xf32>
  %a = weir_plan.buffer : memref<4xf32>
  weir_plan.run @exp range %c4 grain 1 reads (%in : memref<4xf32>) writes (%a : memref<4xf32>)
  %b = weir_plan.buffer : memref<4xf32>
  weir_plan.run @relu range %c4 grain 1 reads (%a : memref<4xf32>) writes (%b : memref<4xf32>)
  weir_plan.variable_assign 3, "v", %b : memref<4xf32>
  %c = weir_plan.buffer : memref<4xf32>
  weir_plan.run @exp range %c4 grain 1 reads (%b : memref<4xf32>) writes (%c : memref<4xf32>)
  %zero = arith.constant 0 : index
  weir_plan.send 0, %zero, %c : memref<4xf32>
  return
}
func.func @host() attributes {weir.device_index = 0 : i64} {
  %c4 = arith.constant 4 : index
  %in = weir_plan.variable_read 3, "v" : memref<4xf32>
  %a = weir_plan.buffer : memref<4xf32>
  weir_plan.run @exp range %c4 grain 1 reads (%in : memref<4xf32>) writes (%a : memref<4xf32>)
  %b = weir_plan.buffer : memref<4xf32>
  weir_plan.run @relu range %c4 grain 1 reads (%a : memref<4xf32>) writes (%b : memref<4xf32>)
  weir_plan.variable_assign 3, "v", %b : memref<4xf32>
  return
}
}

// -----

// Not what two launches write, as a loop's next value, nor what was read before.
// CHECK: weir_plan.reuse = {buffers = 0
// CHECK-LABEL: @twice
// CHECK-NOT: weir_plan.alloc
module attributes {weir_plan.devices = ["/device:CPU:0", "/device:GPU:0"]} {
weir_plan.kernel @relu schedule <loops> nodes "r" {
^bb0(%x: tensor<4xf32>):
  %0 = weir.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  weir_plan.return %0 : tensor<4xf32>
}
func.func @twice() attributes {weir.device_index = 1 : i64} {
  %c4 = arith.constant 4 : index
  %in = weir_plan.variable_read 3, "v" : memref<4xf32>
  %a = weir_plan.buffer : memref<4xf32>
  weir_plan.run @relu range %c4 grain 1 reads (%in : memref<4xf32>) writes (%a : memref<4xf32>)
  weir_plan.run @relu range %c4 grain 1 reads (%in : memref<4xf32>) writes (%a : memref<4xf32>)
  weir_plan.variable_assign 3, "v", %a : memref<4xf32>
  return
}
}
