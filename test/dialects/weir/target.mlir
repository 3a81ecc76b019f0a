// The facts of a target, as they are read and written; what is left out is unknown.
// REQUIRES: weir-opt
// RUN: weir-opt --split-input-file --verify-diagnostics %s | FileCheck %s

// CHECK: weir.target = #weir.target<vector_bytes = 64, vector_registers = 32, byte_products = quads, bf16_products = blocks, widens_halves, passes_halves, may_offload>
module attributes {weir.target = #weir.target<may_offload, passes_halves, widens_halves, bf16_products = blocks, byte_products = quads, vector_registers = 32, vector_bytes = 64>} {
}

// -----

// CHECK: weir.target = #weir.target<>
module attributes {weir.target = #weir.target<>} {
}

// -----

// expected-error @+1 {{vector_bytes must be a power of two, got 48}}
module attributes {weir.target = #weir.target<vector_bytes = 48>} {
}

// -----

// expected-error @+1 {{expected what multiplies such numbers, got tiles}}
module attributes {weir.target = #weir.target<byte_products = tiles>} {
}

// -----

// expected-error @+1 {{expected a fact of a target, got cores}}
module attributes {weir.target = #weir.target<cores = 4>} {
}
