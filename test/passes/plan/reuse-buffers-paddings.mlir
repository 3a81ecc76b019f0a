// What is padded in the padded tensor's buffer: the run that copied it writes the border.
// REQUIRES: weir-opt
// RUN: weir-opt %s --weir-reuse-buffers --split-input-file | FileCheck %s

// A convolution writes inside, where positions that run on over lines find gaps; what
// else reads its result reads it there.
// CHECK: kernel @conv.part_0_0_1x8x8x16 schedule <convolution, {{.*}}pointwise{{.*}}extents = [array<i64>, array<i64>, array<i64: 1, 8, 8, 16>]
// CHECK: kernel @pad.border schedule <pad_border, {{.*}}parts = array<i64: 1, 1>
// CHECK: kernel @exp.part_1x8x8x16_0 schedule <loops, {{.*}}parts = array<i64: 1, 1, 1>
// CHECK-LABEL: @inside
// CHECK: %[[P:.*]] = weir_plan.buffer : memref<1x8x8x16xf32>
// CHECK: %[[A:.*]] = weir_plan.view %[[P]][] {weir_plan.offset = 576 : i64} : memref<1x8x8x16xf32> to memref<1x6x6x16xf32, strided<[1024, 128, 16, 1]>>
// CHECK-NEXT: run @conv.part_0_0_1x8x8x16 {{.*}} writes(%[[A]]
// CHECK-NOT: weir_plan.buffer
// CHECK: %[[EIGHT:.*]] = arith.constant 8 : index
// CHECK: run @pad.border range %[[EIGHT]] {{.*}} writes(%[[P]]
// CHECK: run @neg range {{.*}} reads(%[[P]]
// CHECK: %[[C:.*]] = weir_plan.view %[[P]][] {weir_plan.offset = 576 : i64}
// CHECK: run @exp.part_1x8x8x16_0 range {{.*}} reads(%[[C]]
weir_plan.kernel @conv schedule <convolution, {parts = array<i64: 1, 6, 6, 16>, pointwise, tile = array<i64: 14, 1, 16>}> nodes "c" {
^bb0(%x: tensor<1x6x6x16xf32>, %f: tensor<1x1x16x16xf32>):
  %0 = weir.conv %x, %f {accumulator = f32, channels_last = true, dilations = array<i64: 1, 1>, groups = 1 : i64, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>} : (tensor<1x6x6x16xf32>, tensor<1x1x16x16xf32>) -> tensor<1x6x6x16xf32>
  weir_plan.return %0 : tensor<1x6x6x16xf32>
}
weir_plan.kernel @pad schedule <loops, {parts = array<i64: 1, 1, 1>}> nodes "p" {
^bb0(%x: tensor<1x6x6x16xf32>):
  %pads = weir.constant dense<[0, 1, 1, 0, 0, 1, 1, 0]> : tensor<8xi64>
  %zero = weir.constant dense<0.0> : tensor<f32>
  %0 = weir.pad %x, %pads, %zero {mode = "constant"} : (tensor<1x6x6x16xf32>, tensor<8xi64>, tensor<f32>) -> tensor<1x8x8x16xf32>
  weir_plan.return %0 : tensor<1x8x8x16xf32>
}
weir_plan.kernel @neg schedule <loops> nodes "n" {
^bb0(%x: tensor<1x8x8x16xf32>):
  %0 = weir.neg %x : (tensor<1x8x8x16xf32>) -> tensor<1x8x8x16xf32>
  weir_plan.return %0 : tensor<1x8x8x16xf32>
}
weir_plan.kernel @exp schedule <loops> nodes "e" {
^bb0(%x: tensor<1x6x6x16xf32>):
  %0 = weir.exp %x : (tensor<1x6x6x16xf32>) -> tensor<1x6x6x16xf32>
  weir_plan.return %0 : tensor<1x6x6x16xf32>
}
func.func @inside() {
  %one = arith.constant 1 : index
  %lines = arith.constant 64 : index
  %all = arith.constant 1024 : index
  %some = arith.constant 576 : index
  %x = weir_plan.feed 0 : memref<1x6x6x16xf32>
  %f = weir_plan.feed 1 : memref<1x1x16x16xf32>
  %out = weir_plan.fetch 0 () : memref<1x8x8x16xf32>
  %out2 = weir_plan.fetch 1 () : memref<1x6x6x16xf32>
  %a = weir_plan.buffer : memref<1x6x6x16xf32>
  weir_plan.run @conv range %one grain 1 reads (%x, %f : memref<1x6x6x16xf32>, memref<1x1x16x16xf32>) writes (%a : memref<1x6x6x16xf32>)
  %p = weir_plan.buffer : memref<1x8x8x16xf32>
  weir_plan.run @pad range %lines grain 64 reads (%a : memref<1x6x6x16xf32>) writes (%p : memref<1x8x8x16xf32>)
  weir_plan.run @neg range %all grain 1 reads (%p : memref<1x8x8x16xf32>) writes (%out : memref<1x8x8x16xf32>)
  weir_plan.run @exp range %some grain 1 reads (%a : memref<1x6x6x16xf32>) writes (%out2 : memref<1x6x6x16xf32>)
  return
}

// -----

// Rows of a product's left operand lie at one distance: what it reads is not moved.
// CHECK: kernel @pad schedule <loops,
// CHECK-NOT: border
// CHECK-LABEL: @left_operand
// CHECK-COUNT-2: weir_plan.buffer
// CHECK: run @pad
weir_plan.kernel @exp schedule <loops> nodes "e" {
^bb0(%x: tensor<4x6x16xf32>):
  %0 = weir.exp %x : (tensor<4x6x16xf32>) -> tensor<4x6x16xf32>
  weir_plan.return %0 : tensor<4x6x16xf32>
}
weir_plan.kernel @product schedule <gemm, {merged = array<i64: 0, 2>, parts = array<i64: 24, 16>, tile = array<i64: 12, 1, 16>}> nodes "m" {
^bb0(%x: tensor<4x6x16xf32>, %y: tensor<16x16xf32>):
  %0 = weir.dot_general %x, %y {accumulator = f32, lhs_batch = array<i64>, lhs_contract = array<i64: 2>, rhs_batch = array<i64>, rhs_contract = array<i64: 0>} : (tensor<4x6x16xf32>, tensor<16x16xf32>) -> tensor<4x6x16xf32>
  weir_plan.return %0 : tensor<4x6x16xf32>
}
weir_plan.kernel @pad schedule <loops, {parts = array<i64: 1, 1>}> nodes "p" {
^bb0(%x: tensor<4x6x16xf32>):
  %pads = weir.constant dense<[0, 1, 0, 0, 1, 0]> : tensor<6xi64>
  %zero = weir.constant dense<0.0> : tensor<f32>
  %0 = weir.pad %x, %pads, %zero {mode = "constant"} : (tensor<4x6x16xf32>, tensor<6xi64>, tensor<f32>) -> tensor<4x8x16xf32>
  weir_plan.return %0 : tensor<4x8x16xf32>
}
weir_plan.kernel @neg schedule <loops> nodes "n" {
^bb0(%x: tensor<4x8x16xf32>):
  %0 = weir.neg %x : (tensor<4x8x16xf32>) -> tensor<4x8x16xf32>
  weir_plan.return %0 : tensor<4x8x16xf32>
}
func.func @left_operand() {
  %one = arith.constant 1 : index
  %n = arith.constant 384 : index
  %m = arith.constant 512 : index
  %lines = arith.constant 32 : index
  %x = weir_plan.feed 0 : memref<4x6x16xf32>
  %w = weir_plan.feed 1 : memref<16x16xf32>
  %out = weir_plan.fetch 0 () : memref<4x8x16xf32>
  %out2 = weir_plan.fetch 1 () : memref<4x6x16xf32>
  %a = weir_plan.buffer : memref<4x6x16xf32>
  weir_plan.run @exp range %n grain 1 reads (%x : memref<4x6x16xf32>) writes (%a : memref<4x6x16xf32>)
  %p = weir_plan.buffer : memref<4x8x16xf32>
  weir_plan.run @pad range %lines grain 64 reads (%a : memref<4x6x16xf32>) writes (%p : memref<4x8x16xf32>)
  weir_plan.run @neg range %m grain 1 reads (%p : memref<4x8x16xf32>) writes (%out : memref<4x8x16xf32>)
  weir_plan.run @product range %one grain 1 reads (%a, %w : memref<4x6x16xf32>, memref<16x16xf32>) writes (%out2 : memref<4x6x16xf32>)
  return
}

// -----

// What is written again afterwards is no part of the padded tensor, and neither are
// feeds, nor what is cropped.
// CHECK-NOT: border
// CHECK-LABEL: @written_again
// CHECK: run @pad
// CHECK: run @pad
// CHECK: run @crop
weir_plan.kernel @exp schedule <loops> nodes "e" {
^bb0(%x: tensor<6x16xf32>):
  %0 = weir.exp %x : (tensor<6x16xf32>) -> tensor<6x16xf32>
  weir_plan.return %0 : tensor<6x16xf32>
}
weir_plan.kernel @pad schedule <loops, {parts = array<i64: 1>}> nodes "p" {
^bb0(%x: tensor<6x16xf32>):
  %pads = weir.constant dense<[1, 0, 1, 0]> : tensor<4xi64>
  %zero = weir.constant dense<0.0> : tensor<f32>
  %0 = weir.pad %x, %pads, %zero {mode = "constant"} : (tensor<6x16xf32>, tensor<4xi64>, tensor<f32>) -> tensor<8x16xf32>
  weir_plan.return %0 : tensor<8x16xf32>
}
weir_plan.kernel @crop schedule <loops, {parts = array<i64: 1>}> nodes "c" {
^bb0(%x: tensor<6x16xf32>):
  %pads = weir.constant dense<[3, 0, -1, 0]> : tensor<4xi64>
  %zero = weir.constant dense<0.0> : tensor<f32>
  %0 = weir.pad %x, %pads, %zero {mode = "constant"} : (tensor<6x16xf32>, tensor<4xi64>, tensor<f32>) -> tensor<8x16xf32>
  weir_plan.return %0 : tensor<8x16xf32>
}
weir_plan.kernel @neg schedule <loops> nodes "n" {
^bb0(%x: tensor<8x16xf32>):
  %0 = weir.neg %x : (tensor<8x16xf32>) -> tensor<8x16xf32>
  weir_plan.return %0 : tensor<8x16xf32>
}
func.func @written_again() {
  %n = arith.constant 96 : index
  %m = arith.constant 128 : index
  %lines = arith.constant 8 : index
  %x = weir_plan.feed 0 : memref<6x16xf32>
  %out = weir_plan.fetch 0 () : memref<8x16xf32>
  %out1 = weir_plan.fetch 1 () : memref<8x16xf32>
  %out2 = weir_plan.fetch 2 () : memref<8x16xf32>
  %out3 = weir_plan.fetch 3 () : memref<6x16xf32>
  %a = weir_plan.buffer : memref<6x16xf32>
  weir_plan.run @exp range %n grain 1 reads (%x : memref<6x16xf32>) writes (%a : memref<6x16xf32>)
  %p = weir_plan.buffer : memref<8x16xf32>
  weir_plan.run @pad range %lines grain 64 reads (%a : memref<6x16xf32>) writes (%p : memref<8x16xf32>)
  weir_plan.run @exp range %n grain 1 reads (%x : memref<6x16xf32>) writes (%a : memref<6x16xf32>)
  weir_plan.run @neg range %m grain 1 reads (%p : memref<8x16xf32>) writes (%out : memref<8x16xf32>)
  weir_plan.run @exp range %n grain 1 reads (%a : memref<6x16xf32>) writes (%out3 : memref<6x16xf32>)
  %q = weir_plan.buffer : memref<8x16xf32>
  weir_plan.run @pad range %lines grain 64 reads (%x : memref<6x16xf32>) writes (%q : memref<8x16xf32>)
  weir_plan.run @neg range %m grain 1 reads (%q : memref<8x16xf32>) writes (%out1 : memref<8x16xf32>)
  %b = weir_plan.buffer : memref<6x16xf32>
  weir_plan.run @exp range %n grain 1 reads (%x : memref<6x16xf32>) writes (%b : memref<6x16xf32>)
  %r = weir_plan.buffer : memref<8x16xf32>
  weir_plan.run @crop range %lines grain 64 reads (%b : memref<6x16xf32>) writes (%r : memref<8x16xf32>)
  weir_plan.run @neg range %m grain 1 reads (%r : memref<8x16xf32>) writes (%out2 : memref<8x16xf32>)
  return
}

// -----

// What is joined and then padded: each part behind the one before it, inside.
// CHECK: kernel @exp.part_0_8x24 schedule <loops,
// CHECK: kernel @join.border schedule <pad_border, {{.*}}parts = array<i64>
// CHECK-LABEL: @joined
// CHECK: %[[P:.*]] = weir_plan.buffer : memref<8x24xf32>
// CHECK: %[[A:.*]] = weir_plan.view %[[P]][] {weir_plan.offset = 96 : i64} : memref<8x24xf32> to memref<6x8xf32, strided<[24, 1]>>
// CHECK: run @exp.part_0_8x24 {{.*}} writes(%[[A]]
// CHECK: %[[B:.*]] = weir_plan.view %[[P]][] {weir_plan.offset = 128 : i64} : memref<8x24xf32> to memref<6x16xf32, strided<[24, 1]>>
// CHECK: run @tanh.part_0_8x24 {{.*}} writes(%[[B]]
// CHECK: run @join.border
weir_plan.kernel @exp schedule <loops> nodes "e" {
^bb0(%x: tensor<6x8xf32>):
  %0 = weir.exp %x : (tensor<6x8xf32>) -> tensor<6x8xf32>
  weir_plan.return %0 : tensor<6x8xf32>
}
weir_plan.kernel @tanh schedule <loops> nodes "t" {
^bb0(%x: tensor<6x16xf32>):
  %0 = weir.tanh %x : (tensor<6x16xf32>) -> tensor<6x16xf32>
  weir_plan.return %0 : tensor<6x16xf32>
}
weir_plan.kernel @join schedule <loops, {parts = array<i64: 1>}> nodes "j" {
^bb0(%x: tensor<6x8xf32>, %y: tensor<6x16xf32>):
  %pads = weir.constant dense<[1, 0, 1, 0]> : tensor<4xi64>
  %zero = weir.constant dense<0.0> : tensor<f32>
  %0 = weir.concat %x, %y {axis = 1 : i64} : (tensor<6x8xf32>, tensor<6x16xf32>) -> tensor<6x24xf32>
  %1 = weir.pad %0, %pads, %zero {mode = "constant"} : (tensor<6x24xf32>, tensor<4xi64>, tensor<f32>) -> tensor<8x24xf32>
  weir_plan.return %1 : tensor<8x24xf32>
}
weir_plan.kernel @neg schedule <loops> nodes "n" {
^bb0(%x: tensor<8x24xf32>):
  %0 = weir.neg %x : (tensor<8x24xf32>) -> tensor<8x24xf32>
  weir_plan.return %0 : tensor<8x24xf32>
}
func.func @joined() {
  %n = arith.constant 48 : index
  %m = arith.constant 96 : index
  %all = arith.constant 192 : index
  %lines = arith.constant 8 : index
  %x = weir_plan.feed 0 : memref<6x8xf32>
  %y = weir_plan.feed 1 : memref<6x16xf32>
  %out = weir_plan.fetch 0 () : memref<8x24xf32>
  %a = weir_plan.buffer : memref<6x8xf32>
  weir_plan.run @exp range %n grain 1 reads (%x : memref<6x8xf32>) writes (%a : memref<6x8xf32>)
  %b = weir_plan.buffer : memref<6x16xf32>
  weir_plan.run @tanh range %m grain 1 reads (%y : memref<6x16xf32>) writes (%b : memref<6x16xf32>)
  %p = weir_plan.buffer : memref<8x24xf32>
  weir_plan.run @join range %lines grain 64 reads (%a, %b : memref<6x8xf32>, memref<6x16xf32>) writes (%p : memref<8x24xf32>)
  weir_plan.run @neg range %all grain 1 reads (%p : memref<8x24xf32>) writes (%out : memref<8x24xf32>)
  return
}

// -----

// What is joined is partly a feed, which the run copies behind what is there.
// CHECK: kernel @join.border_1 schedule <pad_border, {{.*}}copied = array<i64: 1>, parts = array<i64>
// CHECK-LABEL: @partly
// CHECK: %[[Y:.*]] = weir_plan.feed 1
// CHECK: run @exp.part_0_8x24
// CHECK: run @join.border_1 {{.*}} reads(%{{.*}}, %[[Y]]
weir_plan.kernel @exp schedule <loops> nodes "e" {
^bb0(%x: tensor<6x8xf32>):
  %0 = weir.exp %x : (tensor<6x8xf32>) -> tensor<6x8xf32>
  weir_plan.return %0 : tensor<6x8xf32>
}
weir_plan.kernel @join schedule <loops, {parts = array<i64: 1>}> nodes "j" {
^bb0(%x: tensor<6x8xf32>, %y: tensor<6x16xf32>):
  %pads = weir.constant dense<[1, 0, 1, 0]> : tensor<4xi64>
  %zero = weir.constant dense<0.0> : tensor<f32>
  %0 = weir.concat %x, %y {axis = 1 : i64} : (tensor<6x8xf32>, tensor<6x16xf32>) -> tensor<6x24xf32>
  %1 = weir.pad %0, %pads, %zero {mode = "constant"} : (tensor<6x24xf32>, tensor<4xi64>, tensor<f32>) -> tensor<8x24xf32>
  weir_plan.return %1 : tensor<8x24xf32>
}
weir_plan.kernel @neg schedule <loops> nodes "n" {
^bb0(%x: tensor<8x24xf32>):
  %0 = weir.neg %x : (tensor<8x24xf32>) -> tensor<8x24xf32>
  weir_plan.return %0 : tensor<8x24xf32>
}
func.func @partly() {
  %n = arith.constant 48 : index
  %all = arith.constant 192 : index
  %lines = arith.constant 8 : index
  %x = weir_plan.feed 0 : memref<6x8xf32>
  %y = weir_plan.feed 1 : memref<6x16xf32>
  %out = weir_plan.fetch 0 () : memref<8x24xf32>
  %a = weir_plan.buffer : memref<6x8xf32>
  weir_plan.run @exp range %n grain 1 reads (%x : memref<6x8xf32>) writes (%a : memref<6x8xf32>)
  %p = weir_plan.buffer : memref<8x24xf32>
  weir_plan.run @join range %lines grain 64 reads (%a, %y : memref<6x8xf32>, memref<6x16xf32>) writes (%p : memref<8x24xf32>)
  weir_plan.run @neg range %all grain 1 reads (%p : memref<8x24xf32>) writes (%out : memref<8x24xf32>)
  return
}
