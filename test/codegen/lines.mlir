// A sum over lines reads each line by vectors, instead of one element of many
// lines at a time.
//
// REQUIRES: weirc
// RUN: weirc %s --cpu=x86-64-v4 --stop-after=codegen -o %t.ll && FileCheck %s --check-prefix=LOOPS < %t.ll
// LOOPS: define {{.*}}_k_reduce_64_1_f32(
// LOOPS-NOT: gather
// LOOPS: load <{{[0-9]+}} x float>
// LOOPS-NOT: gather
// LOOPS: define {{.*}}_k_reduce_64_1_f32_2(

module {
  func.func @main(%x: tensor<64x56x56xf32> {weir.name = "x"}, %y: tensor<64x7x7xf32> {weir.name = "y"})
      -> (tensor<64xf32> {weir.name = "a"}, tensor<64xf32> {weir.name = "b"}) attributes {weir.entry = "main"} {
    %0 = weir.reduce %x {axes = array<i64: 1, 2>, keep_dims = false, kind = "mean"} : (tensor<64x56x56xf32>) -> tensor<64xf32>
    %1 = weir.reduce %y {axes = array<i64: 1, 2>, keep_dims = false, kind = "mean"} : (tensor<64x7x7xf32>) -> tensor<64xf32>
    return %0, %1 : tensor<64xf32>, tensor<64xf32>
  }
}
