// Launches that run again to keep a limit.
// REQUIRES: weir-opt
// RUN: weir-opt %s --weir-recompute-launches=limit=13000 | FileCheck %s
// RUN: weir-opt --weir-recompute-launches=limit=20000 %s | FileCheck %s --check-prefix=FITS
// RUN: weir-opt --weir-recompute-launches=limit=9000 %s | FileCheck %s --check-prefix=TIGHT

// The first wide value waits across two others; it is made again from its small
// operand, behind a view of it that is made again, too.
// CHECK: weir_plan.recompute = {before = 16{{[0-9]+}} : i64, choices = [{bytes = {{[0-9]+}} : i64, copied = false, node = "{{.*}}", per_mille = {{[0-9]+}} : i64, times = 1 : i64}], fits = true, floor = {{[0-9]+}} : i64, floor_node = "{{.*}}", launches = 1 : i64, peak = {{[0-9]+}} : i64, per_mille
// CHECK-LABEL: @waits
// CHECK: %[[A:.*]] = weir_plan.launch @wide(%arg0)
// CHECK: %[[V:.*]] = weir.reshape %[[A]]
// CHECK-NEXT: weir_plan.launch @narrow(%[[V]])
// CHECK: weir_plan.launch @both
// CHECK: %[[B:.*]] = weir_plan.launch @wide(%arg0)
// CHECK: %[[W:.*]] = weir.reshape %[[B]]
// CHECK: weir_plan.launch @narrow(%[[W]])

// FITS: fits = true
// FITS-SAME: launches = 0
// FITS-LABEL: @waits
// FITS-COUNT-3: launch @wide
// FITS-NOT: launch @wide

// What two operands and a result need cannot be helped.
// TIGHT: fits = false
module {
weir_plan.kernel @wide schedule <loops> nodes "w" {
^bb0(%x: tensor<1xf32>):
  %shape = weir.constant dense<1024> : tensor<1xi64>
  %0 = weir.tile %x, %shape : (tensor<1xf32>, tensor<1xi64>) -> tensor<1024xf32>
  weir_plan.return %0 : tensor<1024xf32>
}
weir_plan.kernel @both schedule <loops> nodes "b" {
^bb0(%x: tensor<1024xf32>, %y: tensor<1024xf32>):
  %0 = weir.reverse %x {axes = array<i64: 0>} : (tensor<1024xf32>) -> tensor<1024xf32>
  %1 = weir.reverse %y {axes = array<i64: 0>} : (tensor<1024xf32>) -> tensor<1024xf32>
  %2 = weir.add %0, %1 : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  weir_plan.return %2 : tensor<1024xf32>
}
weir_plan.kernel @narrow schedule <loops> nodes "n" {
^bb0(%x: tensor<32x32xf32>):
  %0 = weir.reduce %x {axes = array<i64: 0, 1>, keep_dims = false, kind = "sum"} : (tensor<32x32xf32>) -> tensor<f32>
  weir_plan.return %0 : tensor<f32>
}
weir_plan.kernel @sum schedule <loops> nodes "s" {
^bb0(%x: tensor<1024xf32>):
  %0 = weir.reduce %x {axes = array<i64: 0>, keep_dims = true, kind = "sum"} : (tensor<1024xf32>) -> tensor<1xf32>
  weir_plan.return %0 : tensor<1xf32>
}
func.func @waits(%a: tensor<1xf32>, %b: tensor<1xf32>, %c: tensor<1xf32>) -> (tensor<f32>, tensor<f32>, tensor<1xf32>) {
  %shape = weir.constant dense<32> : tensor<2xi64>
  %0 = weir_plan.launch @wide(%a) : (tensor<1xf32>) -> tensor<1024xf32>
  %v = weir.reshape %0, %shape : (tensor<1024xf32>, tensor<2xi64>) -> tensor<32x32xf32>
  %n = weir_plan.launch @narrow(%v) : (tensor<32x32xf32>) -> tensor<f32>
  %1 = weir_plan.launch @wide(%b) : (tensor<1xf32>) -> tensor<1024xf32>
  %2 = weir_plan.launch @wide(%c) : (tensor<1xf32>) -> tensor<1024xf32>
  %3 = weir_plan.launch @both(%1, %2) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  %s = weir_plan.launch @sum(%3) : (tensor<1024xf32>) -> tensor<1xf32>
  %m = weir_plan.launch @narrow(%v) : (tensor<32x32xf32>) -> tensor<f32>
  return %n, %m, %s : tensor<f32>, tensor<f32>, tensor<1xf32>
}
}
