// A concatenation along a dimension before the last copies blocks of lines, as many as operands in each
// part of the dimensions before, and not a line of a few elements at a time. Threads cut blocks anywhere.
//
// REQUIRES: weir-run
// RUN: weirc %s --cpu=x86-64-v4 --stop-after=codegen -o %t.ll && FileCheck %s < %t.ll
// CHECK: define {{.*}}_k_concat_d_d_3_f32{{(\.2)?}}(
// CHECK-COUNT-2: call void @llvm.memcpy
// CHECK-NOT: load float
// CHECK: {{^[}]$}}
// RUN: %python %S/Inputs/concatenated_blocks.py values %t.in.npz 37 1001 403
// RUN: weir-run %s --threads=2 --input=%t.in.npz --output=%t.out.npz
// RUN: %python %S/Inputs/concatenated_blocks.py check %t.in.npz %t.out.npz | FileCheck %s --check-prefix=MANY
// MANY: 489177 elements: right
// RUN: %python %S/Inputs/concatenated_blocks.py values %t.in.npz 3 0 5
// RUN: weir-run %s --input=%t.in.npz --output=%t.out.npz
// RUN: %python %S/Inputs/concatenated_blocks.py check %t.in.npz %t.out.npz | FileCheck %s --check-prefix=FEW
// FEW: 45 elements: right
// RUN: %python %S/Inputs/concatenated_blocks.py values %t.in.npz 2 0 0
// RUN: weir-run %s --input=%t.in.npz --output=%t.out.npz
// RUN: %python %S/Inputs/concatenated_blocks.py check %t.in.npz %t.out.npz | FileCheck %s --check-prefix=NONE
// NONE: 0 elements: right

module {
  func.func @main(%x: tensor<?x?x3xf32> {weir.name = "x"}, %y: tensor<?x?x3xf32> {weir.name = "y"})
      -> (tensor<?x?x3xf32> {weir.name = "middle"}, tensor<?x?x3xf32> {weir.name = "outer"}) attributes {weir.entry = "main"} {
    %0 = weir.concat %x, %y, %x {axis = 1 : i64} : (tensor<?x?x3xf32>, tensor<?x?x3xf32>, tensor<?x?x3xf32>) -> tensor<?x?x3xf32>
    %1 = weir.concat %x, %x {axis = 0 : i64} : (tensor<?x?x3xf32>, tensor<?x?x3xf32>) -> tensor<?x?x3xf32>
    return %0, %1 : tensor<?x?x3xf32>, tensor<?x?x3xf32>
  }
}
