// Sizes of what is resized on the way to a concatenation are computed before its loops, without checks,
// which the step has made: computed for each element, they kept places from leaving the loop over
// channels, and it from vectors.
//
// REQUIRES: weirc
// RUN: weirc %s --cpu=x86-64-v3 --stop-after=codegen -o %t.ll && FileCheck %s < %t.ll
// CHECK: define {{.*}}_k_concat_d_d_d_24_f32(
// CHECK-NOT: @weir_rt_error
// CHECK: fmul {{.*}}<8 x float>
// CHECK-NOT: @weir_rt_error
// CHECK: {{^[}]$}}

module {
  func.func @main(%x: tensor<?x?x?x16xf32> {weir.name = "x"}, %z: tensor<?x?x?x8xf32> {weir.name = "z"}, %s: tensor<2xi64> {weir.name = "s"})
      -> (tensor<?x?x?x24xf32> {weir.name = "y"}) attributes {weir.entry = "main"} {
    %scales = weir.constant dense<2.0> : tensor<2xf32>
    %roi = weir.constant dense<0.0> : tensor<4xf32>
    %0 = weir.resize %x, %s, %scales, %roi {antialias = false, axes = array<i64: 1, 2>, coordinates = "align_corners", cubic_coefficient = -7.500000e-01 : f64, exclude_outside = false, extrapolation_value = 0.000000e+00 : f64, mode = "linear", nearest = "floor"} : (tensor<?x?x?x16xf32>, tensor<2xi64>, tensor<2xf32>, tensor<4xf32>) -> tensor<?x?x?x16xf32>
    %1 = weir.concat %0, %z {axis = 3 : i64} : (tensor<?x?x?x16xf32>, tensor<?x?x?x8xf32>) -> tensor<?x?x?x24xf32>
    return %1 : tensor<?x?x?x24xf32>
  }
}
