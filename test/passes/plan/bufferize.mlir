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

// What is returned in another shape is computed where the caller wants it, too, in the shape in
// which the kernel writes.
// CHECK-LABEL: @returned_reshaped
// CHECK: %[[Y:.*]] = weir_plan.fetch 0() : memref<8x8xf32>
// CHECK: %[[V:.*]] = weir_plan.view %[[Y]][] : memref<8x8xf32> to memref<64xf32>
// CHECK: weir_plan.run @exp {{.*}} writes(%[[V]] :
// CHECK-NOT: weir_plan.copy
// CHECK: return
func.func @returned_reshaped(%x: tensor<64xf32>) -> tensor<8x8xf32> attributes {weir.device_index = 0 : i64} {
  %s = weir.constant dense<8> : tensor<2xi64>
  %0 = weir_plan.launch @exp(%x) : (tensor<64xf32>) -> tensor<64xf32>
  %1 = weir.reshape %0, %s : (tensor<64xf32>, tensor<2xi64>) -> tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}

weir_plan.kernel @open_exp schedule <loops, {grain = 1 : i64}> nodes "e" {
^bb0(%x: tensor<?xf32>):
  %0 = weir.exp %x : (tensor<?xf32>) -> tensor<?xf32>
  weir_plan.return %0 : tensor<?xf32>
}

// So is what has open sizes. Where these turn out not to fit, which is checked behind the launch,
// there is room for all that it writes.
// CHECK-LABEL: @returned_as
// CHECK: %[[FITS:.*]] = arith.cmpi eq, %{{.*}}, %[[ALL:.*]] : index
// CHECK: %[[FIRST:.*]] = arith.select %[[FITS]], %{{.*}}, %[[ALL]] : index
// CHECK: %[[SECOND:.*]] = arith.select %[[FITS]], %{{.*}}, %c1{{.*}} : index
// CHECK: %[[Y:.*]] = weir_plan.fetch 0(%[[FIRST]], %[[SECOND]]) : memref<?x?xf32>
// CHECK: %[[V:.*]] = weir_plan.view %[[Y]][%{{.*}}] : memref<?x?xf32> to memref<?xf32>
// CHECK: weir_plan.run @open_exp {{.*}} writes(%[[V]] :
// CHECK: weir_plan.require {{.*}}cannot reshape
// CHECK-NOT: weir_plan.copy
// CHECK: return
func.func @returned_as(%x: tensor<?xf32>, %like: tensor<?x?xf32>) -> tensor<?x?xf32> attributes {weir.device_index = 0 : i64} {
  %s = weir.shape_of %like {index_type = i64} : (tensor<?x?xf32>) -> tensor<2xi64>
  %0 = weir_plan.launch @open_exp(%x) : (tensor<?xf32>) -> tensor<?xf32>
  %1 = weir.reshape %0, %s : (tensor<?xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  return %1 : tensor<?x?xf32>
}

// What a loop carries is handed on from buffer to buffer, so that kernels in it write in place, and
// is copied to the caller at the end.
// CHECK-LABEL: @carried
// CHECK: scf.while
// CHECK: %[[Y:.*]] = weir_plan.fetch 0() : memref<8x8xf32>
// CHECK: weir_plan.copy %{{.*}} to %[[Y]]
// CHECK: return
func.func @carried(%x: tensor<64xf32>, %n: tensor<i32>) -> tensor<8x8xf32> attributes {weir.device_index = 0 : i64} {
  %zero = weir.constant dense<0> : tensor<i32>
  %one = weir.constant dense<1> : tensor<i32>
  %s = weir.constant dense<8> : tensor<2xi64>
  %r:2 = weir.while %n, %x : (tensor<i32>, tensor<64xf32>) -> (tensor<i32>, tensor<64xf32>) while {
  ^bb0(%i: tensor<i32>, %v: tensor<64xf32>):
    %go = weir.compare %i, %zero {predicate = "gt"} : (tensor<i32>, tensor<i32>) -> tensor<i1>
    weir.yield %go : tensor<i1>
  } do {
  ^bb0(%i: tensor<i32>, %v: tensor<64xf32>):
    %next = weir.sub %i, %one : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %0 = weir_plan.launch @exp(%v) : (tensor<64xf32>) -> tensor<64xf32>
    weir.yield %next, %0 : tensor<i32>, tensor<64xf32>
  }
  %1 = weir.reshape %r#1, %s : (tensor<64xf32>, tensor<2xi64>) -> tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}
