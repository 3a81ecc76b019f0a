// RUN: weir-opt %s --split-input-file --verify-kernels --verify-diagnostics

// Each module breaks one rule; the last breaks none.

func.func @left(%x: tensor<64xf32>) -> tensor<64xf32> attributes {weir.device_index = 0 : i64} {
  // expected-error @below {{verify-kernels: a kernel's work is left in a step: weir.neg}}
  %0 = weir.neg %x : (tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

// -----

// expected-error @below {{verify-kernels: a kernel that nothing launches: idle}}
weir_plan.kernel @idle schedule <loops, {grain = 1 : i64}> nodes "a" {
^bb0(%x: tensor<64xf32>):
  %0 = weir.neg %x : (tensor<64xf32>) -> tensor<64xf32>
  weir_plan.return %0 : tensor<64xf32>
}

// -----

weir_plan.kernel @flat schedule <loops, {grain = 1 : i64}> nodes "a" {
^bb0(%x: tensor<64xf32>):
  // expected-error @below {{verify-kernels: in a kernel: arith.negf}}
  %0 = arith.negf %x : tensor<64xf32>
  weir_plan.return %0 : tensor<64xf32>
}
func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> attributes {weir.device_index = 0 : i64} {
  %0 = weir_plan.launch @flat(%x) : (tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

// -----

weir_plan.kernel @random schedule <loops, {grain = 1 : i64}> nodes "a" {
^bb0(%x: tensor<i1>):
  // expected-error @below {{verify-kernels: control flow or an effect in a kernel: weir.assert}}
  %0 = weir.assert %x {message = "no", code = 3 : i64} : (tensor<i1>) -> !weir.token
  weir_plan.return %x : tensor<i1>
}
func.func @step(%x: tensor<i1>) -> tensor<i1> attributes {weir.device_index = 0 : i64} {
  %0 = weir_plan.launch @random(%x) : (tensor<i1>) -> tensor<i1>
  return %0 : tensor<i1>
}

// -----

weir_plan.kernel @ordered schedule <loops, {grain = 1 : i64}> nodes "a" {
^bb0(%x: tensor<64xf32>):
  %t = weir.done %x : (tensor<64xf32>) -> !weir.token
  // expected-error @below {{verify-kernels: a token in a kernel: weir.gate}}
  %0 = weir.gate %x after %t : tensor<64xf32>
  weir_plan.return %0 : tensor<64xf32>
}
func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> attributes {weir.device_index = 0 : i64} {
  %0 = weir_plan.launch @ordered(%x) : (tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

// -----

weir_plan.kernel @good schedule <loops, {grain = 1 : i64}> nodes "a" {
^bb0(%x: tensor<64xf32>):
  %0 = weir.neg %x : (tensor<64xf32>) -> tensor<64xf32>
  weir_plan.return %0 : tensor<64xf32>
}
func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> attributes {weir.device_index = 0 : i64} {
  %0 = weir_plan.launch @good(%x) : (tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}
