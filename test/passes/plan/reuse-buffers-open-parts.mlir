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

// -----

// What is joined along channels lies in the whole, whatever the batch is, and what is joined of
// neighbours there is a part of it: nothing is copied.
// CHECK-LABEL: @joined
// CHECK: %[[N:.*]] = memref.dim
// CHECK: %[[P:.*]] = weir_plan.alloc(%[[N]]) : memref<?x6x6x48xf32>
// CHECK: %[[A:.*]] = weir_plan.view %[[P]][%[[N]]] {weir_plan.offset = 0 : i64} : memref<?x6x6x48xf32> to memref<?x6x6x16xf32, strided<[1728, 288, 48, 1]>>
// CHECK: run @relu.part_0_dx6x6x48 {{.*}} writes(%[[A]]
// CHECK: %[[B:.*]] = weir_plan.view %[[P]][%[[N]]] {weir_plan.offset = 64 : i64}
// CHECK: run @relu.part_0_dx6x6x48 {{.*}} writes(%[[B]]
// CHECK-NOT: run @concat
// CHECK: %[[AB:.*]] = weir_plan.view %[[P]][%[[N]]] {weir_plan.offset = 0 : i64} : memref<?x6x6x48xf32> to memref<?x6x6x32xf32, strided<[1728, 288, 48, 1]>>
// CHECK: run @wide{{.*}} reads(%[[AB]] :
// CHECK-NOT: run @concat
// CHECK: run @neg
// Lines of an open size are as far apart as the run says: these are joined by a copy.
// CHECK-LABEL: @behind
// CHECK: run @concat_behind
weir_plan.kernel @relu schedule <loops, {parts = array<i64: 1, 1, 1>}> nodes "r" {
^bb0(%x: tensor<?x6x6x16xf32>):
  %zero = weir.constant dense<0.0> : tensor<f32>
  %0 = weir.maximum %x, %zero : (tensor<?x6x6x16xf32>, tensor<f32>) -> tensor<?x6x6x16xf32>
  weir_plan.return %0 : tensor<?x6x6x16xf32>
}
weir_plan.kernel @wide schedule <loops, {parts = array<i64: 1, 1, 1>}> nodes "m" {
^bb0(%x: tensor<?x6x6x32xf32>):
  %0 = weir.neg %x : (tensor<?x6x6x32xf32>) -> tensor<?x6x6x32xf32>
  weir_plan.return %0 : tensor<?x6x6x32xf32>
}
weir_plan.kernel @concat2 schedule <loops, {parts = array<i64: 1, 1, 1>}> nodes "j" {
^bb0(%x: tensor<?x6x6x16xf32>, %y: tensor<?x6x6x16xf32>):
  %0 = weir.concat %x, %y {axis = 3 : i64} : (tensor<?x6x6x16xf32>, tensor<?x6x6x16xf32>) -> tensor<?x6x6x32xf32>
  weir_plan.return %0 : tensor<?x6x6x32xf32>
}
weir_plan.kernel @concat3 schedule <loops, {parts = array<i64: 1, 1, 1>}> nodes "k" {
^bb0(%x: tensor<?x6x6x16xf32>, %y: tensor<?x6x6x16xf32>, %z: tensor<?x6x6x16xf32>):
  %0 = weir.concat %x, %y, %z {axis = 3 : i64} : (tensor<?x6x6x16xf32>, tensor<?x6x6x16xf32>, tensor<?x6x6x16xf32>) -> tensor<?x6x6x48xf32>
  weir_plan.return %0 : tensor<?x6x6x48xf32>
}
weir_plan.kernel @neg schedule <loops> nodes "n" {
^bb0(%x: tensor<?x6x6x48xf32>):
  %0 = weir.neg %x : (tensor<?x6x6x48xf32>) -> tensor<?x6x6x48xf32>
  weir_plan.return %0 : tensor<?x6x6x48xf32>
}
weir_plan.kernel @relu_line schedule <loops> nodes "l" {
^bb0(%x: tensor<1x16x?xf32>):
  %zero = weir.constant dense<0.0> : tensor<f32>
  %0 = weir.maximum %x, %zero : (tensor<1x16x?xf32>, tensor<f32>) -> tensor<1x16x?xf32>
  weir_plan.return %0 : tensor<1x16x?xf32>
}
weir_plan.kernel @concat_behind schedule <loops> nodes "b" {
^bb0(%x: tensor<1x16x?xf32>, %y: tensor<1x16x?xf32>):
  %0 = weir.concat %x, %y {axis = 1 : i64} : (tensor<1x16x?xf32>, tensor<1x16x?xf32>) -> tensor<1x32x?xf32>
  weir_plan.return %0 : tensor<1x32x?xf32>
}
func.func @joined() attributes {weir_plan.feeds = [{type = tensor<?x6x6x16xf32>}], weir_plan.fetches = [{type = tensor<?x6x6x32xf32>}, {type = tensor<?x6x6x48xf32>}]} {
  %c0 = arith.constant 0 : index
  %x = weir_plan.feed 0 : memref<?x6x6x16xf32>
  %n = memref.dim %x, %c0 : memref<?x6x6x16xf32>
  %a = weir_plan.alloc(%n) : memref<?x6x6x16xf32>
  weir_plan.run @relu range %n grain 1 reads (%x : memref<?x6x6x16xf32>) writes (%a : memref<?x6x6x16xf32>)
  %b = weir_plan.alloc(%n) : memref<?x6x6x16xf32>
  weir_plan.run @relu range %n grain 1 reads (%x : memref<?x6x6x16xf32>) writes (%b : memref<?x6x6x16xf32>)
  %ab = weir_plan.alloc(%n) : memref<?x6x6x32xf32>
  weir_plan.run @concat2 range %n grain 1 reads (%a, %b : memref<?x6x6x16xf32>, memref<?x6x6x16xf32>) writes (%ab : memref<?x6x6x32xf32>)
  %m = weir_plan.fetch 0(%n) : memref<?x6x6x32xf32>
  weir_plan.run @wide range %n grain 1 reads (%ab : memref<?x6x6x32xf32>) writes (%m : memref<?x6x6x32xf32>)
  %c = weir_plan.alloc(%n) : memref<?x6x6x16xf32>
  weir_plan.run @relu range %n grain 1 reads (%x : memref<?x6x6x16xf32>) writes (%c : memref<?x6x6x16xf32>)
  %p = weir_plan.alloc(%n) : memref<?x6x6x48xf32>
  weir_plan.run @concat3 range %n grain 1 reads (%a, %b, %c : memref<?x6x6x16xf32>, memref<?x6x6x16xf32>, memref<?x6x6x16xf32>) writes (%p : memref<?x6x6x48xf32>)
  %r = weir_plan.fetch 1(%n) : memref<?x6x6x48xf32>
  weir_plan.run @neg range %n grain 1 reads (%p : memref<?x6x6x48xf32>) writes (%r : memref<?x6x6x48xf32>)
  return
}
func.func @behind() attributes {weir_plan.feeds = [{type = tensor<1x16x?xf32>}], weir_plan.fetches = []} {
  %c2 = arith.constant 2 : index
  %x = weir_plan.feed 0 : memref<1x16x?xf32>
  %n = memref.dim %x, %c2 : memref<1x16x?xf32>
  %a = weir_plan.alloc(%n) : memref<1x16x?xf32>
  weir_plan.run @relu_line range %n grain 1 reads (%x : memref<1x16x?xf32>) writes (%a : memref<1x16x?xf32>)
  %b = weir_plan.alloc(%n) : memref<1x16x?xf32>
  weir_plan.run @relu_line range %n grain 1 reads (%x : memref<1x16x?xf32>) writes (%b : memref<1x16x?xf32>)
  %p = weir_plan.alloc(%n) : memref<1x32x?xf32>
  weir_plan.run @concat_behind range %n grain 1 reads (%a, %b : memref<1x16x?xf32>, memref<1x16x?xf32>) writes (%p : memref<1x32x?xf32>)
  return
}
