// Buffers whose sizes follow from the feeds' share memory that is asked for once.
// REQUIRES: weir-opt
// RUN: weir-opt %s --weir-pool-buffers --weir-free-dynamic | FileCheck %s

// The second lives while the first and the third do, which do not meet: of a plan for usual sizes
// stays that both lie above it, whatever their sizes are.
// CHECK-LABEL: @chain
// CHECK: %[[N:.*]] = memref.dim
// CHECK: %[[C0:.*]] = arith.constant 0 : index
// CHECK: %[[WIDE:.*]] = weir_plan.padded_bytes memref<?x128xi8>(%[[N]])
// CHECK: %[[A:.*]] = weir_plan.padded_bytes memref<?x32xi8>(%[[N]])
// CHECK: %[[WITHA:.*]] = arith.addi %[[WIDE]], %[[A]]
// CHECK: %[[C:.*]] = weir_plan.padded_bytes memref<?x64xi8>(%[[N]])
// CHECK: %[[WITHC:.*]] = arith.addi %[[WIDE]], %[[C]]
// CHECK: %[[ALL:.*]] = arith.maxui %[[WITHA]], %[[WITHC]]
// A sum that no memory holds is the runtime's to refuse.
// CHECK: %[[IS:.*]] = arith.cmpi uge, %[[ALL]]
// CHECK: %[[BYTES:.*]] = arith.select %[[IS]], %{{.*}}, %[[ALL]]
// CHECK: %[[POOL:.*]] = weir_plan.alloc(%[[BYTES]]) : memref<?xi8>
// CHECK-NOT: weir_plan.alloc
// CHECK: weir_plan.piece %[[POOL]] at %[[WIDE]](%[[N]]) : memref<?xi8> to memref<?x8xf32>
// CHECK: weir_plan.piece %[[POOL]] at %[[C0]](%[[N]]) : memref<?xi8> to memref<?x32xf32>
// CHECK: weir_plan.piece %[[POOL]] at %[[WIDE]](%[[N]]) : memref<?xi8> to memref<?x16xf32>
// It ends with the last of them.
// CHECK: weir_plan.copy
// CHECK-NEXT: weir_plan.free %[[POOL]]
func.func @chain() attributes {weir_plan.feeds = [{type = tensor<?x8xf32>}], weir_plan.fetches = []} {
  %c0 = arith.constant 0 : index
  %x = weir_plan.feed 0 : memref<?x8xf32>
  %n = memref.dim %x, %c0 : memref<?x8xf32>
  %a = weir_plan.alloc(%n) : memref<?x8xf32>
  weir_plan.copy %x to %a : memref<?x8xf32>, memref<?x8xf32>
  %b = weir_plan.alloc(%n) : memref<?x32xf32>
  weir_plan.copy %a to %b : memref<?x8xf32>, memref<?x32xf32>
  %c = weir_plan.alloc(%n) : memref<?x16xf32>
  weir_plan.copy %b to %c : memref<?x32xf32>, memref<?x16xf32>
  return
}

// Sizes that are computed further down, and a check of them, come in front; a size of memory is
// the one that it was asked for with.
// CHECK-LABEL: @sizes
// CHECK: %[[N:.*]] = memref.dim
// CHECK: %[[M:.*]] = arith.addi %[[N]]
// CHECK: weir_plan.require
// CHECK: weir_plan.alloc({{.*}}) : memref<?xi8>
// CHECK-NOT: weir_plan.alloc
// CHECK: weir_plan.piece {{.*}}(%[[N]])
// CHECK: weir_plan.piece {{.*}}(%[[M]])
func.func @sizes() attributes {weir_plan.feeds = [{type = tensor<?x8xf32>}], weir_plan.fetches = []} {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %x = weir_plan.feed 0 : memref<?x8xf32>
  %n = memref.dim %x, %c0 : memref<?x8xf32>
  %a = weir_plan.alloc(%n) : memref<?x8xf32>
  weir_plan.copy %x to %a : memref<?x8xf32>, memref<?x8xf32>
  %an = memref.dim %a, %c0 : memref<?x8xf32>
  %m = arith.addi %an, %c3 : index
  %is = arith.cmpi ugt, %m, %c3 : index
  weir_plan.require %is, "x", "x", "no rows" code 3
  %b = weir_plan.alloc(%m) : memref<?x8xf32>
  weir_plan.copy %a to %b : memref<?x8xf32>, memref<?x8xf32>
  weir_plan.copy %b to %b : memref<?x8xf32>, memref<?x8xf32>
  return
}

// One of fixed size that lives when one of the others does not takes its place, and no arena.
// CHECK-LABEL: @fixed_in_place
// CHECK: %[[POOL:.*]] = weir_plan.alloc(%{{.*}}) : memref<?xi8>
// CHECK: weir_plan.piece %[[POOL]] at %[[C0:.*]](%[[N:.*]]) : memref<?xi8> to memref<?x1024xf32>
// CHECK: weir_plan.piece %[[POOL]] at %{{.*}}(%[[N]]) : memref<?xi8> to memref<?x1024xf32>
// CHECK-NOT: weir_plan.buffer
// CHECK: weir_plan.piece %[[POOL]] at %[[C0]]() : memref<?xi8> to memref<1x1024xf32>
func.func @fixed_in_place() attributes {weir_plan.feeds = [{type = tensor<?x1024xf32>}], weir_plan.fetches = []} {
  %c0 = arith.constant 0 : index
  %x = weir_plan.feed 0 : memref<?x1024xf32>
  %n = memref.dim %x, %c0 : memref<?x1024xf32>
  %a = weir_plan.alloc(%n) : memref<?x1024xf32>
  weir_plan.copy %x to %a : memref<?x1024xf32>, memref<?x1024xf32>
  %b = weir_plan.alloc(%n) : memref<?x1024xf32>
  weir_plan.copy %a to %b : memref<?x1024xf32>, memref<?x1024xf32>
  %c = weir_plan.buffer : memref<1x1024xf32>
  weir_plan.copy %b to %c : memref<?x1024xf32>, memref<1x1024xf32>
  weir_plan.copy %c to %c : memref<1x1024xf32>, memref<1x1024xf32>
  return
}

// One that lives with all of them is as well in the arena.
// CHECK-LABEL: @fixed_beside
// CHECK-COUNT-1: weir_plan.alloc
// CHECK: weir_plan.buffer : memref<1x1024xf32>
func.func @fixed_beside() attributes {weir_plan.feeds = [{type = tensor<?x1024xf32>}], weir_plan.fetches = []} {
  %c0 = arith.constant 0 : index
  %x = weir_plan.feed 0 : memref<?x1024xf32>
  %n = memref.dim %x, %c0 : memref<?x1024xf32>
  %a = weir_plan.alloc(%n) : memref<?x1024xf32>
  weir_plan.copy %x to %a : memref<?x1024xf32>, memref<?x1024xf32>
  %c = weir_plan.buffer : memref<1x1024xf32>
  weir_plan.copy %a to %c : memref<?x1024xf32>, memref<1x1024xf32>
  %b = weir_plan.alloc(%n) : memref<?x1024xf32>
  weir_plan.copy %a to %b : memref<?x1024xf32>, memref<?x1024xf32>
  weir_plan.copy %b to %c : memref<?x1024xf32>, memref<1x1024xf32>
  weir_plan.copy %c to %b : memref<1x1024xf32>, memref<?x1024xf32>
  return
}

// A size that follows from data is not known in front, a tensor that is sent is read later, what a
// loop carries has its own end, and the only one that is left is asked for as it was.
// CHECK-LABEL: @apart
// CHECK-COUNT-4: weir_plan.alloc(%{{.*}}) : memref<?xf32>
// CHECK-NOT: weir_plan.piece
// CHECK: return
func.func @apart() attributes {weir_plan.feeds = [{type = tensor<?xf32>}, {type = tensor<1xi64>}], weir_plan.fetches = []} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = weir_plan.feed 0 : memref<?xf32>
  %y = weir_plan.feed 1 : memref<1xi64>
  %n = memref.dim %x, %c0 : memref<?xf32>
  %lone = weir_plan.alloc(%n) : memref<?xf32>
  weir_plan.copy %x to %lone : memref<?xf32>, memref<?xf32>
  %word = weir_plan.load %y[%c0] : memref<1xi64> to i64
  %m = arith.index_cast %word : i64 to index
  %data = weir_plan.alloc(%m) : memref<?xf32>
  weir_plan.copy %lone to %data : memref<?xf32>, memref<?xf32>
  %sent = weir_plan.alloc(%n) : memref<?xf32>
  weir_plan.copy %data to %sent : memref<?xf32>, memref<?xf32>
  weir_plan.send 0, %c0, %sent : memref<?xf32>
  %begin = weir_plan.alloc(%n) : memref<?xf32>
  weir_plan.copy %data to %begin : memref<?xf32>, memref<?xf32>
  %r:2 = scf.while (%i = %c0, %v = %begin) : (index, memref<?xf32>) -> (index, memref<?xf32>) {
    %more = arith.cmpi slt, %i, %n : index
    scf.condition(%more) %i, %v : index, memref<?xf32>
  } do {
  ^bb0(%i: index, %v: memref<?xf32>):
    %next = arith.addi %i, %c1 : index
    scf.yield %next, %v : index, memref<?xf32>
  }
  return
}
