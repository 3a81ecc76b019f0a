// Buffers of run-time size whose sizes have bounds.
// REQUIRES: weir-opt
// RUN: weir-opt %s --weir-bound-buffers | FileCheck %s

// CHECK: weir_plan.bounded = {dynamic = 6 : i64, planned = 3 : i64}

// The feed has 1 to 64 rows: so has the buffer, and twice as many its pairs.
// CHECK-LABEL: @rows
// CHECK: %[[N:.*]] = memref.dim
// CHECK: %[[B:.*]] = weir_plan.buffer : memref<64x8xf32>
// CHECK: %[[V:.*]] = weir_plan.view %[[B]][%[[N]]] : memref<64x8xf32> to memref<?x8xf32>
// CHECK: weir_plan.copy %{{.*}} to %[[V]]
// CHECK: %[[TWICE:.*]] = arith.muli
// CHECK: %[[B2:.*]] = weir_plan.buffer : memref<128x8xf32>
// CHECK: weir_plan.view %[[B2]][%[[TWICE]]]
// A size is a view's size, too, and the least of two is bounded by either.
// CHECK: weir_plan.buffer : memref<7xf32>
func.func @rows() attributes {weir_plan.feeds = [{type = tensor<?x8xf32>, weir.dims = ["N", ""], weir.lower = [1, 8], weir.upper = [64, 8]}], weir_plan.fetches = []} {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c7 = arith.constant 7 : index
  %x = weir_plan.feed 0 : memref<?x8xf32>
  %n = memref.dim %x, %c0 : memref<?x8xf32>
  %a = weir_plan.alloc(%n) : memref<?x8xf32>
  weir_plan.copy %x to %a : memref<?x8xf32>, memref<?x8xf32>
  %twice = arith.muli %n, %c2 : index
  %p = weir_plan.alloc(%twice) : memref<?x8xf32>
  weir_plan.copy %a to %p : memref<?x8xf32>, memref<?x8xf32>
  %pn = memref.dim %p, %c0 : memref<?x8xf32>
  %few = arith.minsi %pn, %c7 : index
  %q = weir_plan.alloc(%few) : memref<?xf32>
  weir_plan.copy %q to %q : memref<?xf32>, memref<?xf32>
  return
}

// No bound, and a size that may be negative.
// CHECK-LABEL: @open
// CHECK-COUNT-2: weir_plan.alloc
// CHECK-NOT: weir_plan.buffer
func.func @open() attributes {weir_plan.feeds = [{type = tensor<?xf32>}, {type = tensor<?xf32>, weir.lower = [0], weir.upper = [4]}], weir_plan.fetches = []} {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %x = weir_plan.feed 0 : memref<?xf32>
  %n = memref.dim %x, %c0 : memref<?xf32>
  %a = weir_plan.alloc(%n) : memref<?xf32>
  weir_plan.copy %x to %a : memref<?xf32>, memref<?xf32>
  %y = weir_plan.feed 1 : memref<?xf32>
  %m = memref.dim %y, %c0 : memref<?xf32>
  %less = arith.subi %m, %c2 : index
  %b = weir_plan.alloc(%less) : memref<?xf32>
  weir_plan.copy %b to %b : memref<?xf32>, memref<?xf32>
  return
}

// Bounds of a type's width are none, nor is anything planned without feeds that
// have bounds.
// CHECK-LABEL: @narrow
// CHECK-COUNT-2: weir_plan.alloc
// CHECK-NOT: weir_plan.buffer
func.func @narrow() attributes {weir_plan.feeds = [{type = tensor<?xf32>}, {type = tensor<?xf32>, weir.lower = [0], weir.upper = [4]}], weir_plan.fetches = []} {
  %c0 = arith.constant 0 : index
  %x = weir_plan.feed 0 : memref<?xf32>
  %n = memref.dim %x, %c0 : memref<?xf32>
  %i = arith.index_cast %n : index to i32
  %z = arith.constant 0 : i32
  %p = arith.maxsi %i, %z : i32
  %m = arith.index_cast %p : i32 to index
  %a = weir_plan.alloc(%m) : memref<?xf32>
  weir_plan.copy %x to %a : memref<?xf32>, memref<?xf32>
  %c1 = arith.constant 1 : index
  %less = arith.subi %m, %c1 : index
  %least = arith.maxsi %less, %c0 : index
  %b = weir_plan.alloc(%least) : memref<?xf32>
  weir_plan.copy %b to %b : memref<?xf32>, memref<?xf32>
  return
}
// CHECK-LABEL: @few
// CHECK: weir_plan.alloc
// CHECK-NOT: weir_plan.buffer
func.func @few() attributes {weir_plan.feeds = [{type = tensor<?xf32>}], weir_plan.fetches = []} {
  %c0 = arith.constant 0 : index
  %c7 = arith.constant 7 : index
  %x = weir_plan.feed 0 : memref<?xf32>
  %n = memref.dim %x, %c0 : memref<?xf32>
  %m = arith.minsi %n, %c7 : index
  %a = weir_plan.alloc(%m) : memref<?xf32>
  weir_plan.copy %x to %a : memref<?xf32>, memref<?xf32>
  return
}

// What a region hands on is freed by whoever receives it.
// CHECK-LABEL: @handed
// CHECK: scf.if
// CHECK: weir_plan.alloc
// CHECK: scf.yield
func.func @handed(%c: i1) attributes {weir_plan.feeds = [{type = tensor<?xf32>, weir.lower = [0], weir.upper = [4]}], weir_plan.fetches = []} {
  %c0 = arith.constant 0 : index
  %x = weir_plan.feed 0 : memref<?xf32>
  %n = memref.dim %x, %c0 : memref<?xf32>
  %r = scf.if %c -> (memref<?xf32>) {
    %a = weir_plan.alloc(%n) : memref<?xf32>
    weir_plan.copy %x to %a : memref<?xf32>, memref<?xf32>
    scf.yield %a : memref<?xf32>
  } else {
    scf.yield %x : memref<?xf32>
  }
  weir_plan.copy %r to %r : memref<?xf32>, memref<?xf32>
  return
}
