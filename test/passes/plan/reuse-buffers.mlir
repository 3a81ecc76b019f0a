// Results over operands that die, and values made where they are copied to.
// REQUIRES: weir-opt
// RUN: weir-opt %s --weir-reuse-buffers --split-input-file | FileCheck %s

// The second kernel reads its operand only where it writes, and nothing reads it
// later: one buffer. The kernel is marked.
// CHECK: weir_plan.reuse = {buffers = 1 : i64, bytes = 64 : i64, copies = 0 : i64}
// CHECK: kernel @relu {{.*}} attributes {in_place = array<i64: 0>}
// CHECK-LABEL: @in_place
// CHECK: %[[B:.*]] = weir_plan.buffer
// CHECK-NOT: weir_plan.buffer
// CHECK: run @relu {{.*}} reads(%[[B]] {{.*}} writes(%[[B]]
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
func.func @in_place() {
  %c4 = arith.constant 4 : index
  %in = weir_plan.feed 0 : memref<4xf32>
  %out = weir_plan.fetch 0 () : memref<4xf32>
  %a = weir_plan.buffer : memref<4xf32>
  weir_plan.run @exp range %c4 grain 1 reads (%in : memref<4xf32>) writes (%a : memref<4xf32>)
  %b = weir_plan.buffer : memref<4xf32>
  weir_plan.run @relu range %c4 grain 1 reads (%a : memref<4xf32>) writes (%b : memref<4xf32>)
  weir_plan.run @exp range %c4 grain 1 reads (%b : memref<4xf32>) writes (%out : memref<4xf32>)
  return
}

// -----

// Read again behind it, or read at other places: two buffers.
// CHECK: weir_plan.reuse = {buffers = 0
// CHECK-LABEL: @apart
// CHECK-COUNT-4: weir_plan.buffer
weir_plan.kernel @relu schedule <loops> nodes "r" {
^bb0(%x: tensor<4xf32>):
  %0 = weir.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  weir_plan.return %0 : tensor<4xf32>
}
weir_plan.kernel @reverse schedule <loops> nodes "v" {
^bb0(%x: tensor<4xf32>):
  %0 = weir.reverse %x {axes = array<i64: 0>} : (tensor<4xf32>) -> tensor<4xf32>
  weir_plan.return %0 : tensor<4xf32>
}
func.func @apart() {
  %c4 = arith.constant 4 : index
  %in = weir_plan.feed 0 : memref<4xf32>
  %a = weir_plan.buffer : memref<4xf32>
  weir_plan.run @reverse range %c4 grain 1 reads (%in : memref<4xf32>) writes (%a : memref<4xf32>)
  %b = weir_plan.buffer : memref<4xf32>
  weir_plan.run @relu range %c4 grain 1 reads (%a : memref<4xf32>) writes (%b : memref<4xf32>)
  %c = weir_plan.buffer : memref<4xf32>
  weir_plan.run @reverse range %c4 grain 1 reads (%a : memref<4xf32>) writes (%c : memref<4xf32>)
  %d = weir_plan.buffer : memref<4xf32>
  weir_plan.run @reverse range %c4 grain 1 reads (%c : memref<4xf32>) writes (%d : memref<4xf32>)
  %out = weir_plan.fetch 0 () : memref<4xf32>
  weir_plan.run @reverse range %c4 grain 1 reads (%b : memref<4xf32>) writes (%out : memref<4xf32>)
  %more = weir_plan.fetch 1 () : memref<4xf32>
  weir_plan.run @reverse range %c4 grain 1 reads (%d : memref<4xf32>) writes (%more : memref<4xf32>)
  return
}

// -----

// One kernel in place and apart: two functions.
// CHECK: kernel @relu schedule <loops> nodes "r" {
// CHECK: kernel @relu.over0 {{.*}} attributes {in_place = array<i64: 0>}
// CHECK-LABEL: @both
// CHECK: run @relu range
// CHECK: run @relu.over0 range
weir_plan.kernel @relu schedule <loops> nodes "r" {
^bb0(%x: tensor<4xf32>):
  %0 = weir.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  weir_plan.return %0 : tensor<4xf32>
}
func.func @both() {
  %c4 = arith.constant 4 : index
  %in = weir_plan.feed 0 : memref<4xf32>
  %a = weir_plan.buffer : memref<4xf32>
  weir_plan.run @relu range %c4 grain 1 reads (%in : memref<4xf32>) writes (%a : memref<4xf32>)
  %b = weir_plan.buffer : memref<4xf32>
  weir_plan.run @relu range %c4 grain 1 reads (%a : memref<4xf32>) writes (%b : memref<4xf32>)
  %out = weir_plan.fetch 0 () : memref<4xf32>
  weir_plan.copy %b to %out : memref<4xf32>, memref<4xf32>
  return
}

// -----

// What a loop carries: its next value is made over the last one, without a copy
// to make; the plan drops the copy that is left.
// CHECK: weir_plan.reuse = {buffers = 1 : i64, bytes = 64 : i64, copies = 1 : i64}
// CHECK-LABEL: @carried
// CHECK: %[[T:.*]] = weir_plan.buffer
// CHECK: scf.while
// CHECK: run @relu {{.*}} reads(%[[T]] {{.*}} writes(%[[T]]
weir_plan.kernel @relu schedule <loops> nodes "r" {
^bb0(%x: tensor<4xf32>):
  %0 = weir.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  weir_plan.return %0 : tensor<4xf32>
}
func.func @carried(%n: i32) {
  %c4 = arith.constant 4 : index
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %in = weir_plan.feed 0 : memref<4xf32>
  %t = weir_plan.buffer : memref<4xf32>
  weir_plan.copy %in to %t : memref<4xf32>, memref<4xf32>
  %r = scf.while (%i = %n) : (i32) -> i32 {
    %go = arith.cmpi sgt, %i, %c0 : i32
    scf.condition(%go) %i : i32
  } do {
  ^bb0(%i: i32):
    %s = weir_plan.buffer : memref<4xf32>
    weir_plan.run @relu range %c4 grain 1 reads (%t : memref<4xf32>) writes (%s : memref<4xf32>)
    weir_plan.copy %s to %t : memref<4xf32>, memref<4xf32>
    %next = arith.subi %i, %c1 : i32
    scf.yield %next : i32
  }
  %out = weir_plan.fetch 0 () : memref<4xf32>
  weir_plan.copy %t to %out : memref<4xf32>, memref<4xf32>
  return
}

// -----

// The last value is still read behind the first write to the next one: a copy.
// CHECK: weir_plan.reuse = {buffers = 0
// CHECK-LABEL: @still_read
weir_plan.kernel @relu schedule <loops> nodes "r" {
^bb0(%x: tensor<4xf32>):
  %0 = weir.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  weir_plan.return %0 : tensor<4xf32>
}
weir_plan.kernel @add schedule <loops> nodes "a" {
^bb0(%x: tensor<4xf32>, %y: tensor<4xf32>):
  %0 = weir.reverse %x {axes = array<i64: 0>} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = weir.add %0, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  weir_plan.return %1 : tensor<4xf32>
}
func.func @still_read() {
  %c4 = arith.constant 4 : index
  %in = weir_plan.feed 0 : memref<4xf32>
  %t = weir_plan.buffer : memref<4xf32>
  weir_plan.copy %in to %t : memref<4xf32>, memref<4xf32>
  %s = weir_plan.buffer : memref<4xf32>
  weir_plan.run @relu range %c4 grain 1 reads (%in : memref<4xf32>) writes (%s : memref<4xf32>)
  %out = weir_plan.fetch 0 () : memref<4xf32>
  weir_plan.run @add range %c4 grain 1 reads (%t, %s : memref<4xf32>, memref<4xf32>) writes (%out : memref<4xf32>)
  weir_plan.copy %s to %t : memref<4xf32>, memref<4xf32>
  %more = weir_plan.fetch 1 () : memref<4xf32>
  weir_plan.copy %t to %more : memref<4xf32>, memref<4xf32>
  return
}

// -----

// A product for one launch, which writes a fetch over it, lies in the fetch's memory.
// CHECK: kernel @product schedule <loops> nodes "p" {
// CHECK: kernel @relu {{.*}} attributes {in_place = array<i64: 0>}
// CHECK-LABEL: @fetched
// CHECK-NOT: weir_plan.buffer
// CHECK: %[[F:.*]] = weir_plan.fetch 0
// CHECK-NOT: weir_plan.buffer
// CHECK: run @product {{.*}} writes(%[[F]]
// CHECK: run @relu {{.*}} reads(%[[F]] {{.*}} writes(%[[F]]
weir_plan.kernel @product schedule <loops> nodes "p" {
^bb0(%x: tensor<2x3xf32>, %y: tensor<3x4xf32>):
  %0 = weir.dot_general %x, %y {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, accumulator = f32} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  weir_plan.return %0 : tensor<2x4xf32>
}
weir_plan.kernel @relu schedule <loops> nodes "r" {
^bb0(%x: tensor<2x4xf32>):
  %0 = weir.relu %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
  weir_plan.return %0 : tensor<2x4xf32>
}
func.func @fetched() {
  %c2 = arith.constant 2 : index
  %x = weir_plan.feed 0 : memref<2x3xf32>
  %y = weir_plan.feed 1 : memref<3x4xf32>
  %a = weir_plan.buffer : memref<2x4xf32>
  weir_plan.run @product range %c2 grain 1 reads (%x, %y : memref<2x3xf32>, memref<3x4xf32>) writes (%a : memref<2x4xf32>)
  %out = weir_plan.fetch 0 () : memref<2x4xf32>
  weir_plan.run @relu range %c2 grain 1 reads (%a : memref<2x4xf32>) writes (%out : memref<2x4xf32>)
  return
}

// -----

// A loop within a loop begins in the memory of what the outer one carries: nothing is copied.
// CHECK: weir_plan.reuse = {{.*}}copies = 2
// CHECK-LABEL: @nested
// CHECK: %[[S:.*]] = weir_plan.buffer
// CHECK-NOT: weir_plan.buffer
// CHECK: run @relu {{.*}} reads(%[[S]] {{.*}} writes(%[[S]]
weir_plan.kernel @relu schedule <loops> nodes "r" {
^bb0(%x: tensor<4xf32>):
  %0 = weir.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  weir_plan.return %0 : tensor<4xf32>
}
func.func @nested() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %in = weir_plan.feed 0 : memref<4xf32>
  %s = weir_plan.buffer : memref<4xf32>
  weir_plan.copy %in to %s : memref<4xf32>, memref<4xf32>
  scf.for %i = %c0 to %c4 step %c1 {
    %t = weir_plan.buffer : memref<4xf32>
    weir_plan.copy %s to %t : memref<4xf32>, memref<4xf32>
    scf.for %j = %c0 to %c4 step %c1 {
      weir_plan.run @relu range %c4 grain 1 reads (%t : memref<4xf32>) writes (%t : memref<4xf32>)
    }
    weir_plan.copy %t to %s : memref<4xf32>, memref<4xf32>
  }
  %out = weir_plan.fetch 0 () : memref<4xf32>
  weir_plan.copy %s to %out : memref<4xf32>, memref<4xf32>
  return
}
