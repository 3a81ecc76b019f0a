// Types follow from operands; what has more dimensions than the runtime can
// describe, or more elements than a machine can hold, is refused.
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
  // expected-error @+1 {{W0500: expected at most 16 dimensions, got a tensor of 17}}
  %0 = weir.reshape %x, %s : (tensor<4xf32>, tensor<17xi64>) -> tensor<1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x4xf32>
  return %0 : tensor<1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x4xf32>
}

// -----

func.func @huge(%x: tensor<f32>, %s: tensor<2xi64>) -> tensor<4294967296x1073741824xf32> {
  // expected-error @+1 {{W0500: expected at most 2^44 elements, got a tensor of type 'tensor<4294967296x1073741824xf32>'}}
  %0 = weir.broadcast_to %x, %s : (tensor<f32>, tensor<2xi64>) -> tensor<4294967296x1073741824xf32>
  return %0 : tensor<4294967296x1073741824xf32>
}

// -----

// None at all is not many.
// CHECK-LABEL: func.func @empty
func.func @empty(%x: tensor<4294967296x0x4294967296xf32>) -> tensor<4294967296x0x4294967296xf32> {
  %0 = weir.relu %x : (tensor<4294967296x0x4294967296xf32>) -> tensor<4294967296x0x4294967296xf32>
  return %0 : tensor<4294967296x0x4294967296xf32>
}
