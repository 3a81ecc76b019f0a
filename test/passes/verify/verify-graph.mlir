// RUN: weir-opt %s --split-input-file --verify-graph --verify-diagnostics

// Each module breaks one rule; the last breaks none.

// expected-error @below {{verify-graph: an argument without a rank}}
func.func @rank(%x: tensor<*xf32>) -> tensor<*xf32> {
  // expected-error @below {{verify-graph: a result without a rank}}
  %0 = weir.neg %x : (tensor<*xf32>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}

// -----

func.func @composite(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  // expected-error @below {{verify-graph: a composite is left}}
  %0 = weir.softmax %x {axis = 1 : i64, log = false} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----

func.func private @callee(%x: tensor<2xf32>) -> tensor<2xf32> {
  return %x : tensor<2xf32>
}
func.func @call(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @below {{verify-graph: a call of a function of the module is left}}
  %0 = call @callee(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

func.func @level(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @below {{verify-graph: an operation of another level: arith.negf}}
  %0 = arith.negf %x : tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

func.func @good(%x: tensor<?x3xf32>) -> tensor<?x3xf32> {
  %0 = weir.neg %x : (tensor<?x3xf32>) -> tensor<?x3xf32>
  return %0 : tensor<?x3xf32>
}
