// LLVM is told that what computes positions in a kernel in vectors does not overflow, and is not told
// so of what counts the turns of a loop.
//
// REQUIRES: weirc
// RUN: weirc %s --cpu=x86-64-v4 --stop-after=codegen -O1 -o %t.ll && FileCheck %s < %t.ll
// CHECK-LABEL: define {{.*}}_k_dot_general_64_96_f32(
// CHECK: mul nsw i64
// CHECK: add nsw i64 %{{[0-9]+}}, %{{[0-9]+}}
// CHECK-NOT: add nsw i64 %{{[0-9]+}}, 1{{$}}
// CHECK: {{^[}]$}}

module {
  func.func @main(%x: tensor<64x80xf32> {weir.name = "x"}, %y: tensor<80x96xf32> {weir.name = "y"})
      -> (tensor<64x96xf32> {weir.name = "z"}) attributes {weir.entry = "main"} {
    %0 = weir.dot_general %x, %y {accumulator = f32, lhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_batch = array<i64>, rhs_contract = array<i64: 0>} : (tensor<64x80xf32>, tensor<80x96xf32>) -> tensor<64x96xf32>
    return %0 : tensor<64x96xf32>
  }
}
