// What the verifiers of the plan's operations refuse.
// REQUIRES: weir-opt
// RUN: weir-opt %s --split-input-file --verify-diagnostics

func.func @open(%x: tensor<?xf32>) {
  // expected-error@+1 {{copies what has no fixed size}}
  %0 = weir_plan.swap_out %x : tensor<?xf32>
  return
}

// -----

func.func @slot(%x: memref<4xf32>) {
  // expected-error@+1 {{needs a slot in the host's memory}}
  %0 = weir_plan.swap_out %x : memref<4xf32>
  return
}

// -----

func.func @strided(%x: memref<4x4xf32, strided<[8, 1]>>) {
  // expected-error@+1 {{copies a buffer that is not contiguous}}
  %0 = weir_plan.swap_out %x slot 0 : memref<4x4xf32, strided<[8, 1]>>
  return
}

// -----

func.func @other_type(%x: memref<4xf32>, %y: memref<2x2xf32>) {
  %0 = weir_plan.swap_out %x slot 0 : memref<4xf32>
  // expected-error@+1 {{copies 'memref<4xf32>' back as 'memref<2x2xf32>'}}
  %1 = weir_plan.swap_in %0 to %y : memref<2x2xf32> copied !weir.token
  return
}

// -----

func.func @other_form(%x: tensor<4xf32>, %y: memref<4xf32>) {
  %0 = weir_plan.swap_out %x : tensor<4xf32>
  // expected-error@+1 {{has either a target and a token, or a value}}
  %1 = weir_plan.swap_in %0 to %y : memref<4xf32> -> tensor<4xf32>
  return
}

// -----

func.func @nothing_saved(%x: tensor<4xf32>) {
  %0 = weir.done %x : (tensor<4xf32>) -> !weir.token
  // expected-error@+1 {{copies back what no weir_plan.swap_out of its block saved}}
  %1 = weir_plan.swap_in %0 -> tensor<4xf32>
  return
}

// -----

func.func @other_token(%x: tensor<4xf32>) {
  %0 = weir.done %x : (tensor<4xf32>) -> !weir.token
  // expected-error@+1 {{waits for what is no copy between accelerator and host}}
  weir_plan.await_swap %0
  return
}

// -----

func.func @reduced_twice(%x: memref<4xf32>, %y: memref<4xf32>) {
  // expected-error@+1 {{has either a target or a result}}
  %0 = weir_plan.all_reduce 0, %x to %y : memref<4xf32> : memref<4xf32> -> tensor<4xf32>
  return
}

// -----

func.func @reduced_to_another_type(%x: memref<4xf32>, %y: memref<2x2xf32>) {
  // expected-error@+1 {{reduces 'memref<4xf32>' to 'memref<2x2xf32>'}}
  weir_plan.all_reduce 0, %x to %y : memref<2x2xf32> : memref<4xf32>
  return
}
