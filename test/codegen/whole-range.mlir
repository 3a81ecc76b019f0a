// A kernel whose range is no longer than a grain runs over all of it at once: its loop
// has a known length, and neither rests nor copies of its body. A longer range may be
// cut, and is.
//
// REQUIRES: weirc
// RUN: weirc %s --cpu=x86-64-v4 --stop-after=codegen -o %t.ll && FileCheck %s < %t.ll
// CHECK: define {{.*}}_k_exp_8_64_f32(
// CHECK-NOT: define
// CHECK: = load <16 x float>
// CHECK-NOT: {{= load|<8 x float>}}
// CHECK: icmp eq i64 {{.*}}, 512
// CHECK-NOT: {{= load|<8 x float>}}
// CHECK: }
// CHECK: define {{.*}}_k_exp_1000_1000_f32(
// CHECK: = load <16 x float>
// CHECK: = load float
// CHECK: }

module {
  func.func @main(%x: tensor<8x64xf32> {weir.name = "x"}, %y: tensor<1000x1000xf32> {weir.name = "y"})
      -> (tensor<8x64xf32> {weir.name = "a"}, tensor<1000x1000xf32> {weir.name = "b"}) attributes {weir.entry = "main"} {
    %0 = weir.exp %x : (tensor<8x64xf32>) -> tensor<8x64xf32>
    %1 = weir.exp %y : (tensor<1000x1000xf32>) -> tensor<1000x1000xf32>
    return %0, %1 : tensor<8x64xf32>, tensor<1000x1000xf32>
  }
}
