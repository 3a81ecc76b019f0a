// Tensors that cross as soon as they are there: no times say when.
// REQUIRES: weir-opt
// RUN: weir-opt %s --weir-place=receives=early --split-input-file --verify-diagnostics | FileCheck %s

// Where no order is faster, that of the file stays.
// CHECK-LABEL: @given_order
// CHECK: weir.exp
// CHECK: weir.neg
module attributes {weir.locks = {a = "/cpu:0", b = "/cpu:0", c = "/cpu:1"}, weir.cluster = {devices = [{name = "/cpu:0"}, {name = "/cpu:1"}]}} {
  // CHECK-NOT: weir.times
  func.func @given_order(%f: tensor<4xf32>, %g: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
    %a = weir.exp %f : (tensor<4xf32>) -> tensor<4xf32> loc("a")
    %b = weir.neg %f : (tensor<4xf32>) -> tensor<4xf32> loc("b")
    %c = weir.sin %g : (tensor<4xf32>) -> tensor<4xf32> loc("c")
    return %a, %b, %c : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
}
