// A function that the model keeps is put in place of its calls between borders, so that one set of kernels serves all of
// them. Constants cross a border, either way; what is computed twice from the same operands is still computed once.
//
// RUN: weir-opt %s --weir-inline-calls --canonicalize --weir-value-numbering | FileCheck %s
// RUN: weir-opt %s --weir-inline-calls --canonicalize --weir-kernelize | FileCheck %s --check-prefix=KERNELS

// CHECK-LABEL: func.func @main
// CHECK: %[[X:.*]] = weir.exp
// CHECK: %[[IN:.*]] = weir.gate %[[X]] {weir.boundary}
// CHECK: weir.mul %[[IN]], %{{.*}}
// CHECK: %[[SUM:.*]] = weir.add
// CHECK: %[[BETWEEN:.*]] = weir.gate %[[SUM]] {weir.boundary}
// CHECK: weir.mul %{{.*}}, %{{.*}}
// CHECK: %[[OUT:.*]] = weir.gate %{{.*}} {weir.boundary}
// CHECK: %[[NEG:.*]] = weir.neg %[[OUT]]
// CHECK-NOT: weir.mul
// CHECK: return %[[NEG]], %{{.*}}
// CHECK-NOT: func.func private

// KERNELS-DAG: weir_plan.kernel @exp
// KERNELS-DAG: weir_plan.kernel @add
// KERNELS-DAG: weir_plan.kernel @neg
// KERNELS-NOT: weir_plan.kernel @add{{.*}}.2
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %w = weir.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %a = weir.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  %b = func.call @f(%a, %w) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %c = func.call @f(%b, %w) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %d = weir.neg %c : (tensor<4xf32>) -> tensor<4xf32>
  %e = func.call @f(%a, %w) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %d, %e : tensor<4xf32>, tensor<4xf32>
}
func.func private @f(%v: tensor<4xf32>, %w: tensor<4xf32>) -> tensor<4xf32> attributes {weir.first_call = "f"} {
  %0 = weir.mul %v, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = weir.add %0, %v : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
