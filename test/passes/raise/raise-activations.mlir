// Activations that exporters write out are one operation each.
// REQUIRES: weir-opt
// RUN: weir-opt --weir-raise-activations --split-input-file %s | FileCheck %s

// x/2 (1 + erf(x / sqrt(2))), the constant as an f32 has it.
// CHECK-LABEL: @gelu
// CHECK: %[[Y:.*]] = weir.gelu %arg0 {approximate = false}
// CHECK-NEXT: return %[[Y]]
func.func @gelu(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %root = weir.constant dense<1.41421354> : tensor<f32>
  %one = weir.constant dense<1.0> : tensor<f32>
  %half = weir.constant dense<0.5> : tensor<f32>
  %0 = weir.div %x, %root : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %1 = weir.erf %0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = weir.add %1, %one : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %3 = weir.mul %x, %2 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %4 = weir.mul %3, %half : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  return %4 : tensor<4x8xf32>
}

// -----

// The form with tanh and a cube, as a power; what x is computed of stays, and so does what
// else reads x.
// CHECK-LABEL: @tanh
// CHECK: %[[X:.*]] = weir.add %arg0, %arg1
// CHECK-NEXT: %[[Y:.*]] = weir.gelu %[[X]] {approximate = true}
// CHECK-NEXT: return %[[X]], %[[Y]]
func.func @tanh(%a: tensor<?x8xf32>, %b: tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  %three = weir.constant dense<3.0> : tensor<f32>
  %c = weir.constant dense<4.471500e-02> : tensor<f32>
  %k = weir.constant dense<0.797884583> : tensor<f32>
  %one = weir.constant dense<1.0> : tensor<f32>
  %half = weir.constant dense<0.5> : tensor<f32>
  %x = weir.add %a, %b : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %0 = weir.pow %x, %three : (tensor<?x8xf32>, tensor<f32>) -> tensor<?x8xf32>
  %1 = weir.mul %0, %c : (tensor<?x8xf32>, tensor<f32>) -> tensor<?x8xf32>
  %2 = weir.add %x, %1 : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %3 = weir.mul %2, %k : (tensor<?x8xf32>, tensor<f32>) -> tensor<?x8xf32>
  %4 = weir.tanh %3 : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %5 = weir.add %4, %one : (tensor<?x8xf32>, tensor<f32>) -> tensor<?x8xf32>
  %6 = weir.mul %x, %half : (tensor<?x8xf32>, tensor<f32>) -> tensor<?x8xf32>
  %7 = weir.mul %6, %5 : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  return %x, %7 : tensor<?x8xf32>, tensor<?x8xf32>
}

// -----

// A logistic function by its definition, and by tanh.
// CHECK-LABEL: @logistic
// CHECK-DAG: %[[A:.*]] = weir.logistic %arg0
// CHECK-DAG: %[[B:.*]] = weir.logistic %arg1
// CHECK: return %[[A]], %[[B]]
func.func @logistic(%x: tensor<8xf64>, %y: tensor<8xf32>) -> (tensor<8xf64>, tensor<8xf32>) {
  %one = weir.constant dense<1.0> : tensor<f64>
  %0 = weir.neg %x : (tensor<8xf64>) -> tensor<8xf64>
  %1 = weir.exp %0 : (tensor<8xf64>) -> tensor<8xf64>
  %2 = weir.add %1, %one : (tensor<8xf64>, tensor<f64>) -> tensor<8xf64>
  %3 = weir.div %one, %2 : (tensor<f64>, tensor<8xf64>) -> tensor<8xf64>
  %uno = weir.constant dense<1.0> : tensor<f32>
  %half = weir.constant dense<0.5> : tensor<f32>
  %4 = weir.mul %y, %half : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %5 = weir.tanh %4 : (tensor<8xf32>) -> tensor<8xf32>
  %6 = weir.add %5, %uno : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %7 = weir.mul %6, %half : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  return %3, %7 : tensor<8xf64>, tensor<8xf32>
}

// -----

// Another function: the sigmoid of 1.702 x approximates GELU, and is not it.
// CHECK-LABEL: @quick
// CHECK-NOT: weir.gelu
// CHECK: weir.logistic
func.func @quick(%x: tensor<8xf16>) -> tensor<8xf16> {
  %c = weir.constant dense<1.702> : tensor<f16>
  %0 = weir.mul %x, %c : (tensor<8xf16>, tensor<f16>) -> tensor<8xf16>
  %1 = weir.logistic %0 : (tensor<8xf16>) -> tensor<8xf16>
  %2 = weir.mul %x, %1 : (tensor<8xf16>, tensor<8xf16>) -> tensor<8xf16>
  return %2 : tensor<8xf16>
}

// -----

// The same, but for a constant that no rounding explains.
// CHECK-LABEL: @other
// CHECK-NOT: weir.gelu
func.func @other(%x: tensor<8xf32>) -> tensor<8xf32> {
  %root = weir.constant dense<1.4142> : tensor<f32>
  %one = weir.constant dense<1.0> : tensor<f32>
  %half = weir.constant dense<0.5> : tensor<f32>
  %0 = weir.div %x, %root : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %1 = weir.erf %0 : (tensor<8xf32>) -> tensor<8xf32>
  %2 = weir.add %1, %one : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %3 = weir.mul %x, %2 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %4 = weir.mul %3, %half : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  return %4 : tensor<8xf32>
}

// -----

// Something else reads what lies between: it would be computed twice.
// CHECK-LABEL: @shared
// CHECK-NOT: weir.logistic
func.func @shared(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %one = weir.constant dense<1.0> : tensor<f32>
  %0 = weir.neg %x : (tensor<8xf32>) -> tensor<8xf32>
  %1 = weir.exp %0 : (tensor<8xf32>) -> tensor<8xf32>
  %2 = weir.add %1, %one : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %3 = weir.div %one, %2 : (tensor<f32>, tensor<8xf32>) -> tensor<8xf32>
  return %3, %1 : tensor<8xf32>, tensor<8xf32>
}

// -----

// Parts on two devices are not one operation.
// CHECK-LABEL: @devices
// CHECK-NOT: weir.logistic
func.func @devices(%x: tensor<8xf32>) -> (tensor<8xf32>) {
  %one = weir.constant dense<1.0> : tensor<f32>
  %0 = weir.neg %x {weir.device = "/device:CPU:0"} : (tensor<8xf32>) -> tensor<8xf32>
  %1 = weir.exp %0 {weir.device = "/device:CPU:0"} : (tensor<8xf32>) -> tensor<8xf32>
  %2 = weir.add %1, %one {weir.device = "/device:CPU:1"} : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %3 = weir.div %one, %2 {weir.device = "/device:CPU:1"} : (tensor<f32>, tensor<8xf32>) -> tensor<8xf32>
  return %3 : tensor<8xf32>
}
