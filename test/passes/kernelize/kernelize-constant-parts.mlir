// What folds is no kernel: in one it would be folded later, and the kernel would return a constant
// or its operand.
// REQUIRES: weir-opt
// RUN: weir-opt --weir-kernelize %s | FileCheck %s

module attributes {weir.target = #weir.target<vector_bytes = 64, vector_registers = 32>} {
  // A part of a constant, and the whole of an operand.
  // CHECK-LABEL: func.func @parts(%arg0: tensor<4x16xf32>)
  // CHECK-NEXT: %[[C:.*]] = weir.constant dense<1.500000e+00> : tensor<2x16xf32>
  // CHECK-NEXT: return %[[C]], %arg0
  func.func @parts(%x: tensor<4x16xf32>) -> (tensor<2x16xf32>, tensor<4x16xf32>) {
    %c = weir.constant dense<1.5> : tensor<4x16xf32>
    %zero = weir.constant dense<0> : tensor<1xi64>
    %two = weir.constant dense<2> : tensor<1xi64>
    %four = weir.constant dense<4> : tensor<1xi64>
    %one = weir.constant dense<1> : tensor<1xi64>
    %part = weir.slice %c, %zero, %two, %one {axes = array<i64: 0>, strict = false} : (tensor<4x16xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<2x16xf32>
    %whole = weir.slice %x, %zero, %four, %one {axes = array<i64: 0>, strict = false} : (tensor<4x16xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<4x16xf32>
    return %part, %whole : tensor<2x16xf32>, tensor<4x16xf32>
  }

  // A part of an operand is computed.
  // CHECK-LABEL: func.func @computed
  // CHECK: weir_plan.launch @slice
  func.func @computed(%x: tensor<4x16xf32>) -> tensor<2x16xf32> {
    %zero = weir.constant dense<0> : tensor<1xi64>
    %two = weir.constant dense<2> : tensor<1xi64>
    %one = weir.constant dense<1> : tensor<1xi64>
    %part = weir.slice %x, %zero, %two, %one {axes = array<i64: 0>, strict = false} : (tensor<4x16xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<2x16xf32>
    return %part : tensor<2x16xf32>
  }
}
