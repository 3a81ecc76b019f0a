// Parts of tensors of open size in the whole's own memory.
// REQUIRES: weir-opt
// RUN: weir-opt %s --weir-reuse-buffers --weir-free-dynamic --split-input-file | FileCheck %s

// Of an open batch every image has a border: the whole is asked for first, where the part was, and
// where a part begins is a number.
// CHECK: kernel @conv.part_0_0_dx8x8x16 schedule <convolution, {{.*}}extents = [array<i64>, array<i64>, array<i64: -9223372036854775808, 8, 8, 16>]
// CHECK: kernel @pad.border schedule <pad_border, {{.*}}parts = array<i64: 1, 1>
// CHECK-LABEL: @batch
// CHECK: %[[N:.*]] = memref.dim
// CHECK: %[[P:.*]] = weir_plan.alloc(%[[N]]) : memref<?x8x8x16xf32>
// CHECK-NOT: weir_plan.alloc
// CHECK: %[[A:.*]] = weir_plan.view %[[P]][%[[N]]] {weir_plan.offset = 576 : i64} : memref<?x8x8x16xf32> to memref<?x6x6x16xf32, strided<[1024, 128, 16, 1]>>
// CHECK: run @conv.part_0_0_dx8x8x16 {{.*}} writes(%[[A]]
// CHECK: %[[LINES:.*]] = arith.muli %[[N]], %c8{{.*}} : index
// CHECK: run @pad.border range %[[LINES]] {{.*}} writes(%[[P]]
// CHECK: run @neg range {{.*}} reads(%[[P]]
// CHECK: weir_plan.free %[[P]]
weir_plan.kernel @conv schedule <convolution, {parts = array<i64: 1, 6, 6, 16>, pointwise, tile = array<i64: 14, 1, 16>}> nodes "c" {
^bb0(%x: tensor<?x6x6x16xf32>, %f: tensor<1x1x16x16xf32>):
  %0 = weir.conv %x, %f {accumulator = f32, channels_last = true, dilations = array<i64: 1, 1>, groups = 1 : i64, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>} : (tensor<?x6x6x16xf32>, tensor<1x1x16x16xf32>) -> tensor<?x6x6x16xf32>
  weir_plan.return %0 : tensor<?x6x6x16xf32>
}
weir_plan.kernel @pad schedule <loops, {parts = array<i64: 1, 1, 1>}> nodes "p" {
^bb0(%x: tensor<?x6x6x16xf32>):
  %pads = weir.constant dense<[0, 1, 1, 0, 0, 1, 1, 0]> : tensor<8xi64>
  %zero = weir.constant dense<0.0> : tensor<f32>
  %0 = weir.pad %x, %pads, %zero {mode = "constant"} : (tensor<?x6x6x16xf32>, tensor<8xi64>, tensor<f32>) -> tensor<?x8x8x16xf32>
  weir_plan.return %0 : tensor<?x8x8x16xf32>
}
weir_plan.kernel @neg schedule <loops> nodes "n" {
^bb0(%x: tensor<?x8x8x16xf32>):
  %0 = weir.neg %x : (tensor<?x8x8x16xf32>) -> tensor<?x8x8x16xf32>
  weir_plan.return %0 : tensor<?x8x8x16xf32>
}
func.func @batch() attributes {weir_plan.feeds = [{type = tensor<?x6x6x16xf32>}], weir_plan.fetches = []} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %x = weir_plan.feed 0 : memref<?x6x6x16xf32>
  %f = weir_plan.feed 1 : memref<1x1x16x16xf32>
  %n = memref.dim %x, %c0 : memref<?x6x6x16xf32>
  %a = weir_plan.alloc(%n) : memref<?x6x6x16xf32>
  weir_plan.run @conv range %n grain 1 reads (%x, %f : memref<?x6x6x16xf32>, memref<1x1x16x16xf32>) writes (%a : memref<?x6x6x16xf32>)
  %p = weir_plan.alloc(%n) : memref<?x8x8x16xf32>
  %lines = arith.muli %n, %c64 : index
  weir_plan.run @pad range %lines grain 1 reads (%a : memref<?x6x6x16xf32>) writes (%p : memref<?x8x8x16xf32>)
  %r = weir_plan.alloc(%n) : memref<?x8x8x16xf32>
  weir_plan.run @neg range %n grain 1 reads (%p : memref<?x8x8x16xf32>) writes (%r : memref<?x8x8x16xf32>)
  return
}

// -----

// Of an open image the kernel finds out where its part begins: one line and one column in. What
// the whole's sizes are computed by comes along in front.
// CHECK: kernel @conv.part_0_0_1xd2xd2x16x0x1x1x0 schedule <convolution, {{.*}}extents = [array<i64>, array<i64>, array<i64: 1, -9223372036854775806, -9223372036854775806, 16, 0, 1, 1, 0>]
// CHECK-LABEL: @image
// CHECK: %[[H:.*]] = memref.dim %{{.*}}, %c1
// CHECK: %[[W:.*]] = memref.dim %{{.*}}, %c2
// CHECK: %[[H2:.*]] = arith.addi %[[H]], %c2
// CHECK: %[[W2:.*]] = arith.addi %[[W]], %c2
// CHECK: %[[P:.*]] = weir_plan.alloc(%[[H2]], %[[W2]]) : memref<1x?x?x16xf32>
// CHECK: %[[A:.*]] = weir_plan.view %[[P]][%[[H]], %[[W]]] {weir_plan.offset = 0 : i64} : memref<1x?x?x16xf32> to memref<1x?x?x16xf32, strided<[?, ?, 16, 1]>>
// CHECK: run @conv.part{{.*}} writes(%[[A]]
// CHECK: run @pad.border range %[[H2]] {{.*}} writes(%[[P]]
weir_plan.kernel @conv schedule <convolution, {parts = array<i64: 1, 4, 4, 16>, pointwise, tile = array<i64: 14, 1, 16>}> nodes "c" {
^bb0(%x: tensor<1x?x?x16xf32>, %f: tensor<1x1x16x16xf32>):
  %0 = weir.conv %x, %f {accumulator = f32, channels_last = true, dilations = array<i64: 1, 1>, groups = 1 : i64, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>} : (tensor<1x?x?x16xf32>, tensor<1x1x16x16xf32>) -> tensor<1x?x?x16xf32>
  weir_plan.return %0 : tensor<1x?x?x16xf32>
}
weir_plan.kernel @pad schedule <loops, {parts = array<i64: 1, 1, 1>}> nodes "p" {
^bb0(%x: tensor<1x?x?x16xf32>):
  %pads = weir.constant dense<[0, 1, 1, 0, 0, 1, 1, 0]> : tensor<8xi64>
  %zero = weir.constant dense<0.0> : tensor<f32>
  %0 = weir.pad %x, %pads, %zero {mode = "constant"} : (tensor<1x?x?x16xf32>, tensor<8xi64>, tensor<f32>) -> tensor<1x?x?x16xf32>
  weir_plan.return %0 : tensor<1x?x?x16xf32>
}
weir_plan.kernel @neg schedule <loops> nodes "n" {
^bb0(%x: tensor<1x?x?x16xf32>):
  %0 = weir.neg %x : (tensor<1x?x?x16xf32>) -> tensor<1x?x?x16xf32>
  weir_plan.return %0 : tensor<1x?x?x16xf32>
}
func.func @image() attributes {weir_plan.feeds = [{type = tensor<1x?x?x16xf32>}], weir_plan.fetches = []} {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %x = weir_plan.feed 0 : memref<1x?x?x16xf32>
  %f = weir_plan.feed 1 : memref<1x1x16x16xf32>
  %h = memref.dim %x, %c1 : memref<1x?x?x16xf32>
  %w = memref.dim %x, %c2 : memref<1x?x?x16xf32>
  %a = weir_plan.alloc(%h, %w) : memref<1x?x?x16xf32>
  weir_plan.run @conv range %h grain 1 reads (%x, %f : memref<1x?x?x16xf32>, memref<1x1x16x16xf32>) writes (%a : memref<1x?x?x16xf32>)
  %h2 = arith.addi %h, %c2 : index
  %w2 = arith.addi %w, %c2 : index
  %p = weir_plan.alloc(%h2, %w2) : memref<1x?x?x16xf32>
  %lines = arith.muli %h2, %w2 : index
  weir_plan.run @pad range %lines grain 1 reads (%a : memref<1x?x?x16xf32>) writes (%p : memref<1x?x?x16xf32>)
  %r = weir_plan.alloc(%h2, %w2) : memref<1x?x?x16xf32>
  weir_plan.run @neg range %lines grain 1 reads (%p : memref<1x?x?x16xf32>) writes (%r : memref<1x?x?x16xf32>)
  return
}
