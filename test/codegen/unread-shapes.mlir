// A shape that folding has left without readers is no operand whose elements move along: the kernel
// is one loop of vectors over all elements, not one for each of them.
//
// REQUIRES: weirc
// RUN: weirc %s --cpu=x86-64-v3 --stop-after=codegen -o %t.ll && FileCheck %s < %t.ll
// CHECK: define {{.*}}_k_select_d_3_40_f32(
// CHECK: fmul {{.*}}<8 x float>
// CHECK: {{^[}]$}}

module {
  func.func @main(%x: tensor<?x3x40xf32> {weir.name = "x"}) -> (tensor<?x3x40xf32> {weir.name = "y"}) attributes {weir.entry = "main"} {
    %no = weir.constant dense<false> : tensor<i1>
    %two = weir.constant dense<2.0> : tensor<f32>
    %0 = weir.shape_of %x {index_type = i64} : (tensor<?x3x40xf32>) -> tensor<3xi64>
    %1 = weir.broadcast_to %two, %0 : (tensor<f32>, tensor<3xi64>) -> tensor<?x3x40xf32>
    %2 = weir.mul %x, %two : (tensor<?x3x40xf32>, tensor<f32>) -> tensor<?x3x40xf32>
    %3 = weir.select %no, %1, %2 : (tensor<i1>, tensor<?x3x40xf32>, tensor<?x3x40xf32>) -> tensor<?x3x40xf32>
    return %3 : tensor<?x3x40xf32>
  }
}
