// Results whose open lines are of an element or few each: the place of a line is found by divisions
// once, and the line is computed by vectors. A division for each result took up to 30 times as long.
//
// REQUIRES: weirc
// RUN: weirc %s --cpu=x86-64-v3 --stop-after=codegen -o %t.ll && FileCheck %s < %t.ll
// CHECK: define {{.*}}_k_reduce_d_d_1_f32(
// CHECK-COUNT-2: udiv i64
// CHECK-NOT: {{[su]div}} i64
// CHECK: call {{.*}}@llvm.maximum.v8f32
// CHECK-NOT: {{[su]div}} i64
// CHECK: {{^[}]$}}

module {
  func.func @main(%x: tensor<?x?x3xf32> {weir.name = "x"}) -> (tensor<?x?x1xf32> {weir.name = "y"}) attributes {weir.entry = "main"} {
    %0 = weir.reduce %x {axes = array<i64: 2>, keep_dims = true, kind = "max"} : (tensor<?x?x3xf32>) -> tensor<?x?x1xf32>
    return %0 : tensor<?x?x1xf32>
  }
}
