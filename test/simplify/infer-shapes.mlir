// Types follow from operands; what has more dimensions than the runtime can
// describe is refused.
// REQUIRES: weir-opt
// RUN: weir-opt --weir-infer-shapes --split-input-file --verify-diagnostics %s | FileCheck %s

// CHECK-LABEL: func.func @sixteen
// CHECK: weir.relu {{.*}} -> tensor<1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x4xf32>
func.func @sixteen(%x: tensor<1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x4xf32>) -> tensor<?x1x1x1x1x1x1x1x1x1x1x1x1x1x1x4xf32> {
  %0 = weir.relu %x : (tensor<1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x4xf32>) -> tensor<?x1x1x1x1x1x1x1x1x1x1x1x1x1x1x4xf32>
  return %0 : tensor<?x1x1x1x1x1x1x1x1x1x1x1x1x1x1x4xf32>
}

// -----

func.func @seventeen(%x: tensor<4xf32>, %s: tensor<17xi64>) -> tensor<1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x4xf32> {
  // expected-error @+1 {{W0500: found a tensor of 17 dimensions; possible are 16}}
  %0 = weir.reshape %x, %s : (tensor<4xf32>, tensor<17xi64>) -> tensor<1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x4xf32>
  return %0 : tensor<1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x4xf32>
}
