// What an optimizer makes of a variable of the host is written over the variable's own memory,
// where the launch alone reads it, at the same elements, and nobody needs the old value behind
// that.
// REQUIRES: weir-opt
// RUN: weir-opt %s --weir-reuse-buffers | FileCheck %s

// One copy less in each of three functions, and two in another.
// CHECK: weir_plan.reuse = {{[{].*}}copies = 5 : i64}
// CHECK: kernel @add_1.over1{{.*}}in_place = array<i64: 1>
// CHECK: kernel @scatter{{.*}}in_place = array<i64: 0>
// CHECK: kernel @moved{{.*}}in_place = array<i64: 1, 2>
module {
weir_plan.kernel @add_1 schedule <loops> nodes "a" {
^bb0(%g: tensor<4xf32>, %x: tensor<4xf32>):
  %0 = weir.add %x, %g : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  weir_plan.return %0 : tensor<4xf32>
}
weir_plan.kernel @scatter schedule <scatter, {parts = array<i64: 4>}> nodes "s" {
^bb0(%x: tensor<4xf32>, %i: tensor<2x1xi64>, %u: tensor<2xf32>):
  %0 = weir.scatter_nd %x, %i, %u {reduction = "add", wrap_negative = false, drop_out_of_bounds = false} : (tensor<4xf32>, tensor<2x1xi64>, tensor<2xf32>) -> tensor<4xf32>
  weir_plan.return %0 : tensor<4xf32>
}
weir_plan.kernel @moved schedule <loops> nodes "m" {
^bb0(%g: tensor<4xf32>, %m: tensor<4xf32>, %w: tensor<4xf32>):
  %0 = weir.add %m, %g : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = weir.sub %w, %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  weir_plan.return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
weir_plan.kernel @reverse schedule <loops> nodes "r" {
^bb0(%x: tensor<4xf32>):
  %0 = weir.reverse %x {axes = array<i64: 0>} : (tensor<4xf32>) -> tensor<4xf32>
  weir_plan.return %0 : tensor<4xf32>
}

// The assignment follows at once; what reads the new value reads the same memory.
// CHECK-LABEL: @update
// CHECK-NOT: weir_plan.buffer
// CHECK: %[[T:.*]] = weir_plan.variable_read 3, "v" {weir_plan.taken} : memref<4xf32>
// CHECK-NEXT: run @add_1{{.*}} reads(%[[G:.*]], %[[T]] {{.*}} writes(%[[T]] :
// CHECK-NEXT: variable_assign 3, "v", %[[T]] {weir_plan.taken}
// CHECK: run @reverse {{.*}} reads(%[[T]]
func.func @update() attributes {weir.device_index = 0 : i64} {
  %c4 = arith.constant 4 : index
  %g = weir_plan.feed 0 : memref<4xf32>
  %in = weir_plan.variable_read 3, "v" : memref<4xf32>
  %a = weir_plan.buffer : memref<4xf32>
  weir_plan.run @add_1 range %c4 grain 1 reads (%g, %in : memref<4xf32>, memref<4xf32>) writes (%a : memref<4xf32>)
  %other = weir_plan.variable_read 4, "w" : memref<4xf32>
  weir_plan.variable_assign 3, "v", %a : memref<4xf32>
  %f = weir_plan.fetch 0() : memref<4xf32>
  weir_plan.run @reverse range %c4 grain 1 reads (%a : memref<4xf32>) writes (%f : memref<4xf32>)
  return
}
// CHECK-LABEL: @rows
// CHECK: %[[T:.*]] = weir_plan.variable_read 3, "v" {weir_plan.taken}
// CHECK-NEXT: run @scatter{{.*}} reads(%[[T]], {{.*}} writes(%[[T]] :
func.func @rows() attributes {weir.device_index = 0 : i64} {
  %c1 = arith.constant 1 : index
  %i = weir_plan.feed 0 : memref<2x1xi64>
  %u = weir_plan.feed 1 : memref<2xf32>
  %in = weir_plan.variable_read 3, "v" : memref<4xf32>
  %a = weir_plan.buffer : memref<4xf32>
  weir_plan.run @scatter range %c1 grain 1 reads (%in, %i, %u : memref<4xf32>, memref<2x1xi64>, memref<2xf32>) writes (%a : memref<4xf32>)
  weir_plan.variable_assign 3, "v", %a : memref<4xf32>
  return
}
// One launch writes over two variables: asked for in the order of their slots, and given back so.
// CHECK-LABEL: @both
// CHECK: %[[W:.*]] = weir_plan.variable_read 3, "w" {weir_plan.taken}
// CHECK-NEXT: %[[M:.*]] = weir_plan.variable_read 5, "m" {weir_plan.taken}
// CHECK-NEXT: run @moved{{.*}} reads(%{{.*}}, %[[M]], %[[W]] {{.*}} writes(%[[M]], %[[W]] :
// CHECK-NEXT: variable_assign 3, "w", %[[W]] {weir_plan.taken}
// CHECK-NEXT: variable_assign 5, "m", %[[M]] {weir_plan.taken}
func.func @both() attributes {weir.device_index = 0 : i64} {
  %c4 = arith.constant 4 : index
  %g = weir_plan.feed 0 : memref<4xf32>
  %m = weir_plan.variable_read 5, "m" : memref<4xf32>
  %w = weir_plan.variable_read 3, "w" : memref<4xf32>
  %a = weir_plan.buffer : memref<4xf32>
  %b = weir_plan.buffer : memref<4xf32>
  weir_plan.run @moved range %c4 grain 1 reads (%g, %m, %w : memref<4xf32>, memref<4xf32>, memref<4xf32>) writes (%a, %b : memref<4xf32>, memref<4xf32>)
  weir_plan.variable_assign 5, "m", %a : memref<4xf32>
  weir_plan.variable_assign 3, "w", %b : memref<4xf32>
  return
}
// Two assignments of one step: the first one's result is read by the second alone.
// CHECK-LABEL: @twice
// CHECK: variable_read 3, "v" {weir_plan.taken}
// CHECK-NEXT: run @add_1
// CHECK-NEXT: variable_assign 3, "v", %{{.*}} {weir_plan.taken}
// CHECK: %[[SECOND:.*]] = weir_plan.buffer
// CHECK: variable_assign 3, "w", %[[SECOND]] {weir_plan.locations
func.func @twice() attributes {weir.device_index = 0 : i64} {
  %c4 = arith.constant 4 : index
  %g = weir_plan.feed 0 : memref<4xf32>
  %in = weir_plan.variable_read 3, "v" : memref<4xf32>
  %a = weir_plan.buffer : memref<4xf32>
  weir_plan.run @add_1 range %c4 grain 1 reads (%g, %in : memref<4xf32>, memref<4xf32>) writes (%a : memref<4xf32>)
  weir_plan.variable_assign 3, "v", %a : memref<4xf32>
  %again = weir_plan.variable_read 3, "w" : memref<4xf32>
  %b = weir_plan.buffer : memref<4xf32>
  weir_plan.run @add_1 range %c4 grain 1 reads (%g, %again : memref<4xf32>, memref<4xf32>) writes (%b : memref<4xf32>)
  weir_plan.variable_assign 3, "w", %b : memref<4xf32>
  %f = weir_plan.fetch 0() : memref<4xf32>
  weir_plan.run @reverse range %c4 grain 1 reads (%a : memref<4xf32>) writes (%f : memref<4xf32>)
  return
}
// The old value is read behind the launch.
// CHECK-LABEL: @late_reader
// CHECK-NOT: weir_plan.taken
func.func @late_reader() attributes {weir.device_index = 0 : i64} {
  %c4 = arith.constant 4 : index
  %g = weir_plan.feed 0 : memref<4xf32>
  %in = weir_plan.variable_read 3, "v" : memref<4xf32>
  %a = weir_plan.buffer : memref<4xf32>
  weir_plan.run @add_1 range %c4 grain 1 reads (%g, %in : memref<4xf32>, memref<4xf32>) writes (%a : memref<4xf32>)
  weir_plan.variable_assign 3, "v", %a : memref<4xf32>
  %f = weir_plan.fetch 0() : memref<4xf32>
  weir_plan.run @reverse range %c4 grain 1 reads (%in : memref<4xf32>) writes (%f : memref<4xf32>)
  return
}
// Elements change their places.
// CHECK-LABEL: @elsewhere
// CHECK-NOT: weir_plan.taken
func.func @elsewhere() attributes {weir.device_index = 0 : i64} {
  %c4 = arith.constant 4 : index
  %in = weir_plan.variable_read 3, "v" : memref<4xf32>
  %a = weir_plan.buffer : memref<4xf32>
  weir_plan.run @reverse range %c4 grain 1 reads (%in : memref<4xf32>) writes (%a : memref<4xf32>)
  weir_plan.variable_assign 3, "v", %a : memref<4xf32>
  return
}
// A check between the two may forbid the assignment.
// CHECK-LABEL: @checked
// CHECK-NOT: weir_plan.taken
func.func @checked(%good: i1) attributes {weir.device_index = 0 : i64} {
  %c4 = arith.constant 4 : index
  %g = weir_plan.feed 0 : memref<4xf32>
  %in = weir_plan.variable_read 3, "v" : memref<4xf32>
  %a = weir_plan.buffer : memref<4xf32>
  weir_plan.run @add_1 range %c4 grain 1 reads (%g, %in : memref<4xf32>, memref<4xf32>) writes (%a : memref<4xf32>)
  weir_plan.require %good, "n", "assert", "no" code 3
  weir_plan.variable_assign 3, "v", %a : memref<4xf32>
  return
}
// Who sent the old value may still read it.
// CHECK-LABEL: @sent
// CHECK-NOT: weir_plan.taken
func.func @sent() attributes {weir.device_index = 0 : i64} {
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0 : index
  %g = weir_plan.feed 0 : memref<4xf32>
  %in = weir_plan.variable_read 3, "v" : memref<4xf32>
  weir_plan.send 0, %zero, %in : memref<4xf32>
  %a = weir_plan.buffer : memref<4xf32>
  weir_plan.run @add_1 range %c4 grain 1 reads (%g, %in : memref<4xf32>, memref<4xf32>) writes (%a : memref<4xf32>)
  weir_plan.variable_assign 3, "v", %a : memref<4xf32>
  return
}
}
