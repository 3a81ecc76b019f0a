// Operands of concatenations in the result's buffer, slices where they lie.
// REQUIRES: weir-opt
// RUN: weir-opt %s --weir-reuse-buffers --split-input-file | FileCheck %s

// Nothing lies before the dimension: parts are contiguous, 64 floats apart.
// The kernel that copied is gone.
// CHECK: copies = 1
// CHECK-NOT: @concat
// CHECK-LABEL: @contiguous
// CHECK: %[[C:.*]] = weir_plan.buffer : memref<1x32x4xf32>
// CHECK-NOT: weir_plan.buffer
// CHECK: %[[A:.*]] = weir_plan.view %[[C]][] {weir_plan.offset = 0 : i64} : memref<1x32x4xf32> to memref<1x16x4xf32>
// CHECK-NEXT: run @exp {{.*}} writes(%[[A]]
// CHECK: %[[B:.*]] = weir_plan.view %[[C]][] {weir_plan.offset = 256 : i64}
// CHECK-NEXT: run @exp {{.*}} writes(%[[B]]
weir_plan.kernel @exp schedule <loops> nodes "e" {
^bb0(%x: tensor<1x16x4xf32>):
  %0 = weir.exp %x : (tensor<1x16x4xf32>) -> tensor<1x16x4xf32>
  weir_plan.return %0 : tensor<1x16x4xf32>
}
weir_plan.kernel @concat schedule <loops> nodes "c" {
^bb0(%x: tensor<1x16x4xf32>, %y: tensor<1x16x4xf32>):
  %0 = weir.concat %x, %y {axis = 1 : i64} : (tensor<1x16x4xf32>, tensor<1x16x4xf32>) -> tensor<1x32x4xf32>
  weir_plan.return %0 : tensor<1x32x4xf32>
}
weir_plan.kernel @neg schedule <loops> nodes "n" {
^bb0(%x: tensor<1x32x4xf32>):
  %0 = weir.exp %x : (tensor<1x32x4xf32>) -> tensor<1x32x4xf32>
  weir_plan.return %0 : tensor<1x32x4xf32>
}
func.func @contiguous() {
  %n = arith.constant 64 : index
  %m = arith.constant 128 : index
  %x = weir_plan.feed 0 : memref<1x16x4xf32>
  %y = weir_plan.feed 1 : memref<1x16x4xf32>
  %out = weir_plan.fetch 0 () : memref<1x32x4xf32>
  %a = weir_plan.buffer : memref<1x16x4xf32>
  weir_plan.run @exp range %n grain 1 reads (%x : memref<1x16x4xf32>) writes (%a : memref<1x16x4xf32>)
  %b = weir_plan.buffer : memref<1x16x4xf32>
  weir_plan.run @exp range %n grain 1 reads (%y : memref<1x16x4xf32>) writes (%b : memref<1x16x4xf32>)
  %c = weir_plan.buffer : memref<1x32x4xf32>
  weir_plan.run @concat range %m grain 1 reads (%a, %b : memref<1x16x4xf32>, memref<1x16x4xf32>) writes (%c : memref<1x32x4xf32>)
  weir_plan.run @neg range %m grain 1 reads (%c : memref<1x32x4xf32>) writes (%out : memref<1x32x4xf32>)
  return
}

// -----

// Along the last of several dimensions rows lie 24 floats apart, and a kernel that
// went over all elements as one goes over rows.
// CHECK: copies = 1
// CHECK-NOT: kernel @concat
// CHECK: kernel @exp.part_0_5x24 schedule <loops, {parts = array<i64: 1>}> {{.*}} attributes {extents = [array<i64>, array<i64: 5, 24>]}
// CHECK-LABEL: @rows
// CHECK: %[[C:.*]] = weir_plan.buffer : memref<5x24xf32>
// CHECK: view %[[C]][] {weir_plan.offset = 0 : i64} : memref<5x24xf32> to memref<5x8xf32, strided<[24, 1]>>
// CHECK: %[[FIVE:.*]] = arith.constant 5 : index
// CHECK: run @exp.part_0_5x24 range %[[FIVE]]
// CHECK: view %[[C]][] {weir_plan.offset = 32 : i64} : memref<5x24xf32> to memref<5x16xf32, strided<[24, 1]>>
weir_plan.kernel @exp schedule <loops> nodes "e" {
^bb0(%x: tensor<5x8xf32>):
  %0 = weir.exp %x : (tensor<5x8xf32>) -> tensor<5x8xf32>
  weir_plan.return %0 : tensor<5x8xf32>
}
weir_plan.kernel @tanh schedule <loops> nodes "t" {
^bb0(%x: tensor<5x16xf32>):
  %0 = weir.tanh %x : (tensor<5x16xf32>) -> tensor<5x16xf32>
  weir_plan.return %0 : tensor<5x16xf32>
}
weir_plan.kernel @concat schedule <loops, {parts = array<i64: 1>}> nodes "c" {
^bb0(%x: tensor<5x8xf32>, %y: tensor<5x16xf32>):
  %0 = weir.concat %x, %y {axis = 1 : i64} : (tensor<5x8xf32>, tensor<5x16xf32>) -> tensor<5x24xf32>
  weir_plan.return %0 : tensor<5x24xf32>
}
weir_plan.kernel @neg schedule <loops> nodes "n" {
^bb0(%x: tensor<5x24xf32>):
  %0 = weir.exp %x : (tensor<5x24xf32>) -> tensor<5x24xf32>
  weir_plan.return %0 : tensor<5x24xf32>
}
func.func @rows() {
  %n = arith.constant 40 : index
  %five = arith.constant 5 : index
  %m = arith.constant 120 : index
  %x = weir_plan.feed 0 : memref<5x8xf32>
  %y = weir_plan.feed 1 : memref<5x16xf32>
  %out = weir_plan.fetch 0 () : memref<5x24xf32>
  %a = weir_plan.buffer : memref<5x8xf32>
  weir_plan.run @exp range %n grain 1 reads (%x : memref<5x8xf32>) writes (%a : memref<5x8xf32>)
  %b = weir_plan.buffer : memref<5x16xf32>
  weir_plan.run @tanh range %m grain 1 reads (%y : memref<5x16xf32>) writes (%b : memref<5x16xf32>)
  %c = weir_plan.buffer : memref<5x24xf32>
  weir_plan.run @concat range %five grain 1 reads (%a, %b : memref<5x8xf32>, memref<5x16xf32>) writes (%c : memref<5x24xf32>)
  weir_plan.run @neg range %m grain 1 reads (%c : memref<5x24xf32>) writes (%out : memref<5x24xf32>)
  return
}

// -----

// Not where an operand is a feed.
// CHECK: copies = 0
// CHECK-LABEL: @kept
// CHECK: run @concat
weir_plan.kernel @exp schedule <loops> nodes "e" {
^bb0(%x: tensor<5x8xf32>):
  %0 = weir.exp %x : (tensor<5x8xf32>) -> tensor<5x8xf32>
  weir_plan.return %0 : tensor<5x8xf32>
}
weir_plan.kernel @concat schedule <loops, {parts = array<i64: 1>}> nodes "c" {
^bb0(%x: tensor<5x8xf32>, %y: tensor<5x8xf32>):
  %0 = weir.concat %x, %y {axis = 1 : i64} : (tensor<5x8xf32>, tensor<5x8xf32>) -> tensor<5x16xf32>
  weir_plan.return %0 : tensor<5x16xf32>
}
weir_plan.kernel @neg schedule <loops> nodes "n" {
^bb0(%x: tensor<5x16xf32>):
  %0 = weir.exp %x : (tensor<5x16xf32>) -> tensor<5x16xf32>
  weir_plan.return %0 : tensor<5x16xf32>
}
func.func @kept() {
  %n = arith.constant 40 : index
  %five = arith.constant 5 : index
  %m = arith.constant 80 : index
  %x = weir_plan.feed 0 : memref<5x8xf32>
  %out = weir_plan.fetch 0 () : memref<5x16xf32>
  %a = weir_plan.buffer : memref<5x8xf32>
  weir_plan.run @exp range %n grain 1 reads (%x : memref<5x8xf32>) writes (%a : memref<5x8xf32>)
  %c = weir_plan.buffer : memref<5x16xf32>
  weir_plan.run @concat range %five grain 1 reads (%a, %x : memref<5x8xf32>, memref<5x8xf32>) writes (%c : memref<5x16xf32>)
  weir_plan.run @neg range %m grain 1 reads (%c : memref<5x16xf32>) writes (%out : memref<5x16xf32>)
  return
}

// -----

// What Winograd's form computes is a part as any other; what it transforms is not, and
// the slice that it reads is copied.
// CHECK: copies = 1
// CHECK-NOT: kernel @concat
// CHECK: kernel @conv.part_0_0_1x6x16x24 schedule <winograd,
// CHECK-LABEL: @winograd
// CHECK: run @slice
// CHECK: run @conv.part_0_0_1x6x16x24 {{.*}} strided<[2304, 384, 24, 1]>
weir_plan.kernel @exp schedule <loops> nodes "e" {
^bb0(%x: tensor<1x6x16x8xf32>):
  %0 = weir.exp %x : (tensor<1x6x16x8xf32>) -> tensor<1x6x16x8xf32>
  weir_plan.return %0 : tensor<1x6x16x8xf32>
}
weir_plan.kernel @slice schedule <loops, {parts = array<i64: 1, 1, 1>}> nodes "s" {
^bb0(%x: tensor<1x8x18x32xf32>):
  %starts = weir.constant dense<0> : tensor<1xi64>
  %ends = weir.constant dense<16> : tensor<1xi64>
  %steps = weir.constant dense<1> : tensor<1xi64>
  %0 = weir.slice %x, %starts, %ends, %steps {axes = array<i64: 3>, strict = false} : (tensor<1x8x18x32xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x8x18x16xf32>
  weir_plan.return %0 : tensor<1x8x18x16xf32>
}
weir_plan.kernel @conv schedule <winograd, {block_tiles = 8 : i64, parts = array<i64: 1, 2, 16, 16>, square = 2 : i64, tile = array<i64: 14, 1, 16>}> nodes "c" {
^bb0(%x: tensor<1x8x18x16xf32>, %w: tensor<1x16x16x16xf32>):
  %filter = builtin.unrealized_conversion_cast %w : tensor<1x16x16x16xf32> to tensor<3x3x16x16xf32>
  %0 = weir.conv %x, %filter {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, channels_last = true, accumulator = f32} : (tensor<1x8x18x16xf32>, tensor<3x3x16x16xf32>) -> tensor<1x6x16x16xf32>
  weir_plan.return %0 : tensor<1x6x16x16xf32>
}
weir_plan.kernel @concat schedule <loops, {parts = array<i64: 1, 1, 1>}> nodes "c" {
^bb0(%x: tensor<1x6x16x8xf32>, %y: tensor<1x6x16x16xf32>):
  %0 = weir.concat %x, %y {axis = 3 : i64} : (tensor<1x6x16x8xf32>, tensor<1x6x16x16xf32>) -> tensor<1x6x16x24xf32>
  weir_plan.return %0 : tensor<1x6x16x24xf32>
}
weir_plan.kernel @neg schedule <loops> nodes "n" {
^bb0(%x: tensor<1x6x16x24xf32>):
  %0 = weir.exp %x : (tensor<1x6x16x24xf32>) -> tensor<1x6x16x24xf32>
  weir_plan.return %0 : tensor<1x6x16x24xf32>
}
func.func @winograd() {
  %n = arith.constant 768 : index
  %three = arith.constant 3 : index
  %lines = arith.constant 144 : index
  %m = arith.constant 2304 : index
  %x = weir_plan.feed 0 : memref<1x6x16x8xf32>
  %y = weir_plan.feed 1 : memref<1x8x18x32xf32>
  %w = weir_plan.feed 2 : memref<1x16x16x16xf32>
  %out = weir_plan.fetch 0 () : memref<1x6x16x24xf32>
  %a = weir_plan.buffer : memref<1x6x16x8xf32>
  weir_plan.run @exp range %n grain 1 reads (%x : memref<1x6x16x8xf32>) writes (%a : memref<1x6x16x8xf32>)
  %s = weir_plan.buffer : memref<1x8x18x16xf32>
  weir_plan.run @slice range %lines grain 1 reads (%y : memref<1x8x18x32xf32>) writes (%s : memref<1x8x18x16xf32>)
  %b = weir_plan.buffer : memref<1x6x16x16xf32>
  weir_plan.run @conv range %three grain 1 reads (%s, %w : memref<1x8x18x16xf32>, memref<1x16x16x16xf32>) writes (%b : memref<1x6x16x16xf32>)
  %c = weir_plan.buffer : memref<1x6x16x24xf32>
  weir_plan.run @concat range %lines grain 1 reads (%a, %b : memref<1x6x16x8xf32>, memref<1x6x16x16xf32>) writes (%c : memref<1x6x16x24xf32>)
  weir_plan.run @neg range %m grain 1 reads (%c : memref<1x6x16x24xf32>) writes (%out : memref<1x6x16x24xf32>)
  return
}

// -----

// Parts of a result of the step are made in the caller's memory, those that others see in another
// shape, too.
// CHECK: copies = 1
// CHECK-NOT: @concat
// CHECK-LABEL: @result
// CHECK-NOT: weir_plan.buffer
// CHECK: %[[OUT:.*]] = weir_plan.fetch 0() : memref<32x4xf32>
// CHECK-NOT: weir_plan.buffer
// CHECK: %[[A:.*]] = weir_plan.view %[[OUT]][] {weir_plan.offset = 0 : i64} : memref<32x4xf32> to memref<64xf32>
// CHECK-NEXT: run @exp {{.*}} writes(%[[A]]
// CHECK: %[[B:.*]] = weir_plan.view %[[OUT]][] {weir_plan.offset = 256 : i64} : memref<32x4xf32> to memref<64xf32>
// CHECK-NEXT: run @exp {{.*}} writes(%[[B]]
// CHECK-NEXT: return
weir_plan.kernel @exp schedule <loops> nodes "e" {
^bb0(%x: tensor<64xf32>):
  %0 = weir.exp %x : (tensor<64xf32>) -> tensor<64xf32>
  weir_plan.return %0 : tensor<64xf32>
}
weir_plan.kernel @concat schedule <loops> nodes "c" {
^bb0(%x: tensor<16x4xf32>, %y: tensor<16x4xf32>):
  %0 = weir.concat %x, %y {axis = 0 : i64} : (tensor<16x4xf32>, tensor<16x4xf32>) -> tensor<32x4xf32>
  weir_plan.return %0 : tensor<32x4xf32>
}
func.func @result() {
  %n = arith.constant 64 : index
  %m = arith.constant 128 : index
  %x = weir_plan.feed 0 : memref<64xf32>
  %y = weir_plan.feed 1 : memref<64xf32>
  %a = weir_plan.buffer : memref<64xf32>
  weir_plan.run @exp range %n grain 1 reads (%x : memref<64xf32>) writes (%a : memref<64xf32>)
  %c = weir_plan.view %a[] : memref<64xf32> to memref<16x4xf32>
  %b = weir_plan.buffer : memref<64xf32>
  weir_plan.run @exp range %n grain 1 reads (%y : memref<64xf32>) writes (%b : memref<64xf32>)
  %d = weir_plan.view %b[] : memref<64xf32> to memref<16x4xf32>
  %out = weir_plan.fetch 0 () : memref<32x4xf32>
  weir_plan.run @concat range %m grain 1 reads (%c, %d : memref<16x4xf32>, memref<16x4xf32>) writes (%out : memref<32x4xf32>)
  return
}

// -----

// Rows of a part would lie apart in the whole, and whoever makes it sees other rows: it is copied.
// CHECK: copies = 0
// CHECK-LABEL: @otherRows
// CHECK: run @concat
weir_plan.kernel @exp schedule <loops> nodes "e" {
^bb0(%x: tensor<64xf32>):
  %0 = weir.exp %x : (tensor<64xf32>) -> tensor<64xf32>
  weir_plan.return %0 : tensor<64xf32>
}
weir_plan.kernel @concat schedule <loops> nodes "c" {
^bb0(%x: tensor<4x16xf32>, %y: tensor<4x16xf32>):
  %0 = weir.concat %x, %y {axis = 1 : i64} : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x32xf32>
  weir_plan.return %0 : tensor<4x32xf32>
}
func.func @otherRows() {
  %n = arith.constant 64 : index
  %m = arith.constant 128 : index
  %x = weir_plan.feed 0 : memref<64xf32>
  %y = weir_plan.feed 1 : memref<64xf32>
  %a = weir_plan.buffer : memref<64xf32>
  weir_plan.run @exp range %n grain 1 reads (%x : memref<64xf32>) writes (%a : memref<64xf32>)
  %c = weir_plan.view %a[] : memref<64xf32> to memref<4x16xf32>
  %b = weir_plan.buffer : memref<64xf32>
  weir_plan.run @exp range %n grain 1 reads (%y : memref<64xf32>) writes (%b : memref<64xf32>)
  %d = weir_plan.view %b[] : memref<64xf32> to memref<4x16xf32>
  %out = weir_plan.fetch 0 () : memref<4x32xf32>
  weir_plan.run @concat range %m grain 1 reads (%c, %d : memref<4x16xf32>, memref<4x16xf32>) writes (%out : memref<4x32xf32>)
  return
}
