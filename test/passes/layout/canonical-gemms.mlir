// Products and convolutions get the operands that tiles read.
// REQUIRES: weir-opt
// RUN: weir-opt --weir-canonical-gemms --mlir-elide-elementsattrs-if-larger=8 %s | FileCheck %s

// A padding that tiles cannot read past is written before.
// CHECK-LABEL: @padded
// CHECK: %[[PADDED:.+]] = weir.pad %arg0
// CHECK: weir.conv %[[PADDED]], {{.*}}pads = array<i64: 0, 0, 0, 0>
func.func @padded(%x: tensor<1x8x8x4xf32>) -> tensor<1x8x8x16xf32> {
  %w = weir.constant dense<1.0> : tensor<3x3x4x16xf32>
  %0 = weir.conv %x, %w {accumulator = f32, channels_last = true, dilations = array<i64: 1, 1>, groups = 1 : i64, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>} : (tensor<1x8x8x4xf32>, tensor<3x3x4x16xf32>) -> tensor<1x8x8x16xf32>
  return %0 : tensor<1x8x8x16xf32>
}

// One that is in order stays as it is.
// CHECK-LABEL: @plain
// CHECK-NEXT: weir.dot_general %arg0, %arg1
// CHECK-NEXT: return
func.func @plain(%x: tensor<64x32xf32>, %w: tensor<32x48xf32>) -> tensor<64x48xf32> {
  %0 = weir.dot_general %x, %w {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<64x32xf32>, tensor<32x48xf32>) -> tensor<64x48xf32>
  return %0 : tensor<64x48xf32>
}

// Of a dilated window's three lines one lies in the padding nearly everywhere: results are cut
// where other lines are inside of the image, and have those alone.
// CHECK-LABEL: func.func @dilated
// CHECK-DAG: weir.conv {{.*}} : (tensor<1x14x16x64xf32>, tensor<2x3x64x32xf32>) -> tensor<1x2x14x32xf32>
// CHECK-DAG: weir.conv {{.*}} : (tensor<1x10x16x64xf32>, tensor<1x3x64x32xf32>) -> tensor<1x10x14x32xf32>
// CHECK-DAG: weir.conv {{.*}} : (tensor<1x14x16x64xf32>, tensor<2x3x64x32xf32>) -> tensor<1x2x14x32xf32>
// CHECK: weir.concat {{.*}} {axis = 1 : i64}
func.func @dilated(%x: tensor<1x14x14x64xf32>, %w: tensor<3x3x64x32xf32>) -> tensor<1x14x14x32xf32> {
  %0 = weir.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 12, 12, 1, 1>, dilations = array<i64: 12, 1>, groups = 1 : i64, channels_last = true, accumulator = f32} : (tensor<1x14x14x64xf32>, tensor<3x3x64x32xf32>) -> tensor<1x14x14x32xf32>
  return %0 : tensor<1x14x14x32xf32>
}

// Where little of the windows lies outside, they stay one.
// CHECK-LABEL: func.func @barely_dilated
// CHECK: weir.conv {{.*}} : (tensor<1x18x16x64xf32>, tensor<3x3x64x32xf32>) -> tensor<1x14x14x32xf32>
// CHECK-NOT: weir.concat
// CHECK: return
func.func @barely_dilated(%x: tensor<1x14x14x64xf32>, %w: tensor<3x3x64x32xf32>) -> tensor<1x14x14x32xf32> {
  %0 = weir.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 2, 2, 1, 1>, dilations = array<i64: 2, 1>, groups = 1 : i64, channels_last = true, accumulator = f32} : (tensor<1x14x14x64xf32>, tensor<3x3x64x32xf32>) -> tensor<1x14x14x32xf32>
  return %0 : tensor<1x14x14x32xf32>
}

// Positions of an open image are rows of a product.
// CHECK-LABEL: func.func @positions
// CHECK: weir.dot_general %arg0, {{.*}}lhs_contract = array<i64: 3>{{.*}} : (tensor<1x?x?x64xf32>, tensor<64x32xf32>) -> tensor<1x?x?x32xf32>
// CHECK-NOT: weir.conv
// CHECK: return
func.func @positions(%x: tensor<1x?x?x64xf32>) -> tensor<1x?x?x32xf32> {
  %w = weir.constant dense<1.0> : tensor<1x1x64x32xf32>
  %0 = weir.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, channels_last = true, accumulator = f32} : (tensor<1x?x?x64xf32>, tensor<1x1x64x32xf32>) -> tensor<1x?x?x32xf32>
  return %0 : tensor<1x?x?x32xf32>
}

// One row by one column for each batch: sums along lines.
// CHECK-LABEL: @line_by_line
// CHECK-NOT: weir.dot_general
// CHECK: %[[P:.*]] = weir.mul %{{.*}}, %{{.*}} : (tensor<64x512xf32>, tensor<64x512xf32>) -> tensor<64x512xf32>
// CHECK: weir.reduce %[[P]] {axes = array<i64: 1>, keep_dims = true, kind = "sum"}
func.func @line_by_line(%x: tensor<64x1x512xf32>, %y: tensor<64x512x1xf32>) -> tensor<64x1x1xf32> {
  %0 = weir.dot_general %x, %y {accumulator = f32, lhs_batch = array<i64: 0>, rhs_batch = array<i64: 0>, lhs_contract = array<i64: 2>, rhs_contract = array<i64: 1>} : (tensor<64x1x512xf32>, tensor<64x512x1xf32>) -> tensor<64x1x1xf32>
  return %0 : tensor<64x1x1xf32>
}

// Two columns by two rows, of open sizes: two products of each element.
// CHECK-LABEL: @shallow
// CHECK-NOT: weir.dot_general
// CHECK-COUNT-2: weir.mul
// CHECK: weir.add
func.func @shallow(%x: tensor<?x?x2xf32>) -> tensor<?x?x?xf32> {
  %y = weir.neg %x : (tensor<?x?x2xf32>) -> tensor<?x?x2xf32>
  %0 = weir.dot_general %x, %y {accumulator = f32, lhs_batch = array<i64: 0>, rhs_batch = array<i64: 0>, lhs_contract = array<i64: 2>, rhs_contract = array<i64: 2>} : (tensor<?x?x2xf32>, tensor<?x?x2xf32>) -> tensor<?x?x?xf32>
  return %0 : tensor<?x?x?xf32>
}

// Batches that may differ, and sums whose lengths may: the product checks them, where elementwise
// operations would repeat a single one.
// CHECK-LABEL: @batches_that_may_differ
// CHECK: weir.dot_general
func.func @batches_that_may_differ(%x: tensor<?x?x2xf32>, %y: tensor<?x?x2xf32>) -> tensor<?x?x?xf32> {
  %0 = weir.dot_general %x, %y {accumulator = f32, lhs_batch = array<i64: 0>, rhs_batch = array<i64: 0>, lhs_contract = array<i64: 2>, rhs_contract = array<i64: 2>} : (tensor<?x?x2xf32>, tensor<?x?x2xf32>) -> tensor<?x?x?xf32>
  return %0 : tensor<?x?x?xf32>
}
// CHECK-LABEL: @sums_that_may_differ
// CHECK: weir.dot_general
func.func @sums_that_may_differ(%x: tensor<4x?xf32>, %y: tensor<?xf32>) -> tensor<4xf32> {
  %0 = weir.dot_general %x, %y {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<4x?xf32>, tensor<?xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// Small matrices stay products: a tile takes them whole.
// CHECK-LABEL: @small_matrices
// CHECK: weir.dot_general
func.func @small_matrices(%x: tensor<500x3x3xf32>, %y: tensor<500x3x3xf32>) -> tensor<500x3x3xf32> {
  %0 = weir.dot_general %x, %y {accumulator = f32, lhs_batch = array<i64: 0>, rhs_batch = array<i64: 0>, lhs_contract = array<i64: 2>, rhs_contract = array<i64: 1>} : (tensor<500x3x3xf32>, tensor<500x3x3xf32>) -> tensor<500x3x3xf32>
  return %0 : tensor<500x3x3xf32>
}

// A matrix that is picked for each row of a batch, by that row: sums along its lines, which a kernel reads where they lie.
// CHECK-LABEL: @picked_matrices
// CHECK: %[[PICKED:.+]] = weir.gather %arg0, %arg1
// CHECK: %[[VECTORS:.+]] = weir.reshape %arg2
// CHECK-SAME: -> tensor<6x1x64xf32>
// CHECK: %[[PRODUCTS:.+]] = weir.mul %[[PICKED]], %[[VECTORS]]
// CHECK: weir.reduce %[[PRODUCTS]]
// CHECK-NOT: weir.dot_general
func.func @picked_matrices(%w: tensor<4x256x64xf32>, %i: tensor<6xi64>, %x: tensor<6x64x1xf32>) -> tensor<6x256x1xf32> {
  %0 = weir.gather %w, %i {axis = 0 : i64, batch_dims = 0 : i64, wrap_negative = true} : (tensor<4x256x64xf32>, tensor<6xi64>) -> tensor<6x256x64xf32>
  %1 = weir.dot_general %0, %x {accumulator = f32, lhs_batch = array<i64: 0>, rhs_batch = array<i64: 0>, lhs_contract = array<i64: 2>, rhs_contract = array<i64: 1>} : (tensor<6x256x64xf32>, tensor<6x64x1xf32>) -> tensor<6x256x1xf32>
  return %1 : tensor<6x256x1xf32>
}

// One row by a matrix that is picked for it: sums down its columns. A copy for others is read as it is.
// CHECK-LABEL: @picked_columns
// CHECK: %[[PICKED:.+]] = weir.gather %arg0, %arg1
// CHECK: %[[VECTORS:.+]] = weir.reshape %arg2
// CHECK-SAME: -> tensor<6x64x1xf32>
// CHECK: %[[PRODUCTS:.+]] = weir.mul %[[PICKED]], %[[VECTORS]]
// CHECK: weir.reduce %[[PRODUCTS]] {axes = array<i64: 1>
// CHECK-LABEL: @picked_for_two
// CHECK-NOT: weir.reduce
// CHECK: weir.dot_general
func.func @picked_columns(%w: tensor<4x64x256xf32>, %i: tensor<6xi64>, %x: tensor<6x1x64xf32>) -> tensor<6x1x256xf32> {
  %0 = weir.gather %w, %i {axis = 0 : i64, batch_dims = 0 : i64, wrap_negative = true} : (tensor<4x64x256xf32>, tensor<6xi64>) -> tensor<6x64x256xf32>
  %1 = weir.dot_general %x, %0 {accumulator = f32, lhs_batch = array<i64: 0>, rhs_batch = array<i64: 0>, lhs_contract = array<i64: 2>, rhs_contract = array<i64: 1>} : (tensor<6x1x64xf32>, tensor<6x64x256xf32>) -> tensor<6x1x256xf32>
  return %1 : tensor<6x1x256xf32>
}

func.func @picked_for_two(%w: tensor<4x64x256xf32>, %i: tensor<6xi64>, %x: tensor<6x1x64xf32>) -> (tensor<6x1x256xf32>, tensor<6x64x256xf32>) {
  %0 = weir.gather %w, %i {axis = 0 : i64, batch_dims = 0 : i64, wrap_negative = true} : (tensor<4x64x256xf32>, tensor<6xi64>) -> tensor<6x64x256xf32>
  %1 = weir.dot_general %x, %0 {accumulator = f32, lhs_batch = array<i64: 0>, rhs_batch = array<i64: 0>, lhs_contract = array<i64: 2>, rhs_contract = array<i64: 1>} : (tensor<6x1x64xf32>, tensor<6x64x256xf32>) -> tensor<6x1x256xf32>
  return %1, %0 : tensor<6x1x256xf32>, tensor<6x64x256xf32>
}

// Tiles are faster for lines of four.
// CHECK-LABEL: @short_lines
// CHECK: weir.dot_general
func.func @short_lines(%w: tensor<600x4x4xf32>, %x: tensor<600x4x1xf32>) -> tensor<600x4x1xf32> {
  %0 = weir.dot_general %w, %x {accumulator = f32, lhs_batch = array<i64: 0>, rhs_batch = array<i64: 0>, lhs_contract = array<i64: 2>, rhs_contract = array<i64: 1>} : (tensor<600x4x4xf32>, tensor<600x4x1xf32>) -> tensor<600x4x1xf32>
  return %0 : tensor<600x4x1xf32>
}
