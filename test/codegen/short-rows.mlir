// Operands that have a last dimension of a few elements whole, and none before it, leave only short
// lines, whatever open sizes are: loops over lines and over elements, which vectors cross, in place of
// a division for each line. Threads and operands that are stretched when it runs change nothing.
//
// REQUIRES: weir-run
// RUN: weirc %s --cpu=x86-64-v4 --stop-after=codegen -o %t.ll && FileCheck %s < %t.ll
// CHECK: define {{.*}}_k_add_d_117_4_f32(
// CHECK-NOT: {{udiv <|gather}}
// CHECK: fmul {{.*}}<16 x float>
// CHECK-NOT: {{udiv <|gather}}
// CHECK: {{^[}]$}}
// RUN: %python %S/Inputs/short_rows.py values %t.in.npz 300 300
// RUN: weir-run %s --threads=2 --input=%t.in.npz --output=%t.out.npz
// RUN: %python %S/Inputs/short_rows.py check %t.in.npz %t.out.npz | FileCheck %s --check-prefix=MANY
// MANY: 245700 elements: right
// RUN: %python %S/Inputs/short_rows.py values %t.in.npz 7 1
// RUN: weir-run %s --input=%t.in.npz --output=%t.out.npz
// RUN: %python %S/Inputs/short_rows.py check %t.in.npz %t.out.npz | FileCheck %s --check-prefix=FEW
// FEW: 5733 elements: right
// RUN: %python %S/Inputs/short_rows.py values %t.in.npz 0 1
// RUN: weir-run %s --input=%t.in.npz --output=%t.out.npz
// RUN: %python %S/Inputs/short_rows.py check %t.in.npz %t.out.npz | FileCheck %s --check-prefix=NONE
// NONE: 0 elements: right

module {
  func.func @main(%x: tensor<?x117x4xf32> {weir.name = "x"}, %m: tensor<?x1x4xf32> {weir.name = "m"},
                  %v: tensor<4xf32> {weir.name = "v"}, %p: tensor<?x117x3xf32> {weir.name = "p"},
                  %q: tensor<?x1x3xf32> {weir.name = "q"})
      -> (tensor<?x117x4xf32> {weir.name = "y"}, tensor<?x117x3xf32> {weir.name = "z"}) attributes {weir.entry = "main"} {
    %0 = weir.mul %x, %m : (tensor<?x117x4xf32>, tensor<?x1x4xf32>) -> tensor<?x117x4xf32>
    %1 = weir.add %0, %v : (tensor<?x117x4xf32>, tensor<4xf32>) -> tensor<?x117x4xf32>
    %2 = weir.mul %p, %q : (tensor<?x117x3xf32>, tensor<?x1x3xf32>) -> tensor<?x117x3xf32>
    return %1, %2 : tensor<?x117x4xf32>, tensor<?x117x3xf32>
  }
}
