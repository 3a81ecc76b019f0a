// Text reads back as it was printed: regions, order, state, blobs.
// REQUIRES: weir-opt
// RUN: weir-opt %s | weir-opt | FileCheck %s

// CHECK-LABEL: @control
func.func @control(%n: tensor<i64>, %x: tensor<?xf32>) -> tensor<?xf32> {
  %zero = weir.constant dense<0> : tensor<i64>
  // CHECK: %[[R:.*]]:2 = weir.while %{{.*}}, %{{.*}} : (tensor<i64>, tensor<?xf32>) -> (tensor<i64>, tensor<?xf32>) while {
  %r:2 = weir.while %zero, %x : (tensor<i64>, tensor<?xf32>) -> (tensor<i64>, tensor<?xf32>) while {
  ^bb0(%i: tensor<i64>, %a: tensor<?xf32>):
    %c = weir.compare %i, %n {predicate = "lt"} : (tensor<i64>, tensor<i64>) -> tensor<i1>
    // CHECK: weir.yield %{{.*}} : tensor<i1>
    weir.yield %c : tensor<i1>
  } do {
  ^bb0(%i: tensor<i64>, %a: tensor<?xf32>):
    %one = weir.constant dense<1> : tensor<i64>
    %j = weir.add %i, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
    weir.yield %j, %a : tensor<i64>, tensor<?xf32>
  }
  return %r#1 : tensor<?xf32>
}

// CHECK-LABEL: @state
func.func @state(%x: tensor<2xf32>) -> tensor<2xf32> {
  // CHECK: %[[V:.*]] = weir.variable {container = "", name = "v", type = tensor<2xf32>} : !weir.resource
  %v = weir.variable {name = "v", container = "", type = tensor<2xf32>} : !weir.resource
  // CHECK: %[[T:.*]] = weir.variable_assign %[[V]], %arg0 : (!weir.resource, tensor<2xf32>) -> !weir.token
  %t = weir.variable_assign %v, %x : (!weir.resource, tensor<2xf32>) -> !weir.token
  // CHECK: weir.variable_read %[[V]], %[[T]] : (!weir.resource, !weir.token) -> tensor<2xf32>
  %y = weir.variable_read %v, %t : (!weir.resource, !weir.token) -> tensor<2xf32>
  return %y : tensor<2xf32>
}

// CHECK-LABEL: @constants
func.func @constants() {
  // CHECK: weir.constant #weir.blob<"model.onnx", 128, 8, "0123"> : tensor<2xui32>
  %0 = weir.constant #weir.blob<"model.onnx", 128, 8, "0123"> : tensor<2xui32>
  // CHECK: weir.constant dense<[true, false]> : tensor<2xi1>
  %1 = weir.constant dense<[true, false]> : tensor<2xi1>
  // CHECK: weir.constant #weir.winograd<#weir.blob<"model.onnx", 0, 10368, "45"> : tensor<3x3x8x36xf32>, 4> : tensor<2x36x8x32xf32>
  %2 = weir.constant #weir.winograd<#weir.blob<"model.onnx", 0, 10368, "45"> : tensor<3x3x8x36xf32>, 4> : tensor<2x36x8x32xf32>
  // CHECK: weir.constant #weir.winograd<#weir.arranged<#weir.blob<"model.onnx", 0, 5184, "67"> : tensor<36x8x3x3xf16>, [3, 1, 9, 72], []> : tensor<3x3x8x36xf32>, 2> : tensor<3x16x4x16x2xbf16>
  %3 = weir.constant #weir.winograd<#weir.arranged<#weir.blob<"model.onnx", 0, 5184, "67"> : tensor<36x8x3x3xf16>, [3, 1, 9, 72], []> : tensor<3x3x8x36xf32>, 2> : tensor<3x16x4x16x2xbf16>
  // CHECK: weir.constant #weir.winograd<dense<1.000000e+00> : tensor<3x3x8x16xf32>, 2> : tensor<1x16x8x16xf32>
  %4 = weir.constant #weir.winograd<dense<1.0> : tensor<3x3x8x16xf32>, 2> : tensor<1x16x8x16xf32>
  // CHECK: weir.constant #weir.scaled<#weir.blob<"model.onnx", 0, 24, "45"> : tensor<2x3xf32>, [5.000000e-01, 0.333333343, -2.000000e+00], 1> : tensor<2x3xf32>
  %5 = weir.constant #weir.scaled<#weir.blob<"model.onnx", 0, 24, "45"> : tensor<2x3xf32>, [0.5, 0.333333343, -2.0], 1> : tensor<2x3xf32>
  // CHECK: weir.constant #weir.arranged<#weir.scaled<#weir.blob<"model.onnx", 0, 24, "45"> : tensor<2x3xf32>, [1.000000e+00, 2.000000e+00], 0> : tensor<2x3xf32>, [1, 3], []> : tensor<3x2xf32>
  %6 = weir.constant #weir.arranged<#weir.scaled<#weir.blob<"model.onnx", 0, 24, "45"> : tensor<2x3xf32>, [1.0, 2.0], 0> : tensor<2x3xf32>, [1, 3], []> : tensor<3x2xf32>
  return
}
