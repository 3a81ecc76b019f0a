// Sizes that are the same are one value, and checks that cannot fail go.
// REQUIRES: weir-opt
// RUN: weir-opt %s --weir-fold-sizes --canonicalize --cse | FileCheck %s

// An image padded by one on each side and seen through a window of three is as high as before, as
// is what a window of one at every second line and one of three with a border leave of it.
// CHECK-LABEL: func.func @same
// CHECK: %[[H:.*]] = memref.dim
// CHECK-NOT: weir_plan.require
// CHECK: weir_plan.alloc(%[[H]])
// CHECK: %[[MORE:.*]] = arith.addi %[[H]], %c1
// CHECK: %[[HALF:.*]] = arith.divui %[[MORE]], %c2
// CHECK: weir_plan.alloc(%[[HALF]])
// CHECK-NOT: arith.select
// CHECK: return
func.func @same() attributes {weir_plan.feeds = [{type = tensor<?xf32>}], weir_plan.fetches = []} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %cm1 = arith.constant -1 : index
  %x = weir_plan.feed 0 : memref<?xf32>
  %h = memref.dim %x, %c0 : memref<?xf32>
  %padded = arith.addi %h, %c2 : index
  %isSize = arith.cmpi sgt, %padded, %cm1 : index
  weir_plan.require %isSize, "pad", "pad", "negative" code 3
  %size = arith.maxsi %padded, %c0 : index
  %room = arith.subi %size, %c3 : index
  %count = arith.addi %room, %c1 : index
  %windows = arith.maxsi %count, %c0 : index
  %one = arith.cmpi eq, %windows, %c1 : index
  %isSame = arith.cmpi eq, %windows, %h : index
  %either = arith.ori %isSame, %one : i1
  weir_plan.require %either, "add", "add", "sizes differ" code 3
  %sum = arith.select %one, %h, %windows : index
  %a = weir_plan.alloc(%sum) : memref<?xf32>
  weir_plan.copy %x to %a : memref<?xf32>, memref<?xf32>
  %left = arith.addi %h, %c1 : index
  %leftHalf = arith.divui %left, %c2 : index
  %room2 = arith.subi %size, %c3 : index
  %right = arith.addi %room2, %c2 : index
  %rightMost = arith.maxsi %right, %c0 : index
  %rightHalf = arith.divui %rightMost, %c2 : index
  %isHalf = arith.cmpi eq, %leftHalf, %c1 : index
  %half = arith.select %isHalf, %rightHalf, %leftHalf : index
  %b = weir_plan.alloc(%half) : memref<?xf32>
  weir_plan.copy %a to %b : memref<?xf32>, memref<?xf32>
  return
}

// Less than a size may be less than nothing, two feeds have sizes of their own, and what is no
// feed's may be anything that a size can be.
// CHECK-LABEL: func.func @others
// CHECK: arith.maxsi
// CHECK: arith.select
// CHECK: arith.maxsi
// CHECK: return
func.func @others() attributes {weir_plan.feeds = [{type = tensor<?xf32>}, {type = tensor<?xf32>}], weir_plan.fetches = []} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = weir_plan.feed 0 : memref<?xf32>
  %y = weir_plan.feed 1 : memref<?xf32>
  %n = memref.dim %x, %c0 : memref<?xf32>
  %m = memref.dim %y, %c0 : memref<?xf32>
  %less = arith.subi %n, %c1 : index
  %size = arith.maxsi %less, %c0 : index
  %isOne = arith.cmpi eq, %size, %c1 : index
  %sum = arith.select %isOne, %m, %size : index
  %a = weir_plan.alloc(%sum) : memref<?xf32>
  weir_plan.copy %x to %a : memref<?xf32>, memref<?xf32>
  %v = weir_plan.variable_read 0, "v" : memref<?xf32>
  %k = memref.dim %v, %c0 : memref<?xf32>
  %more = arith.addi %k, %c1 : index
  %most = arith.maxsi %more, %c0 : index
  %b = weir_plan.alloc(%most) : memref<?xf32>
  weir_plan.copy %v to %b : memref<?xf32>, memref<?xf32>
  return
}

// What a branch computes is not there behind it.
// CHECK-LABEL: func.func @branches
// CHECK: scf.if
// CHECK: arith.addi
// CHECK: }
// CHECK: arith.addi
func.func @branches(%flag: i1) attributes {weir_plan.feeds = [{type = tensor<?xf32>}], weir_plan.fetches = []} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = weir_plan.feed 0 : memref<?xf32>
  %n = memref.dim %x, %c0 : memref<?xf32>
  scf.if %flag {
    %more = arith.addi %n, %c1 : index
    %a = weir_plan.alloc(%more) : memref<?xf32>
    weir_plan.copy %x to %a : memref<?xf32>, memref<?xf32>
  }
  %again = arith.addi %n, %c1 : index
  %b = weir_plan.alloc(%again) : memref<?xf32>
  weir_plan.copy %x to %b : memref<?xf32>, memref<?xf32>
  return
}

// Numbers of more than 64 bits, as hashes have, are left alone, and no size is asked of them.
// CHECK-LABEL: func.func @wide
// CHECK: arith.subi {{.*}} : i128
// CHECK: weir_plan.alloc
func.func @wide() attributes {weir_plan.feeds = [{type = tensor<?xf32>}], weir_plan.fetches = []} {
  %c0 = arith.constant 0 : index
  %large = arith.constant 36893488147419103245 : i128
  %c64 = arith.constant 64 : i128
  %x = weir_plan.feed 0 : memref<?xf32>
  %h = memref.dim %x, %c0 : memref<?xf32>
  %word = arith.index_cast %h : index to i64
  %wide = arith.extui %word : i64 to i128
  %less = arith.subi %wide, %large : i128
  %high = arith.shrui %less, %c64 : i128
  %back = arith.trunci %high : i128 to i64
  %size = arith.index_cast %back : i64 to index
  %a = weir_plan.alloc(%size) : memref<?xf32>
  weir_plan.free %a : memref<?xf32>
  return
}
