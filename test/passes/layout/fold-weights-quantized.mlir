// Models of bytes whose products are of f32: weights, and values that go through a byte.
//
// RUN: weir-opt --weir-fold-weights %s | FileCheck %s

// One scale for each column: (q - zero) * scale.
// CHECK-LABEL: func.func @weights
// CHECK: weir.constant dense<{{\[}}[-1.000000e+00, 5.000000e-01], [1.000000e+00, 1.500000e+00]]> : tensor<2x2xf32>
// CHECK-NOT: weir.mul
func.func @weights() -> tensor<2x2xf32> {
  %q = weir.constant dense<[[1, 3], [3, 5]]> : tensor<2x2xi8>
  %zero = weir.constant dense<2> : tensor<i32>
  %scale = weir.constant dense<[1.0, 0.5]> : tensor<2xf32>
  %0 = weir.cast %q {saturate = true} : (tensor<2x2xi8>) -> tensor<2x2xi32>
  %1 = weir.sub %0, %zero : (tensor<2x2xi32>, tensor<i32>) -> tensor<2x2xi32>
  %2 = weir.cast %1 {saturate = true} : (tensor<2x2xi32>) -> tensor<2x2xf32>
  %3 = weir.mul %2, %scale : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  return %3 : tensor<2x2xf32>
}

// A value that was rounded and clamped is the same float behind the byte.
// CHECK-LABEL: func.func @round_trip
// CHECK: %[[CLAMPED:.+]] = weir.minimum
// CHECK-NOT: weir.cast
// CHECK: weir.add %[[CLAMPED]]
func.func @round_trip(%x: tensor<8xf32>) -> tensor<8xf32> {
  %low = weir.constant dense<0.0> : tensor<f32>
  %high = weir.constant dense<255.0> : tensor<f32>
  %zero = weir.constant dense<3> : tensor<i32>
  %0 = weir.round_even %x : (tensor<8xf32>) -> tensor<8xf32>
  %1 = weir.maximum %0, %low : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %2 = weir.minimum %1, %high : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %3 = weir.cast %2 {saturate = true} : (tensor<8xf32>) -> tensor<8xui8>
  %4 = weir.cast %3 {saturate = true} : (tensor<8xui8>) -> tensor<8xi32>
  %5 = weir.sub %4, %zero : (tensor<8xi32>, tensor<i32>) -> tensor<8xi32>
  %6 = weir.cast %5 {saturate = true} : (tensor<8xi32>) -> tensor<8xf32>
  return %6 : tensor<8xf32>
}

// Beyond what the byte holds it would be another number …
// CHECK-LABEL: func.func @too_wide
// CHECK: weir.cast {{.*}} -> tensor<8xi8>
func.func @too_wide(%x: tensor<8xf32>) -> tensor<8xf32> {
  %low = weir.constant dense<0.0> : tensor<f32>
  %high = weir.constant dense<255.0> : tensor<f32>
  %0 = weir.round_even %x : (tensor<8xf32>) -> tensor<8xf32>
  %1 = weir.maximum %0, %low : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %2 = weir.minimum %1, %high : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %3 = weir.cast %2 {saturate = true} : (tensor<8xf32>) -> tensor<8xi8>
  %4 = weir.cast %3 {saturate = true} : (tensor<8xi8>) -> tensor<8xi32>
  %5 = weir.cast %4 {saturate = true} : (tensor<8xi32>) -> tensor<8xf32>
  return %5 : tensor<8xf32>
}

// … and so it would without rounding.
// CHECK-LABEL: func.func @not_whole
// CHECK: weir.cast {{.*}} -> tensor<8xui8>
func.func @not_whole(%x: tensor<8xf32>) -> tensor<8xf32> {
  %low = weir.constant dense<0.0> : tensor<f32>
  %high = weir.constant dense<255.0> : tensor<f32>
  %1 = weir.maximum %x, %low : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %2 = weir.minimum %1, %high : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %3 = weir.cast %2 {saturate = true} : (tensor<8xf32>) -> tensor<8xui8>
  %4 = weir.cast %3 {saturate = true} : (tensor<8xui8>) -> tensor<8xi32>
  %5 = weir.cast %4 {saturate = true} : (tensor<8xi32>) -> tensor<8xf32>
  return %5 : tensor<8xf32>
}

// Zero points, one for each scale, behind a cast as those of many entries are: all alike, and not.
// CHECK-LABEL: @zero_points
// CHECK: weir.constant dense<{{\[\[}}-5.000000e-01, 1.000000e+00], [0.000000e+00, 1.000000e+00]]> : tensor<2x2xf32>
// CHECK: weir.constant dense<{{\[\[}}5.000000e-01, 2.000000e+00], [1.000000e+00, 2.000000e+00]]> : tensor<2x2xf32>
// CHECK-NOT: weir.mul
func.func @zero_points() -> (tensor<2x2xf32>, tensor<2x2xf32>) {
  %q = weir.constant dense<[[1, 4], [2, 4]]> : tensor<2x2xi8>
  %scales = weir.constant dense<[5.000000e-01, 5.000000e-01]> : tensor<2xf32>
  %own = weir.constant dense<[2, 2]> : tensor<2xi8>
  %others = weir.constant dense<[0, 3]> : tensor<2xi8>
  %wide = weir.constant dense<[5.000000e-01, 2.000000e+00]> : tensor<2xf32>
  %w = weir.cast %q {saturate = true} : (tensor<2x2xi8>) -> tensor<2x2xi32>
  %z = weir.cast %own {saturate = true} : (tensor<2xi8>) -> tensor<2xi32>
  %s = weir.sub %w, %z : (tensor<2x2xi32>, tensor<2xi32>) -> tensor<2x2xi32>
  %f = weir.cast %s {saturate = true} : (tensor<2x2xi32>) -> tensor<2x2xf32>
  %0 = weir.mul %f, %scales : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  %y = weir.cast %others {saturate = true} : (tensor<2xi8>) -> tensor<2xi32>
  %t = weir.sub %w, %y : (tensor<2x2xi32>, tensor<2xi32>) -> tensor<2x2xi32>
  %g = weir.cast %t {saturate = true} : (tensor<2x2xi32>) -> tensor<2x2xf32>
  %1 = weir.mul %g, %wide : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  return %0, %1 : tensor<2x2xf32>, tensor<2x2xf32>
}
