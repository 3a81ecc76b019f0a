// Products of bytes with scales that stay products of reals say so, and why.
// REQUIRES: weir-opt
// RUN: weir-opt --weir-quantized-gemms --split-input-file --verify-diagnostics %s -o /dev/null

module attributes {weir.target = #weir.target<byte_products = blocks>} {
  func.func @computed_scale(%x: tensor<4x32xui8>, %w: tensor<32x16xi8>, %scale: tensor<f32>) -> tensor<4x16xf32> {
    %half = weir.constant dense<5.000000e-01> : tensor<f32>
    %aw = weir.cast %x {saturate = true} : (tensor<4x32xui8>) -> tensor<4x32xi32>
    %af = weir.cast %aw {saturate = true} : (tensor<4x32xi32>) -> tensor<4x32xf32>
    %a = weir.mul %af, %scale : (tensor<4x32xf32>, tensor<f32>) -> tensor<4x32xf32>
    %bw = weir.cast %w {saturate = true} : (tensor<32x16xi8>) -> tensor<32x16xi32>
    %bf = weir.cast %bw {saturate = true} : (tensor<32x16xi32>) -> tensor<32x16xf32>
    %b = weir.mul %bf, %half : (tensor<32x16xf32>, tensor<f32>) -> tensor<32x16xf32>
    // expected-warning @+1 {{W0501: found a product of quantised operands that is computed in f32: a scale is computed}}
    %y = weir.dot_general %a, %b {accumulator = f32, lhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_batch = array<i64>, rhs_contract = array<i64: 0>} : (tensor<4x32xf32>, tensor<32x16xf32>) -> tensor<4x16xf32>
    return %y : tensor<4x16xf32>
  }
}

// -----

// A processor without products of bytes.
module {
  func.func @no_unit(%x: tensor<4x32xui8>, %w: tensor<32x16xi8>) -> tensor<4x16xf32> {
    %half = weir.constant dense<5.000000e-01> : tensor<f32>
    %aw = weir.cast %x {saturate = true} : (tensor<4x32xui8>) -> tensor<4x32xi32>
    %af = weir.cast %aw {saturate = true} : (tensor<4x32xi32>) -> tensor<4x32xf32>
    %a = weir.mul %af, %half : (tensor<4x32xf32>, tensor<f32>) -> tensor<4x32xf32>
    %bw = weir.cast %w {saturate = true} : (tensor<32x16xi8>) -> tensor<32x16xi32>
    %bf = weir.cast %bw {saturate = true} : (tensor<32x16xi32>) -> tensor<32x16xf32>
    %b = weir.mul %bf, %half : (tensor<32x16xf32>, tensor<f32>) -> tensor<32x16xf32>
    // expected-warning @+1 {{W0501: found a product of quantised operands that is computed in f32: the processor that code is for multiplies no bytes}}
    %y = weir.dot_general %a, %b {accumulator = f32, lhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_batch = array<i64>, rhs_contract = array<i64: 0>} : (tensor<4x32xf32>, tensor<32x16xf32>) -> tensor<4x16xf32>
    return %y : tensor<4x16xf32>
  }
}

// -----

// Bytes times as many numbers are no quantised ones: no warning.
module attributes {weir.target = #weir.target<byte_products = blocks>} {
  func.func @own_factors(%x: tensor<4x32xui8>, %f: tensor<4x32xf32>, %w: tensor<32x16xi8>) -> tensor<4x16xf32> {
    %half = weir.constant dense<5.000000e-01> : tensor<f32>
    %aw = weir.cast %x {saturate = true} : (tensor<4x32xui8>) -> tensor<4x32xi32>
    %af = weir.cast %aw {saturate = true} : (tensor<4x32xi32>) -> tensor<4x32xf32>
    %a = weir.mul %af, %f : (tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<4x32xf32>
    %bw = weir.cast %w {saturate = true} : (tensor<32x16xi8>) -> tensor<32x16xi32>
    %bf = weir.cast %bw {saturate = true} : (tensor<32x16xi32>) -> tensor<32x16xf32>
    %b = weir.mul %bf, %half : (tensor<32x16xf32>, tensor<f32>) -> tensor<32x16xf32>
    %y = weir.dot_general %a, %b {accumulator = f32, lhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_batch = array<i64>, rhs_contract = array<i64: 0>} : (tensor<4x32xf32>, tensor<32x16xf32>) -> tensor<4x16xf32>
    return %y : tensor<4x16xf32>
  }
}

// -----

// Products of floats times a number, as attention scales both its operands: no warning.
module {
  func.func @scaled_floats(%x: tensor<4x32xf32>, %w: tensor<32x16xf32>) -> tensor<4x16xf32> {
    %half = weir.constant dense<5.000000e-01> : tensor<f32>
    %a = weir.mul %x, %half : (tensor<4x32xf32>, tensor<f32>) -> tensor<4x32xf32>
    %b = weir.mul %w, %half : (tensor<32x16xf32>, tensor<f32>) -> tensor<32x16xf32>
    %y = weir.dot_general %a, %b {accumulator = f32, lhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_batch = array<i64>, rhs_contract = array<i64: 0>} : (tensor<4x32xf32>, tensor<32x16xf32>) -> tensor<4x16xf32>
    return %y : tensor<4x16xf32>
  }
}

// -----

// Floats are not asked for, and few columns gain nothing: no warning.
module attributes {weir.target = #weir.target<byte_products = blocks>} {
  func.func @floats(%x: tensor<4x32xf32>, %w: tensor<32x16xf32>) -> tensor<4x16xf32> {
    %y = weir.dot_general %x, %w {accumulator = f32, lhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_batch = array<i64>, rhs_contract = array<i64: 0>} : (tensor<4x32xf32>, tensor<32x16xf32>) -> tensor<4x16xf32>
    return %y : tensor<4x16xf32>
  }
}
