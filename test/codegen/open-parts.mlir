// Parts of images of open size are lines: finding a position costs more than copying its few
// channels. Where channels are many, or nothing else gives parts, a position is one.
//
// REQUIRES: weirc
// RUN: weirc %s --cpu=x86-64-v4 --stop-after=plan-memory -o %t.mlir && FileCheck %s < %t.mlir
// CHECK-DAG: kernel @pad_1_d_d_4_f32 {{.*}}parts = array<i64: 1, 1>}
// CHECK-DAG: kernel @pad_1_d_d_1025_f32 {{.*}}parts = array<i64: 1, 1, 1>}
// CHECK-DAG: kernel @pad_1_d_4_f32 {{.*}}parts = array<i64: 1, 1>}
// CHECK-DAG: kernel @mul_1_d_d_32_f32 {{.*}}parts = array<i64: 1, 1>}
// CHECK-DAG: kernel @mul_d_32_f32 {{.*}}parts = array<i64: 1>}

module {
  func.func @main(%x: tensor<1x?x?x3xf32> {weir.name = "x"}, %w: tensor<1x?x?x1024xf32> {weir.name = "w"},
                  %l: tensor<1x?x3xf32> {weir.name = "l"}, %m: tensor<1x?x?x32xf32> {weir.name = "m"},
                  %n: tensor<?x32xf32> {weir.name = "n"}, %g: tensor<1x1x1x32xf32> {weir.name = "g"}, %h: tensor<1x32xf32> {weir.name = "h"})
      -> (tensor<1x?x?x4xf32> {weir.name = "a"}, tensor<1x?x?x1025xf32> {weir.name = "b"}, tensor<1x?x4xf32> {weir.name = "c"},
          tensor<1x?x?x32xf32> {weir.name = "d"}, tensor<?x32xf32> {weir.name = "e"}) attributes {weir.entry = "main"} {
    %zero = weir.constant dense<0.0> : tensor<f32>
    %p = weir.constant dense<[0, 1, 1, 1, 0, 1, 1, 0]> : tensor<8xi64>
    %q = weir.constant dense<[0, 1, 1, 0, 1, 0]> : tensor<6xi64>
    %0 = weir.pad %x, %p, %zero {mode = "constant"} : (tensor<1x?x?x3xf32>, tensor<8xi64>, tensor<f32>) -> tensor<1x?x?x4xf32>
    %1 = weir.pad %w, %p, %zero {mode = "constant"} : (tensor<1x?x?x1024xf32>, tensor<8xi64>, tensor<f32>) -> tensor<1x?x?x1025xf32>
    %2 = weir.pad %l, %q, %zero {mode = "constant"} : (tensor<1x?x3xf32>, tensor<6xi64>, tensor<f32>) -> tensor<1x?x4xf32>
    %3 = weir.mul %m, %g : (tensor<1x?x?x32xf32>, tensor<1x1x1x32xf32>) -> tensor<1x?x?x32xf32>
    %4 = weir.mul %n, %h : (tensor<?x32xf32>, tensor<1x32xf32>) -> tensor<?x32xf32>
    return %0, %1, %2, %3, %4 : tensor<1x?x?x4xf32>, tensor<1x?x?x1025xf32>, tensor<1x?x4xf32>, tensor<1x?x?x32xf32>, tensor<?x32xf32>
  }
}
