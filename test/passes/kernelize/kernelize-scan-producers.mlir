// A scan whose lines run side by side reads each element once: what defines its operand is
// computed in its kernel. Along the last dimension, where lines are few, and where something
// else reads it, too, it is computed before.

// RUN: weir-opt %s --weir-kernelize | FileCheck %s
// Bits are the same inside and before.
// RUN: rm -rf %t && mkdir %t && weirc %s -o %t/m.so
// RUN: weir-run %t/m.so --input=random:7 --run=columns --output=%t/inside.npz
// RUN: weir-run %t/m.so --input=random:7 --run=shared --expect=%t/inside.npz --rtol=0 --atol=0

// CHECK-LABEL: func.func @columns
// CHECK-COUNT-1: weir_plan.launch
// CHECK-NOT:     weir_plan.launch
func.func @columns(%x: tensor<9x4096xf32> {weir.name = "x"}) -> (tensor<9x4096xf32> {weir.name = "out"}) attributes {weir.entry = "columns"} {
  %0 = weir.mul %x, %x : (tensor<9x4096xf32>, tensor<9x4096xf32>) -> tensor<9x4096xf32> loc("square")
  %1 = weir.cumulative %0 {axis = 0 : i64, exclusive = false, kind = "sum", reverse = true} : (tensor<9x4096xf32>) -> tensor<9x4096xf32> loc("scan")
  return %1 : tensor<9x4096xf32>
}

// CHECK-LABEL: func.func @shared
// CHECK-COUNT-2: weir_plan.launch
func.func @shared(%x: tensor<9x4096xf32> {weir.name = "x"}) -> (tensor<9x4096xf32> {weir.name = "out"}, tensor<9x4096xf32> {weir.name = "square"}) attributes {weir.entry = "shared"} {
  %0 = weir.mul %x, %x : (tensor<9x4096xf32>, tensor<9x4096xf32>) -> tensor<9x4096xf32> loc("square")
  %1 = weir.cumulative %0 {axis = 0 : i64, exclusive = false, kind = "sum", reverse = true} : (tensor<9x4096xf32>) -> tensor<9x4096xf32> loc("scan")
  return %1, %0 : tensor<9x4096xf32>, tensor<9x4096xf32>
}

// CHECK-LABEL: func.func @rows
// CHECK-COUNT-2: weir_plan.launch
func.func @rows(%x: tensor<4096x9xf32> {weir.name = "x"}) -> (tensor<4096x9xf32> {weir.name = "out"}) attributes {weir.entry = "rows"} {
  %0 = weir.mul %x, %x : (tensor<4096x9xf32>, tensor<4096x9xf32>) -> tensor<4096x9xf32> loc("square")
  %1 = weir.cumulative %0 {axis = 1 : i64, exclusive = false, kind = "sum", reverse = false} : (tensor<4096x9xf32>) -> tensor<4096x9xf32> loc("scan")
  return %1 : tensor<4096x9xf32>
}

// CHECK-LABEL: func.func @few
// CHECK-COUNT-2: weir_plan.launch
func.func @few(%x: tensor<4096x64xf32> {weir.name = "x"}) -> (tensor<4096x64xf32> {weir.name = "out"}) attributes {weir.entry = "few"} {
  %0 = weir.mul %x, %x : (tensor<4096x64xf32>, tensor<4096x64xf32>) -> tensor<4096x64xf32> loc("square")
  %1 = weir.cumulative %0 {axis = 0 : i64, exclusive = false, kind = "sum", reverse = false} : (tensor<4096x64xf32>) -> tensor<4096x64xf32> loc("scan")
  return %1 : tensor<4096x64xf32>
}
