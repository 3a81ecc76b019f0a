// Columns of a known number that the last panel of a reduction has: as many whole vectors as there are, 200 = 3 * 64 + 8, and no masks; of
// 61 = 32 + 16 + 8 + 5 one masked vector.

// REQUIRES: weirc
// RUN: weirc %s --cpu=x86-64-v3 -o %t.ll && FileCheck %s --input-file=%t.ll

// CHECK-LABEL: define {{.*}}reduce_200_f32
// CHECK-NOT: masked
// CHECK: fadd
// CHECK-NOT: masked
// CHECK: {{^}}}
func.func @whole(%x: tensor<40x200xf32> {weir.name = "x"}) -> (tensor<200xf32> {weir.name = "y"}) attributes {weir.entry = "whole"} {
  %y = weir.reduce %x {axes = array<i64: 0>, keep_dims = false, kind = "sum"} : (tensor<40x200xf32>) -> tensor<200xf32>
  return %y : tensor<200xf32>
}

// CHECK-LABEL: define {{.*}}reduce_61_f32
// CHECK-NOT: masked.load.v{{16|32|64}}f32
// CHECK: masked.load.v8f32
// CHECK-NOT: masked.load.v{{16|32|64}}f32
// CHECK: {{^}}}
func.func @left(%x: tensor<40x61xf32> {weir.name = "x"}) -> (tensor<61xf32> {weir.name = "y"}) attributes {weir.entry = "left"} {
  %y = weir.reduce %x {axes = array<i64: 0>, keep_dims = false, kind = "sum"} : (tensor<40x61xf32>) -> tensor<61xf32>
  return %y : tensor<61xf32>
}
