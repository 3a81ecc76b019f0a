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

// -----

// Borders that are computed of sizes, by floats, each of the image before, are known one after the
// other.
// CHECK-LABEL: func.func @borders_of_sizes
// CHECK: weir.pad {{.*}} -> tensor<?x3x7x9xf32>
// CHECK: weir.pad {{.*}} -> tensor<?x3x10x9xf32>
// CHECK: weir.pad {{.*}} -> tensor<?x3x15x9xf32>
// CHECK: return {{.*}} : tensor<?x3x15x9xf32>
func.func @borders_of_sizes(%x: tensor<?x3x5x9xf32>) -> tensor<?x?x?x?xf32> {
  %two = weir.constant dense<2> : tensor<1xi64>
  %three = weir.constant dense<3> : tensor<1xi64>
  %one = weir.constant dense<1> : tensor<1xi64>
  %none = weir.constant dense<0> : tensor<1xi64>
  %half = weir.constant dense<0.5> : tensor<f32>
  %zero = weir.constant dense<0.0> : tensor<f32>
  %s0 = weir.shape_of %x {index_type = i64} : (tensor<?x3x5x9xf32>) -> tensor<4xi64>
  %h0 = weir.slice %s0, %two, %three, %one {axes = array<i64: 0>, strict = false} : (tensor<4xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
  %f0 = weir.cast %h0 {saturate = false} : (tensor<1xi64>) -> tensor<1xf32>
  %m0 = weir.mul %f0, %half : (tensor<1xf32>, tensor<f32>) -> tensor<1xf32>
  %c0 = weir.floor %m0 : (tensor<1xf32>) -> tensor<1xf32>
  %i0 = weir.cast %c0 {saturate = false} : (tensor<1xf32>) -> tensor<1xi64>
  %p0 = weir.concat %none, %none, %i0, %none, %none, %none, %none, %none {axis = 0 : i64} : (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<8xi64>
  %y0 = weir.pad %x, %p0, %zero {mode = "constant"} : (tensor<?x3x5x9xf32>, tensor<8xi64>, tensor<f32>) -> tensor<?x?x?x?xf32>
  %s1 = weir.shape_of %y0 {index_type = i64} : (tensor<?x?x?x?xf32>) -> tensor<4xi64>
  %h1 = weir.slice %s1, %two, %three, %one {axes = array<i64: 0>, strict = false} : (tensor<4xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
  %f1 = weir.cast %h1 {saturate = false} : (tensor<1xi64>) -> tensor<1xf32>
  %m1 = weir.mul %f1, %half : (tensor<1xf32>, tensor<f32>) -> tensor<1xf32>
  %c1 = weir.floor %m1 : (tensor<1xf32>) -> tensor<1xf32>
  %i1 = weir.cast %c1 {saturate = false} : (tensor<1xf32>) -> tensor<1xi64>
  %p1 = weir.concat %none, %none, %i1, %none, %none, %none, %none, %none {axis = 0 : i64} : (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<8xi64>
  %y1 = weir.pad %y0, %p1, %zero {mode = "constant"} : (tensor<?x?x?x?xf32>, tensor<8xi64>, tensor<f32>) -> tensor<?x?x?x?xf32>
  %s2 = weir.shape_of %y1 {index_type = i64} : (tensor<?x?x?x?xf32>) -> tensor<4xi64>
  %h2 = weir.slice %s2, %two, %three, %one {axes = array<i64: 0>, strict = false} : (tensor<4xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
  %f2 = weir.cast %h2 {saturate = false} : (tensor<1xi64>) -> tensor<1xf32>
  %m2 = weir.mul %f2, %half : (tensor<1xf32>, tensor<f32>) -> tensor<1xf32>
  %c2 = weir.floor %m2 : (tensor<1xf32>) -> tensor<1xf32>
  %i2 = weir.cast %c2 {saturate = false} : (tensor<1xf32>) -> tensor<1xi64>
  %p2 = weir.concat %none, %none, %i2, %none, %none, %none, %none, %none {axis = 0 : i64} : (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<8xi64>
  %y2 = weir.pad %y1, %p2, %zero {mode = "constant"} : (tensor<?x?x?x?xf32>, tensor<8xi64>, tensor<f32>) -> tensor<?x?x?x?xf32>
  return %y2 : tensor<?x?x?x?xf32>
}
