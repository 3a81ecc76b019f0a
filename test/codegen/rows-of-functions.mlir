// Functions of a tile's sums are code of a loop over its rows: written out for each row, they would
// be most of a kernel.
//
// REQUIRES: weir-run
// RUN: rm -rf %t && mkdir %t && cd %t
// RUN: weirc %s --cpu=x86-64-v4 --stop-after=codegen -o m.ll && FileCheck %s < m.ll
// CHECK: define {{.*}}_k_dot_general_tanh_56_64_f32(
// CHECK-COUNT-28: store <16 x float>
// CHECK-COUNT-2: fdiv <16 x float>
// CHECK-NOT: fdiv
// RUN: %python -c "import array; array.array('f', [1] * 56 * 64).tofile(open('x.raw', 'wb'))"
// RUN: weir-run %s --input=x=x.raw | FileCheck %s --check-prefix=VALUES
// VALUES: y: f32 56x64 [0.761594, 0.761594,

module {
  func.func @main(%x: tensor<56x64xf32> {weir.name = "x"})
      -> (tensor<56x64xf32> {weir.name = "y"}) attributes {weir.entry = "main"} {
    %w = weir.constant dense<0.015625> : tensor<64x64xf32>
    %0 = weir.dot_general %x, %w {accumulator = f32, lhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_batch = array<i64>, rhs_contract = array<i64: 0>} : (tensor<56x64xf32>, tensor<64x64xf32>) -> tensor<56x64xf32>
    %1 = weir.tanh %0 : (tensor<56x64xf32>) -> tensor<56x64xf32>
    return %1 : tensor<56x64xf32>
  }
}
