// Remainders of f32 are vectors of f64, and those of f64 a division and a product where the
// quotient is short: the C library took 8 ns for each of them.
//
// REQUIRES: weirc
// RUN: weirc %s --cpu=x86-64-v4 --stop-after=codegen -o %t.ll && FileCheck %s < %t.ll
// CHECK: define {{.*}}_k_rem_4096_f32(
// CHECK-NOT: frem
// CHECK: fdiv {{.*}}<8 x double>
// CHECK-COUNT-6: call {{.*}}<8 x double> @llvm.trunc
// CHECK-NOT: frem
// CHECK: {{^[}]$}}
// CHECK: define {{.*}}_k_rem_4096_f64(
// CHECK-NOT: frem
// CHECK: fdiv {{.*}}double
// CHECK: {{^[}]$}}

module {
  func.func @main(%x: tensor<4096xf32> {weir.name = "x"}, %y: tensor<4096xf32> {weir.name = "y"},
                  %a: tensor<4096xf64> {weir.name = "a"}, %b: tensor<4096xf64> {weir.name = "b"})
      -> (tensor<4096xf32> {weir.name = "r"}, tensor<4096xf64> {weir.name = "s"})
      attributes {weir.entry = "main"} {
    %0 = weir.rem %x, %y : (tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32>
    %1 = weir.rem %a, %b : (tensor<4096xf64>, tensor<4096xf64>) -> tensor<4096xf64>
    return %0, %1 : tensor<4096xf32>, tensor<4096xf64>
  }
}
