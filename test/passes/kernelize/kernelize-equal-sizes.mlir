// Open sizes that are the same whatever is fed: what adds them up has no code for those that are
// stretched.
//
// RUN: weir-opt --weir-kernelize %s | FileCheck %s

module attributes {weir.target = #weir.target<vector_bytes = 64>} {
  // A border, and a window that takes as much.
  // CHECK-LABEL: weir_plan.kernel @conv_add_d_d_d_64_f32
  // CHECK: weir.add {{.*}} {weir.equal_sizes}
  func.func @residual(%x: tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32> {
    %w = weir.constant dense<2.0> : tensor<3x3x64x64xf32>
    %pads = weir.constant dense<[0, 1, 0, 0, 0, 1, 2, 0]> : tensor<8xi64>
    %zero = weir.constant dense<0.0> : tensor<f32>
    %padded = weir.pad %x, %pads, %zero {mode = "constant"} : (tensor<?x?x?x64xf32>, tensor<8xi64>, tensor<f32>) -> tensor<?x?x?x64xf32>
    %0 = weir.conv %padded, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, channels_last = true, accumulator = f32} : (tensor<?x?x?x64xf32>, tensor<3x3x64x64xf32>) -> tensor<?x?x?x64xf32>
    %1 = weir.add %x, %0 : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32>
    return %1 : tensor<?x?x?x64xf32>
  }

  // The border takes one line more than the window.
  // CHECK-LABEL: weir_plan.kernel @conv_add_d_d_d_64_f32.2
  // CHECK-NOT: equal_sizes
  // CHECK-LABEL: weir_plan.kernel
  func.func @larger(%x: tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32> {
    %w = weir.constant dense<2.0> : tensor<3x3x64x64xf32>
    %0 = weir.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 2>, dilations = array<i64: 1, 1>, groups = 1 : i64, channels_last = true, accumulator = f32} : (tensor<?x?x?x64xf32>, tensor<3x3x64x64xf32>) -> tensor<?x?x?x64xf32>
    %1 = weir.add %x, %0 : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32>
    return %1 : tensor<?x?x?x64xf32>
  }

  // Windows that move by two, of three and of one, and of a maximum: as many fit.
  // CHECK: weir.sub {{.*}} {weir.equal_sizes}
  // CHECK: weir.mul {{.*}} {weir.equal_sizes}
  func.func @halved(%x: tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32> {
    %w = weir.constant dense<2.0> : tensor<3x3x64x64xf32>
    %v = weir.constant dense<3.0> : tensor<1x1x64x64xf32>
    %0 = weir.conv %x, %w {strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64, channels_last = true, accumulator = f32} : (tensor<?x?x?x64xf32>, tensor<3x3x64x64xf32>) -> tensor<?x?x?x64xf32>
    %1 = weir.conv %x, %v {strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, channels_last = true, accumulator = f32} : (tensor<?x?x?x64xf32>, tensor<1x1x64x64xf32>) -> tensor<?x?x?x64xf32>
    %2 = weir.pool %x {kind = "max", window = array<i64: 3, 3>, strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, ceil_mode = false, count_include_pad = false, p = 2 : i64, channels_last = true} : (tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32>
    %3 = weir.sub %0, %1 : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32>
    %4 = weir.mul %3, %2 : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32>
    return %4 : tensor<?x?x?x64xf32>
  }

  // Sizes rounded up may be one more.
  // CHECK-LABEL: weir_plan.kernel @div_d_d_d_64_f32
  // CHECK-NOT: equal_sizes
  // CHECK: weir_plan.return
  func.func @rounded(%x: tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32> {
    %v = weir.constant dense<3.0> : tensor<1x1x64x64xf32>
    %0 = weir.conv %x, %v {strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, channels_last = true, accumulator = f32} : (tensor<?x?x?x64xf32>, tensor<1x1x64x64xf32>) -> tensor<?x?x?x64xf32>
    %1 = weir.pool %x {kind = "max", window = array<i64: 3, 3>, strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, ceil_mode = true, count_include_pad = false, p = 2 : i64, channels_last = true} : (tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32>
    %2 = weir.div %0, %1 : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32>
    return %2 : tensor<?x?x?x64xf32>
  }
}
