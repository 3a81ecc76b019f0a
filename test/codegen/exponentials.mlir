// Exponentials in vectors have the same bits as those computed one by one, although AVX-512 scales by
// powers of two in one instruction. Those of a softmax that are no normal numbers are 0.
//
// REQUIRES: weir-run
// RUN: %python %S/Inputs/exponentials.py values %t.in.npz
// RUN: weir-run %s --input=%t.in.npz --output=%t.out.npz
// RUN: %python %S/Inputs/exponentials.py check %t.in.npz %t.out.npz | FileCheck %s --check-prefix=SAME
// RUN: weir-run %s --cpu=x86-64-v3 --input=%t.in.npz --output=%t.out.npz
// RUN: %python %S/Inputs/exponentials.py check %t.in.npz %t.out.npz | FileCheck %s --check-prefix=SAME
// RUN: weirc %s --cpu=x86-64-v4 --stop-after=codegen -o %t.ll && FileCheck %s < %t.ll
// RUN: weirc %s --cpu=x86-64-v3 --stop-after=codegen -o %t.ll && FileCheck %s --check-prefix=V3 < %t.ll
// SAME: 12821 exponentials: equal
// CHECK: call <16 x float> @llvm.x86.avx512.mask.scalef.ps.512(
// V3-NOT: scalef

module {
  func.func @main(%x: tensor<?xf32> {weir.name = "x"}, %lines: tensor<?x16xf32> {weir.name = "lines"},
                  %pairs: tensor<?x2xf32> {weir.name = "pairs"})
      -> (tensor<?xf32> {weir.name = "one"}, tensor<?x1xf32> {weir.name = "mean"}, tensor<?x2xf32> {weir.name = "softmax"})
      attributes {weir.entry = "main"} {
    %0 = weir.exp %x : (tensor<?xf32>) -> tensor<?xf32>
    %1 = weir.exp %lines : (tensor<?x16xf32>) -> tensor<?x16xf32>
    %2 = weir.reduce %1 {axes = array<i64: 1>, keep_dims = true, kind = "mean"} : (tensor<?x16xf32>) -> tensor<?x1xf32>
    %3 = weir.softmax %pairs {axis = 1 : i64, log = false} : (tensor<?x2xf32>) -> tensor<?x2xf32>
    return %0, %2, %3 : tensor<?xf32>, tensor<?x1xf32>, tensor<?x2xf32>
  }
}
