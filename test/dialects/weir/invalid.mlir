// What the verifiers refuse, with the sizes that were found.
// REQUIRES: weir-opt
// RUN: weir-opt %s -split-input-file -verify-diagnostics

func.func @broadcast(%a: tensor<2x3xf32>, %b: tensor<4xf32>) {
  // expected-error@+2 {{operands do not broadcast: dimension 1 is 3 and 4}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = weir.add %a, %b : (tensor<2x3xf32>, tensor<4xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @result_type(%a: tensor<2x3xf32>) {
  // expected-error@+2 {{failed to infer returned types}}
  // expected-error@+1 {{inferred type(s) 'tensor<3x2xf32>' are incompatible with return type(s) of operation 'tensor<2x3xf32>'}}
  %0 = weir.transpose %a {permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// A result may say less than inference does.
func.func @less_known(%a: tensor<2x3xf32>) {
  %0 = weir.transpose %a {permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<?x?xf32>
  return
}

// -----

func.func @condition(%c: tensor<2xi1>) {
  // expected-error@+1 {{condition must be a scalar of i1, found 'tensor<2xi1>'}}
  weir.if %c : (tensor<2xi1>) -> () then {
    weir.yield
  } else {
    weir.yield
  }
  return
}

// -----

func.func @branch_types(%c: tensor<i1>, %x: tensor<f32>, %y: tensor<i32>) {
  // expected-error@+1 {{second region yields 'tensor<i32>' as value 0, wanted is 'tensor<f32>'}}
  %0 = weir.if %c : (tensor<i1>) -> tensor<f32> then {
    weir.yield %x : tensor<f32>
  } else {
    weir.yield %y : tensor<i32>
  }
  return
}

// -----

func.func @loop_condition(%x: tensor<f32>) {
  // expected-error@+1 {{condition must yield one scalar of i1}}
  %0 = weir.while %x : (tensor<f32>) -> tensor<f32> while {
  ^bb0(%a: tensor<f32>):
    weir.yield %a : tensor<f32>
  } do {
  ^bb0(%a: tensor<f32>):
    weir.yield %a : tensor<f32>
  }
  return
}

// -----

func.func @loop_arguments(%x: tensor<f32>, %c: tensor<i1>) {
  // expected-error@+1 {{body must take the carried values, in their types}}
  %0 = weir.while %x : (tensor<f32>) -> tensor<f32> while {
  ^bb0(%a: tensor<f32>):
    weir.yield %c : tensor<i1>
  } do {
    weir.yield %x : tensor<f32>
  }
  return
}

// -----

func.func @bitcast(%x: tensor<3xi32>) {
  // expected-error@+1 {{the last dimension must hold 2 elements}}
  %0 = weir.bitcast %x : (tensor<3xi32>) -> tensor<i64>
  return
}

// -----

func.func @blob_type() {
  // expected-error@+1 {{value's type must be static and that of the result}}
  %0 = weir.constant #weir.blob<"weights", 0, 4, ""> : tensor<?xi32>
  return
}

// -----

func.func @kind_of_all_reduce(%a: tensor<4xf32>, %b: tensor<4xf32>) {
  // expected-error@+1 {{unknown kind of reduction 'mean'}}
  %0 = weir.all_reduce %a, %b {kind = "mean"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @types_of_all_reduce(%a: tensor<4xf32>, %b: tensor<4xf16>) {
  // expected-error@+1 {{reduces tensors of several element types}}
  %0 = weir.all_reduce %a, %b {kind = "sum"} : (tensor<4xf32>, tensor<4xf16>) -> tensor<4xf32>
  return
}

// -----

func.func @no_operands_of_all_reduce() {
  // expected-error@+2 {{there are no operands}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = weir.all_reduce {kind = "sum"} : () -> tensor<4xf32>
  return
}

// -----

func.func @trees_of_features(%x: tensor<?x1xf32>, %nodes: tensor<4x2xi32>, %trees: tensor<1x4xi32>, %weights: tensor<2x1xf32>) {
  // expected-error@+2 {{expected 2 features at least, got 1}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = weir.tree_ensemble %x, %nodes, %trees, %weights {feature_bits = 1, features = 2, kind = "sum", missing = false, steps = 1, targets = 1} : (tensor<?x1xf32>, tensor<4x2xi32>, tensor<1x4xi32>, tensor<2x1xf32>) -> tensor<?x1xf32>
  return
}

// -----

func.func @trees_of_words(%x: tensor<?x2xf32>, %nodes: tensor<4x3xi32>, %trees: tensor<1x4xi32>, %weights: tensor<2x1xf32>) {
  // expected-error@+2 {{nodes must be [M, 2] or [M, 4] of i32, trees [T, 4]}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = weir.tree_ensemble %x, %nodes, %trees, %weights {feature_bits = 1, features = 2, kind = "sum", missing = false, steps = 1, targets = 1} : (tensor<?x2xf32>, tensor<4x3xi32>, tensor<1x4xi32>, tensor<2x1xf32>) -> tensor<?x1xf32>
  return
}

// -----

func.func @trees_of_kinds(%x: tensor<?x2xf32>, %nodes: tensor<4x2xi32>, %trees: tensor<1x4xi32>, %weights: tensor<2x1xf32>) {
  // expected-error@+2 {{expected sum, max or min, got 'mean'}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = weir.tree_ensemble %x, %nodes, %trees, %weights {feature_bits = 1, features = 2, kind = "mean", missing = false, steps = 1, targets = 1} : (tensor<?x2xf32>, tensor<4x2xi32>, tensor<1x4xi32>, tensor<2x1xf32>) -> tensor<?x1xf32>
  return
}

// -----

func.func @filters_of_five() {
  // expected-error@+1 {{the source must be a filter of 3x3 of f32}}
  %0 = weir.constant #weir.winograd<dense<1.0> : tensor<5x5x8x16xf32>, 2> : tensor<1x16x8x16xf32>
  return
}

// -----

func.func @tiles_of_three() {
  // expected-error@+1 {{found tiles of 3 results; possible: 2, 4}}
  %0 = weir.constant #weir.winograd<dense<1.0> : tensor<3x3x8x16xf32>, 3> : tensor<1x25x8x16xf32>
  return
}

// -----

func.func @too_few_panels() {
  // expected-error@+1 {{the type must be [panels, matrices, channels, width] of f32}}
  %0 = weir.constant #weir.winograd<dense<1.0> : tensor<3x3x8x36xf32>, 2> : tensor<2x16x8x16xf32>
  return
}

// -----

func.func @pairs_of_odd_channels() {
  // expected-error@+1 {{or [panels, matrices, channels / 2, width, 2] of bf16}}
  %0 = weir.constant #weir.winograd<dense<1.0> : tensor<3x3x7x16xf32>, 2> : tensor<1x16x3x16x2xbf16>
  return
}

// -----

func.func @filters_in_panels() {
  // expected-error@+1 {{the source must be a blob, scaled or not, dense elements, or arranged without panels}}
  %0 = weir.constant #weir.winograd<#weir.arranged<#weir.blob<"model.onnx", 0, 432, "89"> : tensor<3x3x12xf32>, [36, 12, 8, 1], [2, 3, 12]> : tensor<3x3x2x8xf32>, 2> : tensor<1x16x2x8xf32>
  return
}

// -----

func.func @scaled_elements() {
  // expected-error@+1 {{the source must be a blob of the same type}}
  %0 = weir.constant #weir.scaled<dense<1.0> : tensor<2x3xf32>, [1.0, 2.0], 0> : tensor<2x3xf32>
  return
}

// -----

func.func @scaled_integers() {
  // expected-error@+1 {{the type must be of f32, have a fixed shape, and elements}}
  %0 = weir.constant #weir.scaled<#weir.blob<"model.onnx", 0, 24, "45"> : tensor<2x3xi32>, [1.0, 2.0], 0> : tensor<2x3xi32>
  return
}

// -----

func.func @too_few_factors() {
  // expected-error@+1 {{found 2 factors for dimension 1; possible: one for each entry of a dimension}}
  %0 = weir.constant #weir.scaled<#weir.blob<"model.onnx", 0, 24, "45"> : tensor<2x3xf32>, [1.0, 2.0], 1> : tensor<2x3xf32>
  return
}
