// Buffers of open size that nothing reads any more are written over, and handed on.
// REQUIRES: weir-opt
// RUN: weir-opt %s --weir-reuse-buffers --weir-free-dynamic | FileCheck %s

weir_plan.kernel @relu schedule <loops, {grain = 1 : i64}> nodes "relu" {
^bb0(%x: tensor<?x8xf32>):
  %zero = weir.constant dense<0.0> : tensor<f32>
  %r = weir.maximum %x, %zero : (tensor<?x8xf32>, tensor<f32>) -> tensor<?x8xf32>
  weir_plan.return %r : tensor<?x8xf32>
}

// The copy of the feed is the step's own: the kernel writes over it.
// CHECK-LABEL: @chain
// CHECK: %[[A:.*]] = weir_plan.alloc
// CHECK-NOT: weir_plan.alloc
// CHECK: weir_plan.run @relu{{.*}} reads(%[[A]] : {{.*}} writes(%[[A]] :
// CHECK: weir_plan.free %[[A]]
func.func @chain() attributes {weir_plan.feeds = [{type = tensor<?x8xf32>}], weir_plan.fetches = []} {
  %c0 = arith.constant 0 : index
  %x = weir_plan.feed 0 : memref<?x8xf32>
  %n = memref.dim %x, %c0 : memref<?x8xf32>
  %a = weir_plan.alloc(%n) : memref<?x8xf32>
  weir_plan.copy %x to %a : memref<?x8xf32>, memref<?x8xf32>
  %b = weir_plan.alloc(%n) : memref<?x8xf32>
  weir_plan.run @relu range %n grain 1 reads(%a : memref<?x8xf32>) writes(%b : memref<?x8xf32>)
  return
}

// A feed is the caller's, another size may be another, and what is read later stays.
// CHECK-LABEL: @kept
// CHECK-COUNT-3: weir_plan.alloc
func.func @kept() attributes {weir_plan.feeds = [{type = tensor<?x8xf32>}, {type = tensor<?x8xf32>}], weir_plan.fetches = []} {
  %c0 = arith.constant 0 : index
  %x = weir_plan.feed 0 : memref<?x8xf32>
  %n = memref.dim %x, %c0 : memref<?x8xf32>
  %y = weir_plan.feed 1 : memref<?x8xf32>
  %m = memref.dim %y, %c0 : memref<?x8xf32>
  %a = weir_plan.alloc(%n) : memref<?x8xf32>
  weir_plan.run @relu range %n grain 1 reads(%x : memref<?x8xf32>) writes(%a : memref<?x8xf32>)
  %b = weir_plan.alloc(%m) : memref<?x8xf32>
  weir_plan.run @relu range %n grain 1 reads(%a : memref<?x8xf32>) writes(%b : memref<?x8xf32>)
  %c = weir_plan.alloc(%m) : memref<?x8xf32>
  weir_plan.run @relu range %n grain 1 reads(%b : memref<?x8xf32>) writes(%c : memref<?x8xf32>)
  weir_plan.copy %b to %c : memref<?x8xf32>, memref<?x8xf32>
  return
}

// What a loop carries is computed where it lies, and the next value is not copied.
// CHECK-LABEL: @loop
// CHECK: scf.while
// CHECK: ^bb0(%[[I:.*]]: index, %[[V:.*]]: memref<?x8xf32>):
// CHECK-NOT: weir_plan.alloc
// CHECK-NOT: weir_plan.copy
// CHECK-NOT: weir_plan.free
// CHECK: weir_plan.run @relu{{.*}} reads(%[[V]] : {{.*}} writes(%[[V]] :
// CHECK: scf.yield %{{.*}}, %[[V]]
func.func @loop() attributes {weir_plan.feeds = [{type = tensor<?x8xf32>}], weir_plan.fetches = []} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %x = weir_plan.feed 0 : memref<?x8xf32>
  %n = memref.dim %x, %c0 : memref<?x8xf32>
  %a = weir_plan.alloc(%n) : memref<?x8xf32>
  weir_plan.copy %x to %a : memref<?x8xf32>, memref<?x8xf32>
  %end:2 = scf.while (%i = %c0, %v = %a) : (index, memref<?x8xf32>) -> (index, memref<?x8xf32>) {
    %more = arith.cmpi slt, %i, %c9 : index
    scf.condition(%more) %i, %v : index, memref<?x8xf32>
  } do {
  ^bb0(%i: index, %v: memref<?x8xf32>):
    %rows = memref.dim %v, %c0 : memref<?x8xf32>
    %r = weir_plan.alloc(%rows) : memref<?x8xf32>
    weir_plan.run @relu range %rows grain 1 reads(%v : memref<?x8xf32>) writes(%r : memref<?x8xf32>)
    %next = arith.addi %i, %c1 : index
    %copy = weir_plan.alloc(%rows) : memref<?x8xf32>
    weir_plan.copy %r to %copy : memref<?x8xf32>, memref<?x8xf32>
    weir_plan.free %v : memref<?x8xf32>
    scf.yield %next, %copy : index, memref<?x8xf32>
  }
  return
}

// A value that is written over and goes no further is freed all the same.
// CHECK-LABEL: @dropped
// CHECK: ^bb0(%{{.*}}: index, %[[V:.*]]: memref<?x8xf32>):
// CHECK: writes(%[[V]] :
// CHECK: weir_plan.free %[[V]]
// CHECK: scf.yield
func.func @dropped() attributes {weir_plan.feeds = [{type = tensor<?x8xf32>}], weir_plan.fetches = []} {
  %c0 = arith.constant 0 : index
  %c9 = arith.constant 9 : index
  %x = weir_plan.feed 0 : memref<?x8xf32>
  %n = memref.dim %x, %c0 : memref<?x8xf32>
  %a = weir_plan.alloc(%n) : memref<?x8xf32>
  weir_plan.copy %x to %a : memref<?x8xf32>, memref<?x8xf32>
  %end:2 = scf.while (%i = %c0, %v = %a) : (index, memref<?x8xf32>) -> (index, memref<?x8xf32>) {
    %more = arith.cmpi slt, %i, %c9 : index
    scf.condition(%more) %i, %v : index, memref<?x8xf32>
  } do {
  ^bb0(%i: index, %v: memref<?x8xf32>):
    %rows = memref.dim %v, %c0 : memref<?x8xf32>
    %r = weir_plan.alloc(%rows) : memref<?x8xf32>
    weir_plan.run @relu range %rows grain 1 reads(%v : memref<?x8xf32>) writes(%r : memref<?x8xf32>)
    %copy = weir_plan.alloc(%rows) : memref<?x8xf32>
    weir_plan.copy %x to %copy : memref<?x8xf32>, memref<?x8xf32>
    weir_plan.free %v : memref<?x8xf32>
    scf.yield %rows, %copy : index, memref<?x8xf32>
  }
  return
}
