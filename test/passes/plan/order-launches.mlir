// Launches in an order that needs little memory.
// REQUIRES: weir-opt
// RUN: weir-opt %s --weir-order-launches | FileCheck %s
// RUN: weir-opt %s --weir-order-launches=schedule=latency | FileCheck %s --check-prefix=LATENCY

// Each wide value is narrowed before the next wide one is made: 4096 bytes of it
// and two narrow ones at most, instead of two wide.
// CHECK: weir_plan.order = {as_given = 8256 : i64, chosen = 4224 : i64, proved = true}
// CHECK-LABEL: @branches
// CHECK: launch @wide
// CHECK-NEXT: launch @narrow
// CHECK-NEXT: launch @wide
// CHECK-NEXT: launch @narrow
// LATENCY: chosen = 8256
// LATENCY: launch @wide
// LATENCY-NEXT: launch @wide
module {
weir_plan.kernel @wide schedule <loops> nodes "w" {
^bb0(%x: tensor<1xf32>):
  %shape = weir.constant dense<1024> : tensor<1xi64>
  %0 = weir.tile %x, %shape : (tensor<1xf32>, tensor<1xi64>) -> tensor<1024xf32>
  weir_plan.return %0 : tensor<1024xf32>
}
weir_plan.kernel @narrow schedule <loops> nodes "n" {
^bb0(%x: tensor<1024xf32>):
  %0 = weir.reduce %x {axes = array<i64: 0>, keep_dims = true, kind = "sum"} : (tensor<1024xf32>) -> tensor<1xf32>
  weir_plan.return %0 : tensor<1xf32>
}
weir_plan.kernel @join schedule <loops> nodes "j" {
^bb0(%x: tensor<1xf32>, %y: tensor<1xf32>):
  %0 = weir.add %x, %y : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
  weir_plan.return %0 : tensor<1xf32>
}
func.func @branches(%a: tensor<1xf32>, %b: tensor<1xf32>) -> tensor<1xf32> {
  %0 = weir_plan.launch @wide(%a) : (tensor<1xf32>) -> tensor<1024xf32>
  %1 = weir_plan.launch @wide(%b) : (tensor<1xf32>) -> tensor<1024xf32>
  %2 = weir_plan.launch @narrow(%0) : (tensor<1024xf32>) -> tensor<1xf32>
  %3 = weir_plan.launch @narrow(%1) : (tensor<1024xf32>) -> tensor<1xf32>
  %4 = weir_plan.launch @join(%2, %3) : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
  return %4 : tensor<1xf32>
}

// Parts of a result lie in the caller's memory, and so does what they are written over: the peak is
// where the wide ones are, however large the parts.
// CHECK-LABEL: @parts
// CHECK: launch @wide
// CHECK-NEXT: launch @part
// CHECK-NEXT: launch @over
// CHECK-NEXT: launch @wide
// CHECK-NEXT: launch @part
// CHECK-NEXT: launch @over
weir_plan.kernel @part schedule <loops> nodes "p" {
^bb0(%x: tensor<1024xf32>):
  %shape = weir.constant dense<[8, 1]> : tensor<2xi64>
  %row = weir.constant dense<[1, 1024]> : tensor<2xi64>
  %0 = weir.reshape %x, %row : (tensor<1024xf32>, tensor<2xi64>) -> tensor<1x1024xf32>
  %1 = weir.tile %0, %shape : (tensor<1x1024xf32>, tensor<2xi64>) -> tensor<8x1024xf32>
  weir_plan.return %1 : tensor<8x1024xf32>
}
weir_plan.kernel @over schedule <loops> nodes "o" {
^bb0(%x: tensor<8x1024xf32>):
  %0 = weir.exp %x : (tensor<8x1024xf32>) -> tensor<8x1024xf32>
  weir_plan.return %0 : tensor<8x1024xf32>
}
weir_plan.kernel @parted schedule <loops> nodes "c" {
^bb0(%x: tensor<8x1024xf32>, %y: tensor<8x1024xf32>):
  %0 = weir.concat %x, %y {axis = 0 : i64} : (tensor<8x1024xf32>, tensor<8x1024xf32>) -> tensor<16x1024xf32>
  weir_plan.return %0 : tensor<16x1024xf32>
}
func.func @parts(%a: tensor<1xf32>, %b: tensor<1xf32>) -> tensor<16x1024xf32> {
  %0 = weir_plan.launch @wide(%a) : (tensor<1xf32>) -> tensor<1024xf32>
  %1 = weir_plan.launch @wide(%b) : (tensor<1xf32>) -> tensor<1024xf32>
  %2 = weir_plan.launch @part(%0) : (tensor<1024xf32>) -> tensor<8x1024xf32>
  %3 = weir_plan.launch @over(%2) : (tensor<8x1024xf32>) -> tensor<8x1024xf32>
  %4 = weir_plan.launch @part(%1) : (tensor<1024xf32>) -> tensor<8x1024xf32>
  %5 = weir_plan.launch @over(%4) : (tensor<8x1024xf32>) -> tensor<8x1024xf32>
  %6 = weir_plan.launch @parted(%3, %5) : (tensor<8x1024xf32>, tensor<8x1024xf32>) -> tensor<16x1024xf32>
  return %6 : tensor<16x1024xf32>
}

// Effects keep their order, whatever they would save.
// CHECK-LABEL: @effects
// CHECK: weir.variable_read
// CHECK: weir.variable_assign
// CHECK: weir.variable_read
func.func @effects(%a: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %v = weir.variable {name = "v", container = "", type = tensor<4xf32>} : !weir.resource
  %0 = weir.variable_read %v : (!weir.resource) -> tensor<4xf32>
  %t = weir.variable_assign %v, %a : (!weir.resource, tensor<4xf32>) -> !weir.token
  %1 = weir.variable_read %v, %t : (!weir.resource, !weir.token) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
}
