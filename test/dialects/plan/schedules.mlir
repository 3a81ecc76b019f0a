// RUN: weir-opt %s --split-input-file --verify-diagnostics

// Each schedule but the last breaks one rule.

// expected-error @below {{a schedule of kind gemm needs `tile`}}
"builtin.module"() ({}) {s = #weir_plan.schedule<gemm, {parts = array<i64: 140, 32>}>} : () -> ()

// -----

// expected-error @below {{a schedule of kind scan needs `parts`}}
"builtin.module"() ({}) {s = #weir_plan.schedule<scan>} : () -> ()

// -----

// expected-error @below {{a schedule of kind scan has no `tile`}}
"builtin.module"() ({}) {s = #weir_plan.schedule<scan, {parts = array<i64: 1>, tile = array<i64: 1, 1, 16>}>} : () -> ()

// -----

// expected-error @below {{a schedule of kind loops has no `speed`}}
"builtin.module"() ({}) {s = #weir_plan.schedule<loops, {speed = 3 : i64}>} : () -> ()

// -----

// expected-error @below {{a schedule without parameters has no list of them}}
"builtin.module"() ({}) {s = #weir_plan.schedule<loops, {}>} : () -> ()

// -----

// expected-error @below {{`grain` of a schedule must be a number of at least 1}}
"builtin.module"() ({}) {s = #weir_plan.schedule<loops, {grain = 0 : i64}>} : () -> ()

// -----

// expected-error @below {{`parts` of a schedule must be sizes of at least 1}}
"builtin.module"() ({}) {s = #weir_plan.schedule<loops, {parts = array<i64: 4, 0>}>} : () -> ()

// -----

// expected-error @below {{`tile` of a schedule must be [rows, vectors, lanes] of at least 1}}
"builtin.module"() ({}) {s = #weir_plan.schedule<gemm, {parts = array<i64: 140, 32>, tile = array<i64: 14, 2>}>} : () -> ()

// -----

// expected-error @below {{`merged` of a schedule must be [first, last)}}
"builtin.module"() ({}) {s = #weir_plan.schedule<gemm, {merged = array<i64: 2, 1>, parts = array<i64: 140, 32>, tile = array<i64: 14, 2, 16>}>} : () -> ()

// -----

// expected-error @below {{`pointwise` of a schedule must be without a value}}
"builtin.module"() ({}) {s = #weir_plan.schedule<convolution, {parts = array<i64: 1>, pointwise = true, tile = array<i64: 14, 2, 16>}>} : () -> ()

// -----

// expected-error @below {{writes result 1 over argument 0, which it lacks or writes over twice}}
weir_plan.kernel @over schedule <loops> nodes "a" attributes {in_place = array<i64: -1, 0, 0>} {
^bb0(%x: tensor<64xf32>):
  %0 = weir.neg %x : (tensor<64xf32>) -> tensor<64xf32>
  weir_plan.return %0, %0, %0 : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
}

// -----

// expected-error @below {{says of another number of results than it has what they are written over}}
weir_plan.kernel @over schedule <loops> nodes "a" attributes {in_place = array<i64: 0, 0>} {
^bb0(%x: tensor<64xf32>):
  %0 = weir.neg %x : (tensor<64xf32>) -> tensor<64xf32>
  weir_plan.return %0 : tensor<64xf32>
}

// -----

// expected-error @below {{cuts more dimensions than its result of rank 1 has}}
weir_plan.kernel @cut schedule <loops, {parts = array<i64: 1, 1>}> nodes "a" {
^bb0(%x: tensor<64xf32>):
  %0 = weir.neg %x : (tensor<64xf32>) -> tensor<64xf32>
  weir_plan.return %0 : tensor<64xf32>
}

// -----

// expected-error @below {{merges dimensions that its result of rank 2 lacks}}
weir_plan.kernel @joined schedule <transposition, {merged = array<i64: 1, 3>, parts = array<i64: 16, 64>, tile = array<i64: 16, 1, 16>}> nodes "a" {
^bb0(%x: tensor<64x64xf32>):
  %0 = weir.transpose %x {permutation = array<i64: 1, 0>} : (tensor<64x64xf32>) -> tensor<64x64xf32>
  weir_plan.return %0 : tensor<64x64xf32>
}

// -----

weir_plan.kernel @good schedule <gemm, {copies_panels, depth_block = 512 : i64, fetch_ahead = true, grain = 3 : i64, merged = array<i64: 0, 2>, parts = array<i64: 140, 32>, tile = array<i64: 14, 2, 16>, tuned = "tile=14x2", where_it_pays}> nodes "a" {
^bb0(%x: tensor<2x64x64xf32>, %y: tensor<64x64xf32>):
  %0 = weir.dot_general %x, %y {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 2>, rhs_contract = array<i64: 0>} : (tensor<2x64x64xf32>, tensor<64x64xf32>) -> tensor<2x64x64xf32>
  weir_plan.return %0 : tensor<2x64x64xf32>
}
