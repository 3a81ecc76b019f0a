// Neighbouring dimensions that an operation treats alike become one, between views.
// RUN: weir-opt --weir-collapse-dimensions %s | FileCheck %s

// CHECK-LABEL: @all
// CHECK: weir.reshape {{.*}} -> tensor<840xf32>
// CHECK: weir.abs {{.*}} -> tensor<840xf32>
// CHECK: weir.reduce {{.*}}axes = array<i64: 0>{{.*}} -> tensor<1xf32>
func.func @all(%x: tensor<7x1x6x5x4xf32>) -> tensor<1x1x1x1x1xf32> {
  %a = weir.abs %x : (tensor<7x1x6x5x4xf32>) -> tensor<7x1x6x5x4xf32>
  %y = weir.reduce %a {axes = array<i64: 0, 1, 2, 3, 4>, keep_dims = true, kind = "sum"} : (tensor<7x1x6x5x4xf32>) -> tensor<1x1x1x1x1xf32>
  return %y : tensor<1x1x1x1x1xf32>
}

// Open sizes are multiplied in the run, and put back.
// CHECK-LABEL: @columns
// CHECK: weir.shape_of
// CHECK: weir.mul
// CHECK: weir.reduce {{.*}}axes = array<i64: 0>{{.*}} : (tensor<?x?xf32>) -> tensor<1x?xf32>
// CHECK: weir.reshape {{.*}} -> tensor<?x?xf32>
func.func @columns(%x: tensor<?x?x?xf32>) -> tensor<?x?xf32> {
  %y = weir.reduce %x {axes = array<i64: 0>, keep_dims = false, kind = "max"} : (tensor<?x?x?xf32>) -> tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}

// CHECK-LABEL: @running
// CHECK: weir.cumulative {{.*}}axis = 1{{.*}} : (tensor<6x4x30xf32>) -> tensor<6x4x30xf32>
func.func @running(%x: tensor<2x3x4x5x6xf32>) -> tensor<2x3x4x5x6xf32> {
  %y = weir.cumulative %x {axis = 2 : i64, exclusive = false, kind = "sum", reverse = false} : (tensor<2x3x4x5x6xf32>) -> tensor<2x3x4x5x6xf32>
  return %y : tensor<2x3x4x5x6xf32>
}

// A border in front of whole lines is so many elements wide.
// CHECK-LABEL: @border
// CHECK: dense<[1, 6, 0, 12]>
// CHECK: weir.pad {{.*}} : (tensor<3x30xi8>, tensor<4xi64>, tensor<i8>) -> tensor<4x48xi8>
func.func @border(%x: tensor<3x5x6xi8>, %v: tensor<i8>) -> tensor<4x8x6xi8> {
  %pads = weir.constant dense<[1, 1, 0, 0, 2, 0]> : tensor<6xi64>
  %y = weir.pad %x, %pads, %v {mode = "constant"} : (tensor<3x5x6xi8>, tensor<6xi64>, tensor<i8>) -> tensor<4x8x6xi8>
  return %y : tensor<4x8x6xi8>
}

// Others would lose the kernel that they share; and lines behind outer dimensions are lines already.
// CHECK-LABEL: @shared
// CHECK-NOT: weir.reshape
// CHECK: weir.reduce {{.*}}axes = array<i64: 0, 1>
// CHECK-NOT: weir.reshape
// CHECK: weir.reduce {{.*}}axes = array<i64: 2>
// CHECK-NOT: weir.reshape
// CHECK: return
func.func @shared(%x: tensor<3x5x6xf32>) -> (tensor<3x5x6xf32>, tensor<3x5xf32>) {
  %s = weir.reduce %x {axes = array<i64: 0, 1>, keep_dims = false, kind = "sum"} : (tensor<3x5x6xf32>) -> tensor<6xf32>
  %y = weir.sub %x, %s : (tensor<3x5x6xf32>, tensor<6xf32>) -> tensor<3x5x6xf32>
  %z = weir.reduce %x {axes = array<i64: 2>, keep_dims = false, kind = "sum"} : (tensor<3x5x6xf32>) -> tensor<3x5xf32>
  return %y, %z : tensor<3x5x6xf32>, tensor<3x5xf32>
}

// What makes one element of one goes along, on both sides.
// CHECK-LABEL: func.func @between
// CHECK: weir.reshape %arg0{{.*}} -> tensor<?x?xf16>
// CHECK: weir.cast {{.*}} -> tensor<?x?xf32>
// CHECK: weir.cumulative {{.*}}axis = 0{{.*}} -> tensor<?x?xf32>
// CHECK: weir.mul {{.*}} -> tensor<?x?xf32>
// CHECK: %[[Y:.*]] = weir.cast {{.*}} -> tensor<?x?xf16>
// CHECK: weir.reshape %[[Y]]{{.*}} -> tensor<?x?x?xf16>
func.func @between(%x: tensor<?x?x?xf16>) -> tensor<?x?x?xf16> {
  %a = weir.cast %x {saturate = false} : (tensor<?x?x?xf16>) -> tensor<?x?x?xf32>
  %b = weir.cumulative %a {axis = 0 : i64, exclusive = false, kind = "sum", reverse = false} : (tensor<?x?x?xf32>) -> tensor<?x?x?xf32>
  %two = weir.constant dense<2.0> : tensor<1x1x1xf32>
  %c = weir.mul %b, %two : (tensor<?x?x?xf32>, tensor<1x1x1xf32>) -> tensor<?x?x?xf32>
  %d = weir.cast %c {saturate = false} : (tensor<?x?x?xf32>) -> tensor<?x?x?xf16>
  return %d : tensor<?x?x?xf16>
}

// One number of as many dimensions as there were becomes a scalar: it would bring them back.
// CHECK-LABEL: @single
// CHECK: weir.xor {{.*}} : (tensor<?x?xi32>, tensor<i32>) -> tensor<?x?xi32>
// CHECK: weir.reduce {{.*}} : (tensor<?x?xi32>) -> tensor<?x1xi32>
func.func @single(%x: tensor<?x?x?x?xi32>) -> tensor<?x?xi32> {
  %n = weir.constant dense<-9> : tensor<1x1x1x1xi32>
  %y = weir.xor %x, %n : (tensor<?x?x?x?xi32>, tensor<1x1x1x1xi32>) -> tensor<?x?x?x?xi32>
  %s = weir.reduce %y {axes = array<i64: 2, 3>, keep_dims = false, kind = "prod"} : (tensor<?x?x?x?xi32>) -> tensor<?x?xi32>
  return %s : tensor<?x?xi32>
}

// What is behind the dimension that indices choose from is copied as one line.
// CHECK-LABEL: func.func @lines
// CHECK: weir.gather %{{.*}}, %arg1 {axis = 0 : i64, {{.*}} : (tensor<65x260xi8>, tensor<20x?xi32>) -> tensor<20x?x260xi8>
func.func @lines(%x: tensor<65x65x4xi8>, %i: tensor<20x?xi32>) -> tensor<20x?x65x4xi8> {
  %0 = weir.gather %x, %i {axis = 0 : i64, batch_dims = 0 : i64, wrap_negative = true} : (tensor<65x65x4xi8>, tensor<20x?xi32>) -> tensor<20x?x65x4xi8>
  return %0 : tensor<20x?x65x4xi8>
}

// CHECK-LABEL: func.func @middle
// CHECK: weir.gather %{{.*}}, %arg1 {axis = 1 : i64, {{.*}} : (tensor<?x7x?xf32>, tensor<i64>) -> tensor<?x?xf32>
func.func @middle(%x: tensor<?x7x?x5xf32>, %i: tensor<i64>) -> tensor<?x?x5xf32> {
  %0 = weir.gather %x, %i {axis = 1 : i64, batch_dims = 0 : i64, wrap_negative = false} : (tensor<?x7x?x5xf32>, tensor<i64>) -> tensor<?x?x5xf32>
  return %0 : tensor<?x?x5xf32>
}

// CHECK-LABEL: func.func @tuples
// CHECK: weir.gather_nd %{{.*}}, %arg1 {{.*}} : (tensor<8x9x12xf32>, tensor<5x2xi64>) -> tensor<5x12xf32>
func.func @tuples(%x: tensor<8x9x3x4xf32>, %i: tensor<5x2xi64>) -> tensor<5x3x4xf32> {
  %0 = weir.gather_nd %x, %i {batch_dims = 0 : i64, wrap_negative = false} : (tensor<8x9x3x4xf32>, tensor<5x2xi64>) -> tensor<5x3x4xf32>
  return %0 : tensor<5x3x4xf32>
}

// What is one number goes along, too, computed as it may be.
// CHECK-LABEL: func.func @centred
// CHECK: weir.reduce {{.*}} : (tensor<?xf64>) -> tensor<1xf64>
// CHECK: weir.sub {{.*}} : (tensor<?xf64>, tensor<f64>) -> tensor<?xf64>
// CHECK: weir.exp {{.*}} -> tensor<?xf64>
// CHECK: weir.reduce {{.*}} : (tensor<?xf64>) -> tensor<1xf64>
func.func @centred(%x: tensor<?x?x?xf64>) -> tensor<1x1x1xf64> {
  %m = weir.reduce %x {axes = array<i64: 0, 1, 2>, keep_dims = true, kind = "max"} : (tensor<?x?x?xf64>) -> tensor<1x1x1xf64>
  %c = weir.sub %x, %m : (tensor<?x?x?xf64>, tensor<1x1x1xf64>) -> tensor<?x?x?xf64>
  %e = weir.exp %c : (tensor<?x?x?xf64>) -> tensor<?x?x?xf64>
  %y = weir.reduce %e {axes = array<i64: 0, 1, 2>, keep_dims = true, kind = "sum"} : (tensor<?x?x?xf64>) -> tensor<1x1x1xf64>
  return %y : tensor<1x1x1xf64>
}

// What little a reduction or a slice leaves of what is transposed is transposed, and not all of it.
// CHECK-LABEL: func.func @reduced_before
// CHECK-NOT: weir.transpose
// CHECK: weir.reduce {{.*}}axes = array<i64: 0>{{.*}} -> tensor<1x42xf32>
// CHECK: weir.transpose {{.*}} -> tensor<7x6x1xf32>
func.func @reduced_before(%x: tensor<9x6x7xf32>) -> tensor<7x6xf32> {
  %t = weir.transpose %x {permutation = array<i64: 2, 1, 0>} : (tensor<9x6x7xf32>) -> tensor<7x6x9xf32>
  %a = weir.abs %t : (tensor<7x6x9xf32>) -> tensor<7x6x9xf32>
  %y = weir.reduce %a {axes = array<i64: 2>, keep_dims = false, kind = "max"} : (tensor<7x6x9xf32>) -> tensor<7x6xf32>
  return %y : tensor<7x6xf32>
}

// CHECK-LABEL: func.func @sliced_before
// CHECK: %[[S:.*]] = weir.slice %arg0, {{.*}} {axes = array<i64: 0, 2>, {{.*}} -> tensor<2x6x2xf32>
// CHECK: weir.transpose %[[S]]
func.func @sliced_before(%x: tensor<9x6x7xf32>) -> tensor<2x6x2xf32> {
  %first = weir.constant dense<[1, 2]> : tensor<2xi64>
  %end = weir.constant dense<[3, 6]> : tensor<2xi64>
  %step = weir.constant dense<[1, 2]> : tensor<2xi64>
  %t = weir.transpose %x {permutation = array<i64: 2, 1, 0>} : (tensor<9x6x7xf32>) -> tensor<7x6x9xf32>
  %y = weir.slice %t, %first, %end, %step {axes = array<i64: 2, 0>, strict = false} : (tensor<7x6x9xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<2x6x2xf32>
  return %y : tensor<2x6x2xf32>
}

// Half of it, or what something else reads moved as well, stays behind the transposition.
// CHECK-LABEL: func.func @much_is_left
// CHECK: weir.transpose
// CHECK: weir.reduce
// CHECK: weir.transpose
// CHECK: weir.reduce
func.func @much_is_left(%x: tensor<2x6x7xf32>, %y: tensor<9x6x7xf32>) -> (tensor<7x6xf32>, tensor<7x6xf32>, tensor<7x6x9xf32>) {
  %t = weir.transpose %x {permutation = array<i64: 2, 1, 0>} : (tensor<2x6x7xf32>) -> tensor<7x6x2xf32>
  %a = weir.reduce %t {axes = array<i64: 2>, keep_dims = false, kind = "max"} : (tensor<7x6x2xf32>) -> tensor<7x6xf32>
  %u = weir.transpose %y {permutation = array<i64: 2, 1, 0>} : (tensor<9x6x7xf32>) -> tensor<7x6x9xf32>
  %b = weir.reduce %u {axes = array<i64: 2>, keep_dims = false, kind = "max"} : (tensor<7x6x9xf32>) -> tensor<7x6xf32>
  return %a, %b, %u : tensor<7x6xf32>, tensor<7x6xf32>, tensor<7x6x9xf32>
}

// A square is computed element by element, too.
// CHECK-LABEL: func.func @squares
// CHECK-NOT: weir.transpose
// CHECK: weir.mul {{.*}} -> tensor<378xf32>
// CHECK: weir.reduce {{.*}} : (tensor<378xf32>) -> tensor<1xf32>
func.func @squares(%x: tensor<9x6x7xf32>) -> tensor<f32> {
  %t = weir.transpose %x {permutation = array<i64: 2, 1, 0>} : (tensor<9x6x7xf32>) -> tensor<7x6x9xf32>
  %s = weir.mul %t, %t : (tensor<7x6x9xf32>, tensor<7x6x9xf32>) -> tensor<7x6x9xf32>
  %y = weir.reduce %s {axes = array<i64: 0, 1, 2>, keep_dims = false, kind = "sum"} : (tensor<7x6x9xf32>) -> tensor<f32>
  return %y : tensor<f32>
}

// Where only dimensions of size 1 change their places, elements do not, whatever sizes are.
// CHECK-LABEL: func.func @moved_ones
// CHECK: weir.shape_of
// CHECK: weir.reshape {{.*}} -> tensor<?x?x1x3xf32>
// CHECK: weir.transpose
func.func @moved_ones(%x: tensor<1x?x?x3xf32>) -> (tensor<?x?x1x3xf32>, tensor<?x1x?x3xf32>) {
  %y = weir.transpose %x {permutation = array<i64: 1, 2, 0, 3>} : (tensor<1x?x?x3xf32>) -> tensor<?x?x1x3xf32>
  %z = weir.transpose %x {permutation = array<i64: 2, 0, 1, 3>} : (tensor<1x?x?x3xf32>) -> tensor<?x1x?x3xf32>
  return %y, %z : tensor<?x?x1x3xf32>, tensor<?x1x?x3xf32>
}

// Planes of open sizes are lines, whatever reads what they are reduced to.
// CHECK-LABEL: @open_planes
// CHECK: weir.reduce %{{.*}} {axes = array<i64: 1>, keep_dims = true, kind = "mean"} : (tensor<?x?xf32>) -> tensor<?x1xf32>
// CHECK: weir.sub %arg0
func.func @open_planes(%x: tensor<?x24x?x?xf32>) -> tensor<?x24x?x?xf32> {
  %0 = weir.reduce %x {axes = array<i64: 2, 3>, keep_dims = true, kind = "mean"} : (tensor<?x24x?x?xf32>) -> tensor<?x24x1x1xf32>
  %1 = weir.sub %x, %0 : (tensor<?x24x?x?xf32>, tensor<?x24x1x1xf32>) -> tensor<?x24x?x?xf32>
  return %1 : tensor<?x24x?x?xf32>
}
