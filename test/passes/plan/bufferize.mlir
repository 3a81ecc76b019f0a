// Tensors of a step become buffers.
// REQUIRES: weir-opt
// RUN: weir-opt --weir-bufferize %s | FileCheck %s

weir_plan.kernel @exp schedule <loops, {grain = 1 : i64}> nodes "e" {
^bb0(%x: tensor<64xf32>):
  %0 = weir.exp %x : (tensor<64xf32>) -> tensor<64xf32>
  weir_plan.return %0 : tensor<64xf32>
}

// A value between two launches has a buffer; the last one's result is written where the
// caller wants it, and a feed is read where it lies.
// CHECK-LABEL: @step
// CHECK: %[[X:.*]] = weir_plan.feed 0
// CHECK: %[[B:.*]] = weir_plan.buffer : memref<64xf32>
// CHECK: weir_plan.run @exp {{.*}} reads(%[[X]] : {{.*}} writes(%[[B]] :
// CHECK: %[[Y:.*]] = weir_plan.fetch 0
// CHECK: weir_plan.run @exp {{.*}} reads(%[[B]] : {{.*}} writes(%[[Y]] :
// CHECK-NOT: tensor
// CHECK: return
func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> attributes {weir.device_index = 0 : i64} {
  %0 = weir_plan.launch @exp(%x) : (tensor<64xf32>) -> tensor<64xf32>
  %1 = weir_plan.launch @exp(%0) : (tensor<64xf32>) -> tensor<64xf32>
  return %1 : tensor<64xf32>
}

// A reshape is a view: no bytes move.
// CHECK-LABEL: @reshaped
// CHECK: weir_plan.run @exp
// CHECK-NOT: weir_plan.run
// CHECK: return
func.func @reshaped(%x: tensor<8x8xf32>) -> tensor<64xf32> attributes {weir.device_index = 0 : i64} {
  %s = weir.constant dense<64> : tensor<1xi64>
  %0 = weir.reshape %x, %s : (tensor<8x8xf32>, tensor<1xi64>) -> tensor<64xf32>
  %1 = weir_plan.launch @exp(%0) : (tensor<64xf32>) -> tensor<64xf32>
  return %1 : tensor<64xf32>
}
