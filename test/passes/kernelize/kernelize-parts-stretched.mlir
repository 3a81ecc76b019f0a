// A part of what is stored anyway is read there, also by what stretches it: a copy would be read
// as often. What would be computed for the part alone is stored, or each of its elements would be
// computed again and again; and so is a part of other steps than one.
//
// RUN: weir-opt %s --weir-kernelize | FileCheck %s

// CHECK-LABEL: func.func @rotated
// CHECK-COUNT-1: weir_plan.launch
// CHECK-NOT:     weir_plan.launch
func.func @rotated(%x: tensor<?x?x?x258xf32>, %c: tensor<63x1x64x129xf32>) -> tensor<63x?x64x258xf32> {
  %zero = weir.constant dense<0> : tensor<1xi64>
  %half = weir.constant dense<129> : tensor<1xi64>
  %all = weir.constant dense<258> : tensor<1xi64>
  %one = weir.constant dense<1> : tensor<1xi64>
  %0 = weir.slice %x, %zero, %half, %one {axes = array<i64: 3>, strict = true} : (tensor<?x?x?x258xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?x?x?x129xf32>
  %1 = weir.slice %x, %half, %all, %one {axes = array<i64: 3>, strict = true} : (tensor<?x?x?x258xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?x?x?x129xf32>
  %2 = weir.mul %c, %0 : (tensor<63x1x64x129xf32>, tensor<?x?x?x129xf32>) -> tensor<63x?x64x129xf32>
  %3 = weir.mul %c, %1 : (tensor<63x1x64x129xf32>, tensor<?x?x?x129xf32>) -> tensor<63x?x64x129xf32>
  %4 = weir.concat %2, %3 {axis = 3 : i64} : (tensor<63x?x64x129xf32>, tensor<63x?x64x129xf32>) -> tensor<63x?x64x258xf32>
  return %4 : tensor<63x?x64x258xf32>
}

// CHECK-LABEL: func.func @computed
// CHECK-COUNT-2: weir_plan.launch
func.func @computed(%x: tensor<8x258xf32>, %c: tensor<64x8x129xf32>) -> tensor<64x8x129xf32> {
  %zero = weir.constant dense<0> : tensor<1xi64>
  %half = weir.constant dense<129> : tensor<1xi64>
  %one = weir.constant dense<1> : tensor<1xi64>
  %e = weir.exp %x : (tensor<8x258xf32>) -> tensor<8x258xf32>
  %0 = weir.slice %e, %zero, %half, %one {axes = array<i64: 1>, strict = true} : (tensor<8x258xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<8x129xf32>
  %1 = weir.mul %c, %0 : (tensor<64x8x129xf32>, tensor<8x129xf32>) -> tensor<64x8x129xf32>
  return %1 : tensor<64x8x129xf32>
}

// CHECK-LABEL: func.func @apart
// CHECK-COUNT-2: weir_plan.launch
func.func @apart(%x: tensor<8x258xf32>, %c: tensor<64x8x129xf32>) -> tensor<64x8x129xf32> {
  %zero = weir.constant dense<0> : tensor<1xi64>
  %all = weir.constant dense<258> : tensor<1xi64>
  %two = weir.constant dense<2> : tensor<1xi64>
  %0 = weir.slice %x, %zero, %all, %two {axes = array<i64: 1>, strict = true} : (tensor<8x258xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<8x129xf32>
  %1 = weir.mul %c, %0 : (tensor<64x8x129xf32>, tensor<8x129xf32>) -> tensor<64x8x129xf32>
  return %1 : tensor<64x8x129xf32>
}
