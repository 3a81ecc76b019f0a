// Lines of 256 bytes and more that a gather picks are copied whole, and shorter ones element by
// element; of open lines the run decides.
//
// REQUIRES: weirc, weir-run
// RUN: weirc %s --cpu=x86-64-v4 --stop-after=codegen -o %t.ll && FileCheck %s < %t.ll
// CHECK: define {{.*}}_k_gather_7_100_f32(
// CHECK: @llvm.memcpy
// CHECK: {{^[}]$}}
// CHECK: define {{.*}}_k_gather_7_20_f32(
// CHECK-NOT: @llvm.memcpy
// CHECK: {{^[}]$}}
// CHECK: define {{.*}}_k_gather_nd_7_d_f32(
// CHECK: @llvm.memcpy
// CHECK: {{^[}]$}}

// Rows are ramps: the sums of those that are picked.
// RUN: rm -rf %t && mkdir %t
// RUN: %python %S/../tools/Inputs/npz.py ramp %t/x.npz x 14x100 y 14x20 z 2x7x90
// RUN: weir-run %s --input=%t/x.npz --output=%t/out.npz
// RUN: %python %S/../tools/Inputs/npz.py print %t/out.npz | FileCheck %s --check-prefix=SUMS
// SUMS-DAG: a 7x100 310.4643
// SUMS-DAG: b 7x20 61.8929
// SUMS-DAG: c 7x90 279.3929

module {
  func.func @main(%x: tensor<14x100xf32> {weir.name = "x"}, %y: tensor<14x20xf32> {weir.name = "y"},
                  %z: tensor<2x7x?xf32> {weir.name = "z"})
      -> (tensor<7x100xf32> {weir.name = "a"}, tensor<7x20xf32> {weir.name = "b"}, tensor<7x?xf32> {weir.name = "c"}) attributes {weir.entry = "main"} {
    %at = weir.constant dense<[3, -1, 0, 13, 3, 7, 1]> : tensor<7xi64>
    %where = weir.constant dense<[[0, 3], [-1, -1], [0, 0], [1, 6], [0, 3], [1, 0], [0, 1]]> : tensor<7x2xi64>
    %0 = weir.gather %x, %at {axis = 0 : i64, batch_dims = 0 : i64, wrap_negative = true} : (tensor<14x100xf32>, tensor<7xi64>) -> tensor<7x100xf32>
    %1 = weir.gather %y, %at {axis = 0 : i64, batch_dims = 0 : i64, wrap_negative = true} : (tensor<14x20xf32>, tensor<7xi64>) -> tensor<7x20xf32>
    %2 = weir.gather_nd %z, %where {batch_dims = 0 : i64, wrap_negative = true} : (tensor<2x7x?xf32>, tensor<7x2xi64>) -> tensor<7x?xf32>
    return %0, %1, %2 : tensor<7x100xf32>, tensor<7x20xf32>, tensor<7x?xf32>
  }
}
