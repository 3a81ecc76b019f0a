// Buffers of run-time size end with their last use.
// REQUIRES: weir-opt
// RUN: weir-opt --weir-free-dynamic %s | FileCheck %s

// CHECK-LABEL: @last_use
// CHECK: %[[A:.*]] = weir_plan.alloc
// CHECK: weir_plan.copy %{{.*}} to %[[A]]
// CHECK-NEXT: weir_plan.free %[[A]]
// A buffer of the arena has no end of its own, and a feed is the caller's.
// CHECK-NOT: weir_plan.free
// CHECK: return
func.func @last_use() attributes {weir_plan.feeds = [{type = tensor<?xf32>}], weir_plan.fetches = []} {
  %c0 = arith.constant 0 : index
  %x = weir_plan.feed 0 : memref<?xf32>
  %n = memref.dim %x, %c0 : memref<?xf32>
  %a = weir_plan.alloc(%n) : memref<?xf32>
  weir_plan.copy %x to %a : memref<?xf32>, memref<?xf32>
  %b = weir_plan.buffer : memref<64xf32>
  return
}

// What a view looks at lives as long as the view.
// CHECK-LABEL: @view
// CHECK: %[[A:.*]] = weir_plan.alloc
// CHECK: %[[V:.*]] = weir_plan.view %[[A]]
// CHECK-NOT: weir_plan.free
// CHECK: weir_plan.copy %{{.*}} to %[[V]]
// CHECK-NEXT: weir_plan.free %[[A]]
func.func @view() attributes {weir_plan.feeds = [{type = tensor<?xf32>}], weir_plan.fetches = []} {
  %c0 = arith.constant 0 : index
  %x = weir_plan.feed 0 : memref<?xf32>
  %n = memref.dim %x, %c0 : memref<?xf32>
  %a = weir_plan.alloc(%n) : memref<?xf32>
  %v = weir_plan.view %a[%n] : memref<?xf32> to memref<?xf32>
  weir_plan.copy %x to %v : memref<?xf32>, memref<?xf32>
  return
}
