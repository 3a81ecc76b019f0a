// What several devices reduce is waited for where it is read, or where something comes to lie over it, and no sooner.
// REQUIRES: weir-opt
// RUN: weir-opt --weir-await-collectives %s | FileCheck %s

module attributes {weir_plan.devices = ["/job:localhost/replica:0/task:0/device:CPU:0", "/job:localhost/replica:0/task:0/device:GPU:0"]} {
  weir_plan.kernel @work schedule <loops> nodes "w" {
  ^bb0(%a: tensor<64xf32>):
    %0 = weir.neg %a : (tensor<64xf32>) -> tensor<64xf32>
    weir_plan.return %0 : tensor<64xf32>
  }

  // CHECK-LABEL: @beside
  // CHECK: weir_plan.all_reduce 0
  // CHECK: else
  // CHECK: weir_plan.run @work
  // Work that writes other buffers goes on beside it, and may read what was given.
  // CHECK: }
  // CHECK-NEXT: weir_plan.run @work
  // CHECK-NEXT: weir_plan.run @work
  // CHECK-NEXT: weir_plan.await_reduce 0
  // CHECK-NEXT: weir_plan.run @work
  // CHECK-NOT: weir_plan.await_reduce
  // CHECK: return
  func.func @beside() attributes {weir.device_index = 1 : i64, weir_plan.feeds = [], weir_plan.fetches = []} {
    %c1 = arith.constant 1 : index
    %a = weir_plan.buffer at 0 : memref<64xf32>
    %b = weir_plan.buffer at 256 : memref<64xf32>
    %c = weir_plan.buffer at 512 : memref<64xf32>
    %d = weir_plan.buffer at 768 : memref<64xf32>
    %has = weir_plan.has_collective 0 : i1
    scf.if %has {
      weir_plan.all_reduce 0, %a to %b : memref<64xf32> : memref<64xf32>
    } else {
      weir_plan.run @work range %c1 grain 1 reads(%a : memref<64xf32>) writes(%b : memref<64xf32>)
    }
    weir_plan.run @work range %c1 grain 1 reads(%c : memref<64xf32>) writes(%d : memref<64xf32>)
    weir_plan.run @work range %c1 grain 1 reads(%a : memref<64xf32>) writes(%c : memref<64xf32>)
    weir_plan.run @work range %c1 grain 1 reads(%b : memref<64xf32>) writes(%d : memref<64xf32>)
    return
  }

  // What lies over the value that is given waits as well.
  // CHECK-LABEL: @over
  // CHECK: weir_plan.all_reduce 0
  // CHECK: weir_plan.run @work
  // CHECK-NEXT: weir_plan.await_reduce 0
  // CHECK-NEXT: weir_plan.run @work
  // CHECK-NOT: weir_plan.await_reduce
  // CHECK: return
  func.func @over() attributes {weir.device_index = 1 : i64, weir_plan.feeds = [], weir_plan.fetches = []} {
    %c1 = arith.constant 1 : index
    %a = weir_plan.buffer at 0 : memref<64xf32>
    %b = weir_plan.buffer at 256 : memref<64xf32>
    %c = weir_plan.buffer at 512 : memref<64xf32>
    %d = weir_plan.buffer at 128 : memref<64xf32>
    weir_plan.all_reduce 0, %a to %b : memref<64xf32> : memref<64xf32>
    weir_plan.run @work range %c1 grain 1 reads(%a : memref<64xf32>) writes(%c : memref<64xf32>)
    weir_plan.run @work range %c1 grain 1 reads(%c : memref<64xf32>) writes(%d : memref<64xf32>)
    return
  }

  // A loop's body waits before it comes by again, a step before it ends.
  // CHECK-LABEL: @again
  // CHECK: weir_plan.all_reduce 0
  // CHECK-NEXT: weir_plan.await_reduce 0
  // CHECK-NEXT: scf.yield
  // CHECK: weir_plan.all_reduce 1
  // CHECK-NEXT: weir_plan.await_reduce 1
  // CHECK-NEXT: return
  func.func @again() attributes {weir.device_index = 1 : i64, weir_plan.feeds = [], weir_plan.fetches = []} {
    %go = arith.constant false
    %a = weir_plan.buffer at 0 : memref<64xf32>
    %b = weir_plan.buffer at 256 : memref<64xf32>
    scf.while : () -> () {
      scf.condition(%go)
    } do {
      weir_plan.all_reduce 0, %a to %b : memref<64xf32> : memref<64xf32>
      scf.yield
    }
    weir_plan.all_reduce 1, %a to %b : memref<64xf32> : memref<64xf32>
    return
  }
}
