// Large tensors that go to other tasks are read where the step has them, which
// waits before it writes there again.
// REQUIRES: weir-opt
// RUN: weir-opt %s --weir-await-sends --split-input-file | FileCheck %s

// Of three large ones two are under way at once: both have been read before the
// third goes, and that one at the block's end. A small one, one to a device of the
// same task, and a control edge are sent as ever.
// CHECK-LABEL: @straight
// CHECK: %[[A:.*]] = weir_plan.buffer : memref<8192xf32>
// CHECK: send 0, {{.*}}, %[[A]] : memref<8192xf32> kept
// CHECK-NOT: await_sent
// CHECK: %[[B:.*]] = weir_plan.view %[[A2:.*]][]
// CHECK: send 0, {{.*}}, %[[B]] : memref<64x128xf32> kept
// CHECK: await_sent %[[A]], %[[A2]] :
// CHECK-NEXT: send 0, {{.*}}, %[[C:.*]] : memref<8192xf32> kept
// CHECK: send 0, {{.*}} : memref<16xf32>{{$}}
// CHECK: send 1, {{.*}} : memref<8192xf32>{{$}}
// CHECK: send 0, %{{[a-z0-9_]*}}{{$}}
// CHECK: await_sent %[[C]] :
// CHECK-NEXT: return
module attributes {weir_plan.devices = ["/job:w/replica:0/task:0/device:CPU:0", "/job:w/replica:0/task:0/device:CPU:1", "/job:w/replica:0/task:1/device:CPU:0"],
                   weir_plan.edges = [{name = "a", source = 0 : i64, destination = 2 : i64}, {name = "b", source = 0 : i64, destination = 1 : i64}]} {
  func.func @straight() {
    %c0 = arith.constant 0 : index
    %a = weir_plan.buffer : memref<8192xf32>
    weir_plan.send 0, %c0, %a : memref<8192xf32>
    %other = weir_plan.buffer : memref<8192xf32>
    %b = weir_plan.view %other [] : memref<8192xf32> to memref<64x128xf32>
    weir_plan.send 0, %c0, %b : memref<64x128xf32>
    %c = weir_plan.buffer : memref<8192xf32>
    weir_plan.send 0, %c0, %c : memref<8192xf32>
    %few = weir_plan.buffer : memref<16xf32>
    weir_plan.send 0, %c0, %few : memref<16xf32>
    weir_plan.send 1, %c0, %c : memref<8192xf32>
    weir_plan.send 0, %c0
    return
  }
}

// -----

// What stays to the run's end is waited for by nobody: a feed, a fetch.
// CHECK-LABEL: @stays
// CHECK: send 0, {{.*}} kept
// CHECK: send 0, {{.*}} kept
// CHECK-NOT: await_sent
module attributes {weir_plan.devices = ["/job:w/task:0/device:CPU:0", "/job:w/task:1/device:CPU:0"],
                   weir_plan.edges = [{name = "a", source = 0 : i64, destination = 1 : i64}]} {
  func.func @stays() {
    %c0 = arith.constant 0 : index
    %in = weir_plan.feed 0 : memref<8192xf32>
    %out = weir_plan.fetch 0 () : memref<8192xf32>
    weir_plan.send 0, %c0, %in : memref<8192xf32>
    weir_plan.send 0, %c0, %out : memref<8192xf32>
    return
  }
}

// -----

// What a loop carries is sent from its own buffer: the wait comes before the next
// value is copied there, and before a dynamic one is freed.
// CHECK-LABEL: @loop
// CHECK: send 0, {{.*}}, %[[CARRIED:.*]] : memref<8192xf32> kept
// CHECK: await_sent %[[CARRIED]]
// CHECK-NEXT: copy %{{.*}} to %[[CARRIED]]
// CHECK: send 0, {{.*}}, %[[DYNAMIC:.*]] : memref<?xf32> kept
// CHECK-NEXT: await_sent %[[DYNAMIC]]
// CHECK-NEXT: free %[[DYNAMIC]]
module attributes {weir_plan.devices = ["/job:w/task:0/device:CPU:0", "/job:w/task:1/device:CPU:0"],
                   weir_plan.edges = [{name = "a", source = 0 : i64, destination = 1 : i64}]} {
  func.func @loop(%again: i1, %size: index) {
    %next_one = arith.constant -1 : index
    %carried = weir_plan.buffer : memref<8192xf32>
    scf.while : () -> () {
      scf.condition(%again)
    } do {
      weir_plan.send 0, %next_one, %carried : memref<8192xf32>
      %next = weir_plan.buffer : memref<8192xf32>
      weir_plan.copy %next to %carried : memref<8192xf32>, memref<8192xf32>
      %dynamic = weir_plan.alloc(%size) : memref<?xf32>
      weir_plan.send 0, %next_one, %dynamic : memref<?xf32>
      weir_plan.free %dynamic : memref<?xf32>
      scf.yield
    }
    return
  }
}
