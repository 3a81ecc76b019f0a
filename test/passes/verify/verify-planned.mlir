// RUN: weir-opt %s --split-input-file --verify-planned --verify-diagnostics

// Each module breaks one rule; the last breaks none.

module {
  // expected-error @below {{verify-planned: its device has no arena in weir_plan.arenas}}
  func.func @arena() attributes {weir.device_index = 0 : i64} {
    return
  }
}

// -----

module attributes {weir_plan.arenas = [{bound = 256 : i64, bytes = 256 : i64, device = 0 : i64}]} {
  func.func @offset() attributes {weir.device_index = 0 : i64} {
    // expected-error @below {{verify-planned: a buffer without an offset}}
    %0 = weir_plan.buffer : memref<64xf32>
    // expected-error @below {{verify-planned: offset 8 is no multiple of 64}}
    %1 = weir_plan.buffer at 8 : memref<16xf32>
    // expected-error @below {{verify-planned: ends at byte 320 of an arena of 256}}
    %2 = weir_plan.buffer at 64 : memref<64xf32>
    return
  }
}

// -----

module attributes {weir_plan.arenas = [{bound = 256 : i64, bytes = 256 : i64, device = 0 : i64}]} {
  func.func @tensor() attributes {weir.device_index = 0 : i64} {
    // expected-error @below {{verify-planned: a tensor is left in a step: weir.constant}}
    %0 = weir.constant dense<1.0> : tensor<64xf32>
    return
  }
}

// -----

module attributes {weir_plan.arenas = [{bound = 512 : i64, bytes = 512 : i64, device = 0 : i64}]} {
  weir_plan.kernel @neg schedule <loops, {grain = 1 : i64}> nodes "a" {
  ^bb0(%x: tensor<64xf32>):
    %0 = weir.neg %x : (tensor<64xf32>) -> tensor<64xf32>
    weir_plan.return %0 : tensor<64xf32>
  }
  func.func @types() attributes {weir.device_index = 0 : i64} {
    %0 = weir_plan.buffer at 0 : memref<64xi32>
    %1 = weir_plan.buffer at 256 : memref<64xf32>
    %c = arith.constant 64 : index
    // expected-error @below {{verify-planned: reads elements of 'i32' where its kernel has 'f32'}}
    weir_plan.run @neg range %c grain 1 reads(%0 : memref<64xi32>) writes(%1 : memref<64xf32>)
    return
  }
}

// -----

module attributes {weir_plan.arenas = [{bound = 512 : i64, bytes = 512 : i64, device = 0 : i64}]} {
  func.func @open() attributes {weir.device_index = 0 : i64} {
    // expected-error @below {{verify-planned: a buffer of the arena without a fixed size}}
    %0 = weir_plan.buffer at 0 : memref<?xf32>
    return
  }
}

// -----

module attributes {weir_plan.arenas = [{bound = 512 : i64, bytes = 512 : i64, device = 0 : i64}]} {
  func.func @swap() attributes {weir.device_index = 0 : i64} {
    %0 = weir_plan.buffer at 0 : memref<64xf32>
    // expected-error @below {{verify-planned: a copy to the host that nothing waits for}}
    %1 = weir_plan.swap_out %0 slot 0 : memref<64xf32>
    return
  }
}

// -----

module attributes {weir_plan.arenas = [{bound = 512 : i64, bytes = 512 : i64, device = 0 : i64}]} {
  weir_plan.kernel @neg schedule <loops, {grain = 1 : i64}> nodes "a" {
  ^bb0(%x: tensor<64xf32>):
    %0 = weir.neg %x : (tensor<64xf32>) -> tensor<64xf32>
    weir_plan.return %0 : tensor<64xf32>
  }
  func.func @writes() attributes {weir.device_index = 0 : i64} {
    %0 = weir_plan.buffer at 0 : memref<64xf32>
    %1 = weir_plan.buffer at 256 : memref<64xi32>
    %c = arith.constant 64 : index
    // expected-error @below {{verify-planned: writes elements of 'i32' where its kernel has 'f32'}}
    weir_plan.run @neg range %c grain 1 reads(%0 : memref<64xf32>) writes(%1 : memref<64xi32>)
    return
  }
}

// -----

module attributes {weir_plan.arenas = [{bound = 512 : i64, bytes = 512 : i64, device = 0 : i64}]} {
  weir_plan.kernel @neg schedule <loops, {grain = 1 : i64}> nodes "a" {
  ^bb0(%x: tensor<64xf32>):
    %0 = weir.neg %x : (tensor<64xf32>) -> tensor<64xf32>
    weir_plan.return %0 : tensor<64xf32>
  }
  func.func @good() attributes {weir.device_index = 0 : i64} {
    %0 = weir_plan.buffer at 0 : memref<64xf32>
    %1 = weir_plan.buffer at 256 : memref<64xf32>
    %c = arith.constant 64 : index
    weir_plan.run @neg range %c grain 1 reads(%0 : memref<64xf32>) writes(%1 : memref<64xf32>)
    return
  }
}
