// What several kernels read, and each may compute again of a value that is stored anyway, is not stored: cheap operations
// in a row, with an activation's function behind them where the result is larger than caches.
// RUN: weir-opt --weir-kernelize %s | FileCheck %s

// CHECK-LABEL: @gelu
// CHECK-DAG: weir_plan.launch @mul_1024_1024_f32{{[.0-9]*}}(%arg0) :
// CHECK-DAG: weir_plan.launch @mul_1024_1024_f32{{[.0-9]*}}(%arg{{[01]}}, %arg{{[01]}}) :
// CHECK-NOT: weir_plan.launch
// CHECK: return
func.func @gelu(%x: tensor<1024x1024xf32>, %g: tensor<1024x1024xf32>) -> (tensor<1024x1024xf32>, tensor<1024x1024xf32>) {
  %c = weir.constant dense<0.707106769> : tensor<f32>
  %n = weir.neg %x : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %m = weir.mul %n, %c : (tensor<1024x1024xf32>, tensor<f32>) -> tensor<1024x1024xf32>
  %e = weir.erfc %m : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %y = weir.mul %x, %e : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %z = weir.mul %g, %e : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  return %y, %z : tensor<1024x1024xf32>, tensor<1024x1024xf32>
}

// In caches it is read for less than it is computed.
// CHECK-LABEL: @small
// CHECK: %[[E:.*]] = weir_plan.launch @erfc_64_1024_f32(%arg0)
// CHECK-DAG: weir_plan.launch @mul_64_1024_f32{{[.0-9]*}}({{.*}}%[[E]]
// CHECK-DAG: weir_plan.launch @mul_64_1024_f32{{[.0-9]*}}({{.*}}%[[E]]
func.func @small(%x: tensor<64x1024xf32>, %g: tensor<64x1024xf32>) -> (tensor<64x1024xf32>, tensor<64x1024xf32>) {
  %c = weir.constant dense<0.707106769> : tensor<f32>
  %n = weir.neg %x : (tensor<64x1024xf32>) -> tensor<64x1024xf32>
  %m = weir.mul %n, %c : (tensor<64x1024xf32>, tensor<f32>) -> tensor<64x1024xf32>
  %e = weir.erfc %m : (tensor<64x1024xf32>) -> tensor<64x1024xf32>
  %y = weir.mul %x, %e : (tensor<64x1024xf32>, tensor<64x1024xf32>) -> tensor<64x1024xf32>
  %z = weir.mul %g, %e : (tensor<64x1024xf32>, tensor<64x1024xf32>) -> tensor<64x1024xf32>
  return %y, %z : tensor<64x1024xf32>, tensor<64x1024xf32>
}
