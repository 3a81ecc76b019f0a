// Borders that the operand itself gives: lines are copied whole, fixed or open, and only what lies
// before and behind them is looked up element by element. Borders that add on one side and crop
// the other may leave nothing of the operand, and end within what they add.
//
// REQUIRES: weirc, weir-run
// RUN: weirc %s --cpu=x86-64-v4 --stop-after=codegen -o %t.ll && FileCheck %s < %t.ll
// CHECK-LABEL: define {{.*}}_k_pad_d_300_f32(
// CHECK: load <16 x float>
// CHECK: {{^[}]$}}

// RUN: rm -rf %t && mkdir %t
// RUN: %python %S/../tools/Inputs/npz.py ramp %t/a.npz a 5x290
// RUN: %python %S/../tools/Inputs/npz.py ramp %t/b.npz b 2x3x4
// RUN: %python %S/../tools/Inputs/npz.py ramp %t/c.npz c 2x3x4
// RUN: %python %S/borders.py pads %t/p.npz p 0,1,2,3,4,5
// RUN: weir-run %s --input=%t/a.npz --input=%t/b.npz --input=%t/c.npz --input=%t/p.npz --output=%t/out.npz
// RUN: %python %S/borders.py %t/a.npz %t/b.npz %t/c.npz %t/out.npz | FileCheck %s --check-prefix=SAME
// SAME: 18 borders are as defined

module {
  func.func @main(%a: tensor<?x290xf32> {weir.name = "a"}, %b: tensor<2x3x4xf32> {weir.name = "b"},
                  %c: tensor<?x?x?xf32> {weir.name = "c"}, %p: tensor<6xf32> {weir.name = "p"})
      -> (tensor<?x300xf32> {weir.name = "a wrap 2,4,3,6"},
          tensor<6x8x10xf32> {weir.name = "b reflect 3,0,2,1,5,4"}, tensor<?x?x?xf32> {weir.name = "c reflect 3,0,2,1,5,4"},
          tensor<6x8x10xf32> {weir.name = "b symmetric 3,0,2,1,5,4"}, tensor<?x?x?xf32> {weir.name = "c symmetric 3,0,2,1,5,4"},
          tensor<6x8x10xf32> {weir.name = "b edge 3,0,2,1,5,4"}, tensor<?x?x?xf32> {weir.name = "c edge 3,0,2,1,5,4"},
          tensor<6x8x10xf32> {weir.name = "b wrap 3,0,2,1,5,4"}, tensor<?x?x?xf32> {weir.name = "c wrap 3,0,2,1,5,4"},
          tensor<3x3x3xf32> {weir.name = "b edge -3,5,-1,4,-5,0"}, tensor<?x?x?xf32> {weir.name = "c edge -3,5,-1,4,-5,0"},
          tensor<3x3x3xf32> {weir.name = "b constant -3,5,-6,4,-5,5"}, tensor<?x?x?xf32> {weir.name = "c constant -3,5,-6,4,-5,5"},
          tensor<?x?x?xf32> {weir.name = "c constant -1,-1,2,0,-1,-3"},
          tensor<?x?x?xf32> {weir.name = "c constant 0,1,2,3,4,5"}, tensor<?x?x?xf32> {weir.name = "c reflect 0,1,2,3,4,5"},
          tensor<?x?x?xf32> {weir.name = "c constant -3,-1,-5,5,1,5"}, tensor<?x?x?xf32> {weir.name = "c edge 4,-1,2,-1,0,-3"}) attributes {weir.entry = "main"} {
    %zero = weir.constant dense<0.5> : tensor<f32>
    %pa = weir.constant dense<[2, 4, 3, 6]> : tensor<4xi64>
    %pb = weir.constant dense<[3, 0, 2, 1, 5, 4]> : tensor<6xi64>
    %pm = weir.constant dense<[-3, 5, -1, 4, -5, 0]> : tensor<6xi64>
    %pn = weir.constant dense<[-3, 5, -6, 4, -5, 5]> : tensor<6xi64>
    %po = weir.constant dense<[-1, -1, 2, 0, -1, -3]> : tensor<6xi64>
    %0 = weir.pad %a, %pa, %zero {mode = "wrap"} : (tensor<?x290xf32>, tensor<4xi64>, tensor<f32>) -> tensor<?x300xf32>
    %1 = weir.pad %b, %pb, %zero {mode = "reflect"} : (tensor<2x3x4xf32>, tensor<6xi64>, tensor<f32>) -> tensor<6x8x10xf32>
    %2 = weir.pad %c, %pb, %zero {mode = "reflect"} : (tensor<?x?x?xf32>, tensor<6xi64>, tensor<f32>) -> tensor<?x?x?xf32>
    %3 = weir.pad %b, %pb, %zero {mode = "symmetric"} : (tensor<2x3x4xf32>, tensor<6xi64>, tensor<f32>) -> tensor<6x8x10xf32>
    %4 = weir.pad %c, %pb, %zero {mode = "symmetric"} : (tensor<?x?x?xf32>, tensor<6xi64>, tensor<f32>) -> tensor<?x?x?xf32>
    %5 = weir.pad %b, %pb, %zero {mode = "edge"} : (tensor<2x3x4xf32>, tensor<6xi64>, tensor<f32>) -> tensor<6x8x10xf32>
    %6 = weir.pad %c, %pb, %zero {mode = "edge"} : (tensor<?x?x?xf32>, tensor<6xi64>, tensor<f32>) -> tensor<?x?x?xf32>
    %7 = weir.pad %b, %pb, %zero {mode = "wrap"} : (tensor<2x3x4xf32>, tensor<6xi64>, tensor<f32>) -> tensor<6x8x10xf32>
    %8 = weir.pad %c, %pb, %zero {mode = "wrap"} : (tensor<?x?x?xf32>, tensor<6xi64>, tensor<f32>) -> tensor<?x?x?xf32>
    %9 = weir.pad %b, %pm, %zero {mode = "edge"} : (tensor<2x3x4xf32>, tensor<6xi64>, tensor<f32>) -> tensor<3x3x3xf32>
    %10 = weir.pad %c, %pm, %zero {mode = "edge"} : (tensor<?x?x?xf32>, tensor<6xi64>, tensor<f32>) -> tensor<?x?x?xf32>
    %11 = weir.pad %b, %pn, %zero {mode = "constant"} : (tensor<2x3x4xf32>, tensor<6xi64>, tensor<f32>) -> tensor<3x3x3xf32>
    %12 = weir.pad %c, %pn, %zero {mode = "constant"} : (tensor<?x?x?xf32>, tensor<6xi64>, tensor<f32>) -> tensor<?x?x?xf32>
    %13 = weir.pad %c, %po, %zero {mode = "constant"} : (tensor<?x?x?xf32>, tensor<6xi64>, tensor<f32>) -> tensor<?x?x?xf32>
    // How wide these are, the run says.
    %14 = weir.cast %p {saturate = true} : (tensor<6xf32>) -> tensor<6xi64>
    %less = weir.constant dense<[-3, -2, -7, 2, -3, 0]> : tensor<6xi64>
    %turn = weir.constant dense<[4, -2, 0, -4, -4, -8]> : tensor<6xi64>
    %15 = weir.add %14, %less : (tensor<6xi64>, tensor<6xi64>) -> tensor<6xi64>
    %16 = weir.add %14, %turn : (tensor<6xi64>, tensor<6xi64>) -> tensor<6xi64>
    %17 = weir.pad %c, %14, %zero {mode = "constant"} : (tensor<?x?x?xf32>, tensor<6xi64>, tensor<f32>) -> tensor<?x?x?xf32>
    %18 = weir.pad %c, %14, %zero {mode = "reflect"} : (tensor<?x?x?xf32>, tensor<6xi64>, tensor<f32>) -> tensor<?x?x?xf32>
    %19 = weir.pad %c, %15, %zero {mode = "constant"} : (tensor<?x?x?xf32>, tensor<6xi64>, tensor<f32>) -> tensor<?x?x?xf32>
    %20 = weir.pad %c, %16, %zero {mode = "edge"} : (tensor<?x?x?xf32>, tensor<6xi64>, tensor<f32>) -> tensor<?x?x?xf32>
    return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %17, %18, %19, %20 : tensor<?x300xf32>,
        tensor<6x8x10xf32>, tensor<?x?x?xf32>, tensor<6x8x10xf32>, tensor<?x?x?xf32>, tensor<6x8x10xf32>, tensor<?x?x?xf32>,
        tensor<6x8x10xf32>, tensor<?x?x?xf32>, tensor<3x3x3xf32>, tensor<?x?x?xf32>, tensor<3x3x3xf32>, tensor<?x?x?xf32>,
        tensor<?x?x?xf32>, tensor<?x?x?xf32>, tensor<?x?x?xf32>, tensor<?x?x?xf32>, tensor<?x?x?xf32>
  }
}
