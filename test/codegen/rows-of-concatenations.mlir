// What reads a concatenation along the last dimension, element by element or behind a border, has
// a loop for each operand: none of them asks where an element is, and none gathers.
//
// REQUIRES: weirc, weir-run
// RUN: weirc %s --cpu=x86-64-v4 --stop-after=codegen -o %t.ll && FileCheck %s < %t.ll
// CHECK: define {{.*}}_k_relu_1_40_40_64_f32(
// CHECK-NOT: gather
// CHECK: define {{.*}}_k_pad_1_42_42_64_f32(
// CHECK-NOT: gather
// CHECK: define {{.*}}_k_pad_1_42_42_96_f32(
// CHECK-NOT: gather
// CHECK: define {{.*}}_program(

// The numbers are those of the operands, which are ramps.
// RUN: rm -rf %t && mkdir %t
// RUN: %python %S/../tools/Inputs/npz.py ramp %t/a.npz a 1x40x40x32
// RUN: %python %S/../tools/Inputs/npz.py ramp %t/b.npz b 1x40x40x32
// RUN: %python %S/../tools/Inputs/npz.py ramp %t/c.npz c 1x40x40x32
// RUN: %python %S/../tools/Inputs/npz.py ramp %t/k.npz k 64
// RUN: weir-run %s --input=%t/a.npz --input=%t/b.npz --input=%t/c.npz --input=%t/k.npz --output=%t/out.npz
// RUN: %python %S/rows_of_concatenations.py %t/a.npz %t/b.npz %t/c.npz %t/k.npz %t/out.npz

module {
  func.func @main(%a: tensor<1x40x40x32xf32> {weir.name = "a"}, %b: tensor<1x40x40x32xf32> {weir.name = "b"},
                  %c: tensor<1x40x40x32xf32> {weir.name = "c"}, %k: tensor<64xf32> {weir.name = "k"})
      -> (tensor<1x40x40x64xf32> {weir.name = "y"}, tensor<1x42x42x64xf32> {weir.name = "z"},
          tensor<1x42x42x64xf32> {weir.name = "w"},
          tensor<1x40x40x16xf32> {weir.name = "v"}) attributes {weir.entry = "main"} {
    %pads = weir.constant dense<[0, 1, 1, 0, 0, 1, 1, 0]> : tensor<8xi64>
    %zero = weir.constant dense<0.0> : tensor<f32>
    %0 = weir.concat %a, %b {axis = 3 : i64} : (tensor<1x40x40x32xf32>, tensor<1x40x40x32xf32>) -> tensor<1x40x40x64xf32>
    %1 = weir.mul %0, %k : (tensor<1x40x40x64xf32>, tensor<64xf32>) -> tensor<1x40x40x64xf32>
    %2 = weir.relu %1 : (tensor<1x40x40x64xf32>) -> tensor<1x40x40x64xf32>
    %3 = weir.concat %b, %a {axis = 3 : i64} : (tensor<1x40x40x32xf32>, tensor<1x40x40x32xf32>) -> tensor<1x40x40x64xf32>
    %4 = weir.sub %3, %k : (tensor<1x40x40x64xf32>, tensor<64xf32>) -> tensor<1x40x40x64xf32>
    %5 = weir.pad %4, %pads, %zero {mode = "constant"} : (tensor<1x40x40x64xf32>, tensor<8xi64>, tensor<f32>) -> tensor<1x42x42x64xf32>
    %6 = weir.concat %c, %a {axis = 3 : i64} : (tensor<1x40x40x32xf32>, tensor<1x40x40x32xf32>) -> tensor<1x40x40x64xf32>
    %7 = weir.pad %6, %pads, %zero {mode = "constant"} : (tensor<1x40x40x64xf32>, tensor<8xi64>, tensor<f32>) -> tensor<1x42x42x64xf32>
    // The border that a convolution asks for is written with what is copied.
    %filter = weir.constant dense<0.5> : tensor<3x3x96x16xf32>
    %8 = weir.concat %c, %b, %a {axis = 3 : i64} : (tensor<1x40x40x32xf32>, tensor<1x40x40x32xf32>, tensor<1x40x40x32xf32>) -> tensor<1x40x40x96xf32>
    %9 = weir.conv %8, %filter {accumulator = f32, channels_last = true, dilations = array<i64: 1, 1>, groups = 1 : i64, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>} : (tensor<1x40x40x96xf32>, tensor<3x3x96x16xf32>) -> tensor<1x40x40x16xf32>
    return %2, %5, %7, %9 : tensor<1x40x40x64xf32>, tensor<1x42x42x64xf32>, tensor<1x42x42x64xf32>, tensor<1x40x40x16xf32>
  }
}
