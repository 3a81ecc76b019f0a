// Sums of lines that a gather picks, each with a weight: a line is found once, and its elements are
// vectors. Of open lines, too, and where sizes of weights may be stretched.
//
// REQUIRES: weirc, weir-run
// RUN: weirc %s --cpu=x86-64-v4 --stop-after=codegen -o %t.ll && FileCheck %s < %t.ll
// CHECK: define {{.*}}_k_reduce_7_100_f32(
// CHECK: fmul <{{[0-9]+}} x float>
// CHECK: {{^[}]$}}
// CHECK: define {{.*}}_k_reduce_d_d_f32(
// CHECK: fmul <{{[0-9]+}} x float>
// CHECK: {{^[}]$}}
// CHECK: define {{.*}}_k_reduce_7_20_f32(
// CHECK: call {{.*}}<{{[0-9]+}} x float> @llvm.maximum
// CHECK: {{^[}]$}}

// Lines are ramps, and so are weights: sums of what comes of them, by NumPy.
// RUN: rm -rf %t && mkdir %t
// RUN: %python %S/../tools/Inputs/npz.py ramp %t/x.npz x 14x100 w 7x5x1 z 14x75 places 6x4 v 6x1x1 y 14x20
// RUN: weir-run %s --input=%t/x.npz --output=%t/out.npz
// RUN: %python %S/../tools/Inputs/npz.py print %t/out.npz | FileCheck %s --check-prefix=SUMS
// SUMS-DAG: a 7x100 970.7
// SUMS-DAG: b 6x75 505.89
// SUMS-DAG: c 7x20 106.1786

// Lines that are not there.
// RUN: %python %S/../tools/Inputs/npz.py ramp %t/few.npz x 14x100 w 7x5x1 z 9x75 places 6x4 v 6x1x1 y 14x20
// RUN: not weir-run %s --input=%t/few.npz --output=%t/out.npz 2>&1 | FileCheck %s --check-prefix=FEW
// FEW: index {{9|1[0-3]}} is outside of [0, 9)

module {
  func.func @main(%x: tensor<14x100xf32> {weir.name = "x"}, %w: tensor<7x5x1xf32> {weir.name = "w"},
                  %z: tensor<?x?xf32> {weir.name = "z"}, %places: tensor<?x?xf32> {weir.name = "places"},
                  %v: tensor<?x?x1xf32> {weir.name = "v"}, %y: tensor<14x20xf32> {weir.name = "y"})
      -> (tensor<7x100xf32> {weir.name = "a"}, tensor<?x?xf32> {weir.name = "b"},
          tensor<7x20xf32> {weir.name = "c"}) attributes {weir.entry = "main"} {
    %at = weir.constant dense<[[3, -1, 0, 13, 3], [7, 1, 2, 2, 5], [-14, 12, 4, 6, 8], [9, 9, 9, 9, 9], [10, 0, 11, -2, -3], [1, 2, 3, 4, 5], [13, 12, 11, 10, 9]]> : tensor<7x5xi64>
    %0 = weir.gather %x, %at {axis = 0 : i64, batch_dims = 0 : i64, wrap_negative = true} : (tensor<14x100xf32>, tensor<7x5xi64>) -> tensor<7x5x100xf32>
    %1 = weir.mul %0, %w : (tensor<7x5x100xf32>, tensor<7x5x1xf32>) -> tensor<7x5x100xf32>
    %2 = weir.reduce %1 {axes = array<i64: 1>, keep_dims = false, kind = "sum"} : (tensor<7x5x100xf32>) -> tensor<7x100xf32>
    %lines = weir.constant dense<14.0> : tensor<f32>
    %3 = weir.mul %places, %lines : (tensor<?x?xf32>, tensor<f32>) -> tensor<?x?xf32>
    %4 = weir.cast %3 {saturate = true} : (tensor<?x?xf32>) -> tensor<?x?xi64>
    %5 = weir.gather %z, %4 {axis = 0 : i64, batch_dims = 0 : i64, wrap_negative = true} : (tensor<?x?xf32>, tensor<?x?xi64>) -> tensor<?x?x?xf32>
    %6 = weir.mul %5, %v : (tensor<?x?x?xf32>, tensor<?x?x1xf32>) -> tensor<?x?x?xf32>
    %7 = weir.reduce %6 {axes = array<i64: 1>, keep_dims = false, kind = "sum"} : (tensor<?x?x?xf32>) -> tensor<?x?xf32>
    %8 = weir.gather %y, %at {axis = 0 : i64, batch_dims = 0 : i64, wrap_negative = true} : (tensor<14x20xf32>, tensor<7x5xi64>) -> tensor<7x5x20xf32>
    %9 = weir.reduce %8 {axes = array<i64: 1>, keep_dims = false, kind = "max"} : (tensor<7x5x20xf32>) -> tensor<7x20xf32>
    return %2, %7, %9 : tensor<7x100xf32>, tensor<?x?xf32>, tensor<7x20xf32>
  }
}
