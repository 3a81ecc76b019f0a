// What constants lead to becomes a constant where it is not larger than they are.
// REQUIRES: weir-opt
// RUN: weir-opt --weir-fold-constants --split-input-file %s | FileCheck %s

// A filter without its mean, over its length: nothing of it is left for a run.
// CHECK-LABEL: @standardised
// CHECK-NOT: weir.reduce
// CHECK: %[[W:.*]] = weir.constant dense<{{\[}}[-1.000000e+00, 1.000000e+00], [1.000000e+00, -1.000000e+00]]> : tensor<2x2xf32>
// CHECK-NEXT: %[[R:.*]] = weir.mul %arg0, %[[W]]
// CHECK-NEXT: return %[[R]]
func.func @standardised(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %w = weir.constant dense<[[1.0, 3.0], [9.0, 5.0]]> : tensor<2x2xf32>
  %mean = weir.reduce %w {axes = array<i64: 1>, keep_dims = true, kind = "mean"} : (tensor<2x2xf32>) -> tensor<2x1xf32>
  %c = weir.sub %w, %mean : (tensor<2x2xf32>, tensor<2x1xf32>) -> tensor<2x2xf32>
  %s = weir.mul %c, %c : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %v = weir.reduce %s {axes = array<i64: 1>, keep_dims = true, kind = "mean"} : (tensor<2x2xf32>) -> tensor<2x1xf32>
  %d = weir.sqrt %v : (tensor<2x1xf32>) -> tensor<2x1xf32>
  %n = weir.div %c, %d : (tensor<2x2xf32>, tensor<2x1xf32>) -> tensor<2x2xf32>
  %r = weir.mul %x, %n : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  return %r : tensor<2x2xf32>
}

// -----

// A low-rank update is added to a weight. The product alone would be larger than its factors,
// which is why what reads it is folded and not the product.
// CHECK-LABEL: @low_rank
// CHECK-NOT: weir.dot_general
// CHECK: weir.constant dense<{{\[}}[4.000000e+00, 5.000000e+00], [7.000000e+00, 9.500000e+00]]> : tensor<2x2xf32>
// CHECK-NEXT: return
func.func @low_rank() -> tensor<2x2xf32> {
  %w = weir.constant dense<[[1.0, 1.0], [1.0, 1.5]]> : tensor<2x2xf32>
  %a = weir.constant dense<[[1.0], [2.0]]> : tensor<2x1xf32>
  %b = weir.constant dense<[[3.0, 4.0]]> : tensor<1x2xf32>
  %p = weir.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, accumulator = f32} : (tensor<2x1xf32>, tensor<1x2xf32>) -> tensor<2x2xf32>
  %r = weir.add %w, %p : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  return %r : tensor<2x2xf32>
}

// -----

// Of what grows only the part that does not is folded: here the root.
// CHECK-LABEL: @grows
// CHECK: %[[W:.*]] = weir.constant #weir.blob
// CHECK-NEXT: %[[B:.*]] = weir.constant dense<{{\[}}[2.000000e+00, 3.000000e+00]]> : tensor<1x2xf32>
// CHECK-NEXT: weir.add %[[W]], %[[B]]
func.func @grows() -> tensor<8192x2xf32> {
  %a = weir.constant dense<[[4.0, 9.0]]> : tensor<1x2xf32>
  %w = weir.constant #weir.blob<"weights.bin", 0, 32768, "00000000000000000000000000000000"> : tensor<8192x1xf32>
  %b = weir.sqrt %a : (tensor<1x2xf32>) -> tensor<1x2xf32>
  %r = weir.add %w, %b : (tensor<8192x1xf32>, tensor<1x2xf32>) -> tensor<8192x2xf32>
  return %r : tensor<8192x2xf32>
}

// -----

// Bytes stay bytes, which products may multiply; weights that are quantized of floats become them.
// CHECK-LABEL: @bytes
// CHECK: weir.constant dense<{{\[}}6, -4]> : tensor<2xi8>
// CHECK: weir.cast {{.*}} -> tensor<2xf32>
// CHECK: weir.mul
func.func @bytes() -> tensor<2xf32> {
  %w = weir.constant dense<[3.0, -2.0]> : tensor<2xf32>
  %half = weir.constant dense<0.5> : tensor<f32>
  %q = weir.div %w, %half : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  %byte = weir.cast %q {saturate = true} : (tensor<2xf32>) -> tensor<2xi8>
  %f = weir.cast %byte {saturate = false} : (tensor<2xi8>) -> tensor<2xf32>
  %r = weir.mul %f, %half : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}

// -----

// Weights of f16 are not widened; those that were widened to be computed with are narrow again.
// CHECK-LABEL: @halves
// CHECK: %[[W:.*]] = weir.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf16>
// CHECK: weir.cast %[[W]] {{.*}} -> tensor<2xf32>
// CHECK-NEXT: weir.constant dense<[2.000000e+00, 3.000000e+00]> : tensor<2xf16>
// CHECK-NEXT: return
func.func @halves() -> (tensor<2xf32>, tensor<2xf16>) {
  %w = weir.constant dense<[1.0, 2.0]> : tensor<2xf16>
  %one = weir.constant dense<1.0> : tensor<f32>
  %wide = weir.cast %w {saturate = false} : (tensor<2xf16>) -> tensor<2xf32>
  %sum = weir.add %wide, %one : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  %narrow = weir.cast %sum {saturate = false} : (tensor<2xf32>) -> tensor<2xf16>
  return %wide, %narrow : tensor<2xf32>, tensor<2xf16>
}

// -----

// What is only moved is left to weir-fold-weights, and functions of the C library to the run, with
// what they are computed of folded.
// CHECK-LABEL: @left
// CHECK: weir.transpose
// CHECK: weir.constant dense<{{\[}}[2.000000e+00, 4.000000e+00], [6.000000e+00, 8.000000e+00]]>
// CHECK-NEXT: weir.exp
func.func @left() -> (tensor<2x2xf32>, tensor<2x2xf32>) {
  %w = weir.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %t = weir.transpose %w {permutation = array<i64: 1, 0>} : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %twice = weir.add %w, %w : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %e = weir.exp %twice : (tensor<2x2xf32>) -> tensor<2x2xf32>
  return %t, %e : tensor<2x2xf32>, tensor<2x2xf32>
}

// -----

// Gates in another order: parts of one constant, joined.
// CHECK-LABEL: @joined
// CHECK: %[[W:.*]] = weir.constant dense<{{\[}}[5.000000e+00, 6.000000e+00], [1.000000e+00, 2.000000e+00]]> : tensor<2x2xf32>
// CHECK-NOT: weir.concat
// CHECK: return
func.func @joined(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %w = weir.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32>
  %zero = weir.constant dense<0> : tensor<1xi64>
  %one = weir.constant dense<1> : tensor<1xi64>
  %two = weir.constant dense<2> : tensor<1xi64>
  %three = weir.constant dense<3> : tensor<1xi64>
  %first = weir.slice %w, %zero, %one, %one {axes = array<i64: 0>, strict = false} : (tensor<3x2xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x2xf32>
  %last = weir.slice %w, %two, %three, %one {axes = array<i64: 0>, strict = false} : (tensor<3x2xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x2xf32>
  %joined = weir.concat %last, %first {axis = 0 : i64} : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<2x2xf32>
  %r = weir.mul %x, %joined : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  return %r : tensor<2x2xf32>
}

// -----

// A number that its type does not hold is the run's to make.
// CHECK-LABEL: @overflows
// CHECK: weir.add
func.func @overflows() -> tensor<1xi8> {
  %w = weir.constant dense<127> : tensor<1xi8>
  %r = weir.add %w, %w : (tensor<1xi8>, tensor<1xi8>) -> tensor<1xi8>
  return %r : tensor<1xi8>
}

// -----

// Four bits of each byte, as Keras unpacks them: the sign comes by an exclusive or. A shift to the left drops
// what leaves the byte.
// CHECK-LABEL: @nibbles
// CHECK-NOT: weir.shr
// CHECK: %[[W:.*]] = weir.constant dense<{{\[}}[-8, -1], [1, 7]]> : tensor<2x2xi8>
// CHECK-NEXT: weir.mul %{{.*}}, %[[W]]
// CHECK-NOT: weir.shl
// CHECK: %[[U:.*]] = weir.constant dense<[128, 240]> : tensor<2xui8>
// CHECK-NEXT: weir.mul %{{.*}}, %[[U]]
func.func @nibbles(%x: tensor<2x2xi8>, %y: tensor<2xui8>) -> (tensor<2x2xi8>, tensor<2xui8>) {
  %w = weir.constant dense<[-8, 113]> : tensor<2xi8>
  %four = weir.constant dense<4> : tensor<i8>
  %mask = weir.constant dense<15> : tensor<i8>
  %sign = weir.constant dense<8> : tensor<i8>
  %column = weir.constant dense<[2, 1]> : tensor<2xi64>
  %l0 = weir.and %w, %mask : (tensor<2xi8>, tensor<i8>) -> tensor<2xi8>
  %l1 = weir.xor %l0, %sign : (tensor<2xi8>, tensor<i8>) -> tensor<2xi8>
  %l = weir.sub %l1, %sign : (tensor<2xi8>, tensor<i8>) -> tensor<2xi8>
  %h0 = weir.shr %w, %four : (tensor<2xi8>, tensor<i8>) -> tensor<2xi8>
  %h1 = weir.and %h0, %mask : (tensor<2xi8>, tensor<i8>) -> tensor<2xi8>
  %h2 = weir.xor %h1, %sign : (tensor<2xi8>, tensor<i8>) -> tensor<2xi8>
  %h = weir.sub %h2, %sign : (tensor<2xi8>, tensor<i8>) -> tensor<2xi8>
  %lc = weir.reshape %l, %column : (tensor<2xi8>, tensor<2xi64>) -> tensor<2x1xi8>
  %hc = weir.reshape %h, %column : (tensor<2xi8>, tensor<2xi64>) -> tensor<2x1xi8>
  %j = weir.concat %lc, %hc {axis = 1 : i64} : (tensor<2x1xi8>, tensor<2x1xi8>) -> tensor<2x2xi8>
  %r = weir.mul %x, %j : (tensor<2x2xi8>, tensor<2x2xi8>) -> tensor<2x2xi8>
  %v = weir.constant dense<[248, 31]> : tensor<2xui8>
  %by = weir.constant dense<4> : tensor<ui8>
  %s = weir.shl %v, %by : (tensor<2xui8>, tensor<ui8>) -> tensor<2xui8>
  %q = weir.mul %y, %s : (tensor<2xui8>, tensor<2xui8>) -> tensor<2xui8>
  return %r, %q : tensor<2x2xi8>, tensor<2xui8>
}

// -----

// Counts of the width or more, and below 0, leave nothing, or the sign; shifts of unsigned numbers bring zeros in.
// CHECK-LABEL: @shifts
// CHECK-NOT: weir.sh{{[lr]}}
// CHECK: weir.constant dense<[0, -32768, 0, 0]> : tensor<4xi16>
// CHECK: weir.constant dense<[-1, -1, -1, 0]> : tensor<4xi16>
// CHECK: weir.constant dense<[2147483649, 0, 1]> : tensor<3xui32>
// CHECK: weir.constant dense<[4294967040, 255, 4294967295]> : tensor<3xui32>
// CHECK: weir.constant dense<[-1, -8, 7]> : tensor<3xi32>
// CHECK: return
func.func @shifts() -> (tensor<4xi16>, tensor<4xi16>, tensor<3xui32>, tensor<3xui32>, tensor<3xi32>) {
  %a = weir.constant dense<[-1, -1, -3, 5]> : tensor<4xi16>
  %n = weir.constant dense<[16, 15, -1, 100]> : tensor<4xi16>
  %0 = weir.shl %a, %n : (tensor<4xi16>, tensor<4xi16>) -> tensor<4xi16>
  %1 = weir.shr %a, %n : (tensor<4xi16>, tensor<4xi16>) -> tensor<4xi16>
  %b = weir.constant dense<[4294967295, 1, 2147483648]> : tensor<3xui32>
  %m = weir.constant dense<[31, 32, 31]> : tensor<3xui32>
  %l = weir.shl %b, %m : (tensor<3xui32>, tensor<3xui32>) -> tensor<3xui32>
  %r = weir.shr %b, %m : (tensor<3xui32>, tensor<3xui32>) -> tensor<3xui32>
  %2 = weir.or %l, %r : (tensor<3xui32>, tensor<3xui32>) -> tensor<3xui32>
  %c = weir.constant dense<[255, 4294967040, 0]> : tensor<3xui32>
  %3 = weir.not %c : (tensor<3xui32>) -> tensor<3xui32>
  %d = weir.constant dense<[0, 7, -8]> : tensor<3xi32>
  %4 = weir.not %d : (tensor<3xi32>) -> tensor<3xi32>
  return %0, %1, %2, %3, %4 : tensor<4xi16>, tensor<4xi16>, tensor<3xui32>, tensor<3xui32>, tensor<3xi32>
}
