// Running reductions are never cut along their axis.
//
// RUN: weir-opt --weir-kernelize %s | FileCheck %s

module attributes {weir.target = #weir.target<vector_bytes = 64>} {
  // Along the last dimension: a line a part.
  // CHECK: weir_plan.kernel @cumulative_6_100_f32
  // CHECK-SAME: schedule <scan,
  // CHECK-NOT: columns
  // CHECK-SAME: parts = array<i64: 1, 1099511627776>
  func.func @last(%x: tensor<6x100xf32>) -> tensor<6x100xf32> {
    %0 = weir.cumulative %x {kind = "sum", axis = 1 : i64, exclusive = false, reverse = false} : (tensor<6x100xf32>) -> tensor<6x100xf32>
    return %0 : tensor<6x100xf32>
  }

  // Along another: neighbouring lines side by side …
  // CHECK: weir_plan.kernel @cumulative_100_6_f32
  // CHECK-SAME: columns, {{.*}}parts = array<i64: 1099511627776, 512>
  func.func @first(%x: tensor<100x6xf32>) -> tensor<100x6xf32> {
    %0 = weir.cumulative %x {kind = "sum", axis = 0 : i64, exclusive = false, reverse = false} : (tensor<100x6xf32>) -> tensor<100x6xf32>
    return %0 : tensor<100x6xf32>
  }

  // … of long rows as many as threads leave and half of the first-level cache holds …
  // CHECK: weir_plan.kernel @cumulative_9_40000_f32
  // CHECK-SAME: columns, {{.*}}parts = array<i64: 1099511627776, 4096>
  // CHECK: weir_plan.kernel @cumulative_9_40000_f64
  // CHECK-SAME: columns, {{.*}}parts = array<i64: 1099511627776, 2048>
  func.func @long(%x: tensor<9x40000xf32>, %y: tensor<9x40000xf64>) -> (tensor<9x40000xf32>, tensor<9x40000xf64>) {
    %0 = weir.cumulative %x {kind = "sum", axis = 0 : i64, exclusive = false, reverse = false} : (tensor<9x40000xf32>) -> tensor<9x40000xf32>
    %1 = weir.cumulative %y {kind = "sum", axis = 0 : i64, exclusive = false, reverse = false} : (tensor<9x40000xf64>) -> tensor<9x40000xf64>
    return %0, %1 : tensor<9x40000xf32>, tensor<9x40000xf64>
  }

  // … of halves, too, whose sums are wider, with what follows, and with the casts before them,
  // of whatever size.
  // CHECK: weir_plan.kernel @cumulative_100_6_f16
  // CHECK-SAME: columns, {{.*}}parts = array<i64: 1099511627776, 512>
  func.func @narrow(%x: tensor<100x6xf16>) -> tensor<100x6xf16> {
    %0 = weir.cumulative %x {kind = "sum", axis = 0 : i64, exclusive = false, reverse = false} : (tensor<100x6xf16>) -> tensor<100x6xf16>
    return %0 : tensor<100x6xf16>
  }
  // CHECK: weir_plan.kernel @cast_d_d_f16
  // CHECK-SAME: columns, {{.*}}parts = array<i64: 1099511627776, 1024>
  // CHECK: weir.cast
  // CHECK: weir.cumulative
  // CHECK: weir.cast
  // CHECK-NOT: weir_plan.kernel
  func.func @widened(%x: tensor<?x?xf16>) -> tensor<?x?xf16> {
    %0 = weir.cast %x {saturate = false} : (tensor<?x?xf16>) -> tensor<?x?xf32>
    %1 = weir.cumulative %0 {kind = "sum", axis = 0 : i64, exclusive = false, reverse = false} : (tensor<?x?xf32>) -> tensor<?x?xf32>
    %2 = weir.cast %1 {saturate = false} : (tensor<?x?xf32>) -> tensor<?x?xf16>
    return %2 : tensor<?x?xf16>
  }
}
