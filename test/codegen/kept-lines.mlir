// What a softmax keeps of a line on the stack are whole vectors, whatever the line's length: a load
// behind a masked store waits until that is in the cache. Lines of up to eight elements are written
// out, so that LLVM makes vectors of neighbouring lines.
//
// REQUIRES: weirc
// RUN: weirc %s --cpu=x86-64-v4 --stop-after=codegen -o %t.ll && FileCheck %s < %t.ll
// CHECK: define {{.*}}_k_mul_64_13_f32(
// CHECK-COUNT-1: call void @llvm.masked.store
// CHECK-NOT: masked.store
// CHECK: {{^[}]$}}
// CHECK: define {{.*}}_k_mul_640_7_f32(
// CHECK-NOT: {{masked|alloca}}
// CHECK: fmul {{.*}}<{{8|16}} x float>
// CHECK: {{^[}]$}}

module {
  func.func @main(%x: tensor<64x13xf32> {weir.name = "x"}, %y: tensor<640x7xf32> {weir.name = "y"})
      -> (tensor<64x13xf32> {weir.name = "a"}, tensor<640x7xf32> {weir.name = "b"}) attributes {weir.entry = "main"} {
    %0 = weir.softmax %x {axis = 1 : i64, log = false} : (tensor<64x13xf32>) -> tensor<64x13xf32>
    %1 = weir.softmax %y {axis = 1 : i64, log = false} : (tensor<640x7xf32>) -> tensor<640x7xf32>
    return %0, %1 : tensor<64x13xf32>, tensor<640x7xf32>
  }
}
