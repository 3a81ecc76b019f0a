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
weir_plan.kernel @exp strategy "loops" nodes "e" {
^bb0(%x: tensor<1x16x4xf32>):
  %0 = weir.exp %x : (tensor<1x16x4xf32>) -> tensor<1x16x4xf32>
  weir_plan.return %0 : tensor<1x16x4xf32>
}
weir_plan.kernel @concat strategy "loops" nodes "c" {
^bb0(%x: tensor<1x16x4xf32>, %y: tensor<1x16x4xf32>):
  %0 = weir.concat %x, %y {axis = 1 : i64} : (tensor<1x16x4xf32>, tensor<1x16x4xf32>) -> tensor<1x32x4xf32>
  weir_plan.return %0 : tensor<1x32x4xf32>
}
weir_plan.kernel @neg strategy "loops" nodes "n" {
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
// CHECK: kernel @exp.part_0_24 {{.*}} attributes {pitches = array<i64: 0, 24>, tiles = array<i64: 1>}
// CHECK-LABEL: @rows
// CHECK: %[[C:.*]] = weir_plan.buffer : memref<5x24xf32>
// CHECK: view %[[C]][] {weir_plan.offset = 0 : i64} : memref<5x24xf32> to memref<5x8xf32, strided<[24, 1]>>
// CHECK: %[[FIVE:.*]] = arith.constant 5 : index
// CHECK: run @exp.part_0_24 range %[[FIVE]]
// CHECK: view %[[C]][] {weir_plan.offset = 32 : i64} : memref<5x24xf32> to memref<5x16xf32, strided<[24, 1]>>
weir_plan.kernel @exp strategy "loops" nodes "e" {
^bb0(%x: tensor<5x8xf32>):
  %0 = weir.exp %x : (tensor<5x8xf32>) -> tensor<5x8xf32>
  weir_plan.return %0 : tensor<5x8xf32>
}
weir_plan.kernel @tanh strategy "loops" nodes "t" {
^bb0(%x: tensor<5x16xf32>):
  %0 = weir.tanh %x : (tensor<5x16xf32>) -> tensor<5x16xf32>
  weir_plan.return %0 : tensor<5x16xf32>
}
weir_plan.kernel @concat strategy "loops" nodes "c" attributes {tiles = array<i64: 1>} {
^bb0(%x: tensor<5x8xf32>, %y: tensor<5x16xf32>):
  %0 = weir.concat %x, %y {axis = 1 : i64} : (tensor<5x8xf32>, tensor<5x16xf32>) -> tensor<5x24xf32>
  weir_plan.return %0 : tensor<5x24xf32>
}
weir_plan.kernel @neg strategy "loops" nodes "n" {
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
weir_plan.kernel @exp strategy "loops" nodes "e" {
^bb0(%x: tensor<5x8xf32>):
  %0 = weir.exp %x : (tensor<5x8xf32>) -> tensor<5x8xf32>
  weir_plan.return %0 : tensor<5x8xf32>
}
weir_plan.kernel @concat strategy "loops" nodes "c" attributes {tiles = array<i64: 1>} {
^bb0(%x: tensor<5x8xf32>, %y: tensor<5x8xf32>):
  %0 = weir.concat %x, %y {axis = 1 : i64} : (tensor<5x8xf32>, tensor<5x8xf32>) -> tensor<5x16xf32>
  weir_plan.return %0 : tensor<5x16xf32>
}
weir_plan.kernel @neg strategy "loops" nodes "n" {
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
