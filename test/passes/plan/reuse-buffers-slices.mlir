// Products read slices that end where only the run knows from the wholes that they are cut from.
// REQUIRES: weir-opt
// RUN: weir-opt %s --weir-reuse-buffers --weir-free-dynamic | FileCheck %s

// The product cuts the slice out itself, whose end is an argument behind its own. Its work counts
// the result's open size: the whole has none.
// CHECK: copies = 1
// CHECK: kernel @copy schedule
// CHECK: kernel @dot.slice1_copy schedule {{.*}} nodes "s;d"
// CHECK-NEXT: ^bb0(%[[X:.*]]: tensor<2x3x8xf32>, %[[WHOLE:.*]]: tensor<2x64x8xf32>, %[[END:.*]]: tensor<1xi64>):
// CHECK: %[[PART:.*]] = weir.slice %[[WHOLE]], %{{.*}}, %[[END]], %{{.*}} -> tensor<2x?x8xf32>
// CHECK: weir.transpose %[[PART]]
weir_plan.kernel @copy schedule <loops, {parts = array<i64: 1, 1>}> nodes "s" {
^bb0(%x: tensor<2x64x8xf32>, %end: tensor<1xi64>):
  %zero = weir.constant dense<0> : tensor<1xi64>
  %one = weir.constant dense<1> : tensor<1xi64>
  %0 = weir.slice %x, %zero, %end, %one {axes = array<i64: 1>, strict = false} : (tensor<2x64x8xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<2x?x8xf32>
  weir_plan.return %0 : tensor<2x?x8xf32>
}
weir_plan.kernel @dot schedule <gemm, {copies_panels, parts = array<i64: 1, 3, 16>, tile = array<i64: 4, 2, 8>}> nodes "d" {
^bb0(%x: tensor<2x3x8xf32>, %y: tensor<2x?x8xf32>):
  %t = weir.transpose %y {permutation = array<i64: 0, 2, 1>} : (tensor<2x?x8xf32>) -> tensor<2x8x?xf32>
  %0 = weir.dot_general %x, %t {accumulator = f32, lhs_batch = array<i64: 0>, rhs_batch = array<i64: 0>, lhs_contract = array<i64: 2>, rhs_contract = array<i64: 1>} : (tensor<2x3x8xf32>, tensor<2x8x?xf32>) -> tensor<2x3x?xf32>
  weir_plan.return %0 : tensor<2x3x?xf32>
}
weir_plan.kernel @left schedule <gemm, {parts = array<i64: 1, 64, 16>, tile = array<i64: 4, 2, 8>}> nodes "l" {
^bb0(%x: tensor<2x?x8xf32>, %y: tensor<2x8x16xf32>):
  %0 = weir.dot_general %x, %y {accumulator = f32, lhs_batch = array<i64: 0>, rhs_batch = array<i64: 0>, lhs_contract = array<i64: 2>, rhs_contract = array<i64: 1>} : (tensor<2x?x8xf32>, tensor<2x8x16xf32>) -> tensor<2x?x16xf32>
  weir_plan.return %0 : tensor<2x?x16xf32>
}
weir_plan.kernel @fill schedule <loops> nodes "f" {
^bb0(%x: tensor<2x64x8xf32>):
  %0 = weir.exp %x : (tensor<2x64x8xf32>) -> tensor<2x64x8xf32>
  weir_plan.return %0 : tensor<2x64x8xf32>
}

// CHECK-LABEL: @taken
// CHECK-NOT: @copy
// CHECK: run @dot.slice1_copy range %{{.*}} reads(%{{.*}}, %[[CACHE:.*]], %{{.*}} : memref<2x3x8xf32>, memref<2x64x8xf32>, memref<1xi64>) {{.*}} {work = [array<i64: 96, 0>]}
func.func @taken(%n: index) {
  %c2 = arith.constant 2 : index
  %x = weir_plan.feed 0 : memref<2x3x8xf32>
  %cache = weir_plan.feed 1 : memref<2x64x8xf32>
  %end = weir_plan.feed 2 : memref<1xi64>
  %part = weir_plan.alloc(%n) : memref<2x?x8xf32>
  weir_plan.run @copy range %c2 grain 1 reads (%cache, %end : memref<2x64x8xf32>, memref<1xi64>) writes (%part : memref<2x?x8xf32>)
  %r = weir_plan.alloc(%n) : memref<2x3x?xf32>
  weir_plan.run @dot range %c2 grain 1 reads (%x, %part : memref<2x3x8xf32>, memref<2x?x8xf32>) writes (%r : memref<2x3x?xf32>) {work = [array<i64: 96, 0>]}
  return
}

// What is cut from is written before the product reads.
// CHECK-LABEL: @written
// CHECK: run @copy
// CHECK: run @fill
// CHECK: run @dot range
func.func @written(%n: index) {
  %c2 = arith.constant 2 : index
  %x = weir_plan.feed 0 : memref<2x3x8xf32>
  %new = weir_plan.feed 1 : memref<2x64x8xf32>
  %end = weir_plan.feed 2 : memref<1xi64>
  %cache = weir_plan.fetch 0 () : memref<2x64x8xf32>
  weir_plan.run @fill range %c2 grain 1 reads (%new : memref<2x64x8xf32>) writes (%cache : memref<2x64x8xf32>)
  %part = weir_plan.alloc(%n) : memref<2x?x8xf32>
  weir_plan.run @copy range %c2 grain 1 reads (%cache, %end : memref<2x64x8xf32>, memref<1xi64>) writes (%part : memref<2x?x8xf32>)
  weir_plan.run @fill range %c2 grain 1 reads (%new : memref<2x64x8xf32>) writes (%cache : memref<2x64x8xf32>)
  %r = weir_plan.alloc(%n) : memref<2x3x?xf32>
  weir_plan.run @dot range %c2 grain 1 reads (%x, %part : memref<2x3x8xf32>, memref<2x?x8xf32>) writes (%r : memref<2x3x?xf32>)
  return
}

// A buffer of the step would live longer.
// CHECK-LABEL: @outlived
// CHECK: run @copy
// CHECK: run @dot range
func.func @outlived(%n: index) {
  %c2 = arith.constant 2 : index
  %x = weir_plan.feed 0 : memref<2x3x8xf32>
  %new = weir_plan.feed 1 : memref<2x64x8xf32>
  %end = weir_plan.feed 2 : memref<1xi64>
  %cache = weir_plan.buffer : memref<2x64x8xf32>
  weir_plan.run @fill range %c2 grain 1 reads (%new : memref<2x64x8xf32>) writes (%cache : memref<2x64x8xf32>)
  %part = weir_plan.alloc(%n) : memref<2x?x8xf32>
  weir_plan.run @copy range %c2 grain 1 reads (%cache, %end : memref<2x64x8xf32>, memref<1xi64>) writes (%part : memref<2x?x8xf32>)
  %r = weir_plan.alloc(%n) : memref<2x3x?xf32>
  weir_plan.run @dot range %c2 grain 1 reads (%x, %part : memref<2x3x8xf32>, memref<2x?x8xf32>) writes (%r : memref<2x3x?xf32>)
  return
}

// One reader of two has it as its left operand, whose rows run on from matrix to matrix.
// CHECK-LABEL: @left_too
// CHECK: run @copy
// CHECK: run @dot range
func.func @left_too(%n: index) {
  %c2 = arith.constant 2 : index
  %x = weir_plan.feed 0 : memref<2x3x8xf32>
  %cache = weir_plan.feed 1 : memref<2x64x8xf32>
  %end = weir_plan.feed 2 : memref<1xi64>
  %y = weir_plan.feed 3 : memref<2x8x16xf32>
  %part = weir_plan.alloc(%n) : memref<2x?x8xf32>
  weir_plan.run @copy range %c2 grain 1 reads (%cache, %end : memref<2x64x8xf32>, memref<1xi64>) writes (%part : memref<2x?x8xf32>)
  %r = weir_plan.alloc(%n) : memref<2x3x?xf32>
  weir_plan.run @dot range %c2 grain 1 reads (%x, %part : memref<2x3x8xf32>, memref<2x?x8xf32>) writes (%r : memref<2x3x?xf32>)
  %l = weir_plan.alloc(%n) : memref<2x?x16xf32>
  weir_plan.run @left range %c2 grain 1 reads (%part, %y : memref<2x?x8xf32>, memref<2x8x16xf32>) writes (%l : memref<2x?x16xf32>)
  return
}

// What is carried by a loop is no buffer of the step's own.
// CHECK-LABEL: @carried
// CHECK: run @copy
// CHECK: run @dot range
func.func @carried(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %x = weir_plan.feed 0 : memref<2x3x8xf32>
  %cache = weir_plan.feed 1 : memref<2x64x8xf32>
  %end = weir_plan.feed 2 : memref<1xi64>
  %part = weir_plan.alloc(%n) : memref<2x?x8xf32>
  %r = scf.for %i = %c0 to %c2 step %c1 iter_args(%p = %part) -> (memref<2x?x8xf32>) {
    weir_plan.run @copy range %c2 grain 1 reads (%cache, %end : memref<2x64x8xf32>, memref<1xi64>) writes (%p : memref<2x?x8xf32>)
    %q = weir_plan.alloc(%n) : memref<2x3x?xf32>
    weir_plan.run @dot range %c2 grain 1 reads (%x, %p : memref<2x3x8xf32>, memref<2x?x8xf32>) writes (%q : memref<2x3x?xf32>)
    scf.yield %p : memref<2x?x8xf32>
  }
  return
}
