// Which products and convolutions of quantized models are of bytes, and what follows them.
// REQUIRES: weir-opt
// RUN: weir-opt --weir-quantized-gemms --split-input-file %s | FileCheck %s

module attributes {weir.target = #weir.target<byte_products = blocks>} {
  // One scale a channel, a zero point that is the border's, too, and whose share of each
  // sum is a constant.
  // CHECK-LABEL: @channels
  // CHECK: %[[SHARE:.+]] = weir.constant dense<{{.*}}> : tensor<8x1x1xi32>
  // CHECK: %[[LAST:.+]] = weir.transpose %arg0 {{.*}} -> tensor<1x6x6x4xui8>
  // CHECK: %[[ZERO:.+]] = weir.constant dense<3> : tensor<ui8>
  // CHECK: %[[PADDED:.+]] = weir.pad %[[LAST]], {{.*}}, %[[ZERO]] {{.*}} -> tensor<1x7x7x4xui8>
  // CHECK: %[[SUM:.+]] = weir.conv %[[PADDED]], {{.*}}channels_last = true{{.*}}weir.matrix} : (tensor<1x7x7x4xui8>, tensor<2x2x4x8xi8>) -> tensor<1x6x6x8xi32>
  // CHECK: %[[FIRST:.+]] = weir.transpose %[[SUM]]
  // CHECK: %[[OWN:.+]] = weir.sub %[[FIRST]], %[[SHARE]]
  // CHECK: %[[REAL:.+]] = weir.cast %[[OWN]] {{.*}} -> tensor<1x8x6x6xf32>
  // CHECK: %[[SCALE:.+]] = weir.constant dense<{{\[\[\[}}5.000000e-01]], {{\[\[}}1.000000e+00]], {{.*}}> : tensor<8x1x1xf32>
  // CHECK: %[[SCALED:.+]] = weir.mul %[[REAL]], %[[SCALE]]
  // CHECK: return %[[SCALED]]
  func.func @channels(%x: tensor<1x4x6x6xui8>) -> tensor<1x8x6x6xf32> {
    %zero = weir.constant dense<3> : tensor<i32>
    %scale = weir.constant dense<5.000000e-01> : tensor<f32>
    %q = weir.constant dense<"0x868D949BA2A9B0B7BEC5CCD3DAE1E8EFF6FD040B121920272E353C434A51585F666D747B878E959CA3AAB1B8BFC6CDD4DBE2E9F0F7FE050C131A21282F363D444B525960676E757C888F969DA4ABB2B9C0C7CED5DCE3EAF1F8FF060D141B222930373E454C535A61686F767D8990979EA5ACB3BAC1C8CFD6DDE4EBF2F900070E"> : tensor<8x4x2x2xi8>
    %scales = weir.constant dense<[[[[1.0]]], [[[2.0]]], [[[3.0]]], [[[4.0]]], [[[5.0]]], [[[6.0]]], [[[7.0]]], [[[8.0]]]]> : tensor<8x1x1x1xf32>
    %aw = weir.cast %x {saturate = true} : (tensor<1x4x6x6xui8>) -> tensor<1x4x6x6xi32>
    %ac = weir.sub %aw, %zero : (tensor<1x4x6x6xi32>, tensor<i32>) -> tensor<1x4x6x6xi32>
    %af = weir.cast %ac {saturate = true} : (tensor<1x4x6x6xi32>) -> tensor<1x4x6x6xf32>
    %a = weir.mul %af, %scale : (tensor<1x4x6x6xf32>, tensor<f32>) -> tensor<1x4x6x6xf32>
    %bw = weir.cast %q {saturate = true} : (tensor<8x4x2x2xi8>) -> tensor<8x4x2x2xi32>
    %bf = weir.cast %bw {saturate = true} : (tensor<8x4x2x2xi32>) -> tensor<8x4x2x2xf32>
    %b = weir.mul %bf, %scales : (tensor<8x4x2x2xf32>, tensor<8x1x1x1xf32>) -> tensor<8x4x2x2xf32>
    %0 = weir.conv %a, %b {strides = array<i64: 1, 1>, pads = array<i64: 0, 1, 0, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64, channels_last = false, accumulator = f32} : (tensor<1x4x6x6xf32>, tensor<8x4x2x2xf32>) -> tensor<1x8x6x6xf32>
    return %0 : tensor<1x8x6x6xf32>
  }

  // A border of computed sizes, of zeros, is one of zero points around the bytes.
  // CHECK-LABEL: @border_of_open_sizes
  // CHECK: %[[ZERO:.+]] = weir.constant dense<3> : tensor<ui8>
  // CHECK: %[[PADDED:.+]] = weir.pad %arg0, %arg1, %[[ZERO]] {{.*}} -> tensor<1x4x?x?xui8>
  // CHECK: %[[LAST:.+]] = weir.transpose %[[PADDED]] {{.*}} -> tensor<1x?x?x4xui8>
  // CHECK: weir.conv %[[LAST]], {{.*}}weir.matrix} : (tensor<1x?x?x4xui8>, tensor<2x2x4x8xi8>) -> tensor<1x?x?x8xi32>
  // CHECK-NOT: weir.pad
  // CHECK: return
  func.func @border_of_open_sizes(%x: tensor<1x4x?x?xui8>, %pads: tensor<8xi64>) -> tensor<1x8x?x?xf32> {
    %zero = weir.constant dense<3> : tensor<i32>
    %nothing = weir.constant dense<0.000000e+00> : tensor<f32>
    %scale = weir.constant dense<5.000000e-01> : tensor<f32>
    %q = weir.constant dense<2> : tensor<8x4x2x2xi8>
    %aw = weir.cast %x {saturate = true} : (tensor<1x4x?x?xui8>) -> tensor<1x4x?x?xi32>
    %ac = weir.sub %aw, %zero : (tensor<1x4x?x?xi32>, tensor<i32>) -> tensor<1x4x?x?xi32>
    %af = weir.cast %ac {saturate = true} : (tensor<1x4x?x?xi32>) -> tensor<1x4x?x?xf32>
    %a = weir.mul %af, %scale : (tensor<1x4x?x?xf32>, tensor<f32>) -> tensor<1x4x?x?xf32>
    %padded = weir.pad %a, %pads, %nothing {mode = "constant"} : (tensor<1x4x?x?xf32>, tensor<8xi64>, tensor<f32>) -> tensor<1x4x?x?xf32>
    %bw = weir.cast %q {saturate = true} : (tensor<8x4x2x2xi8>) -> tensor<8x4x2x2xi32>
    %bf = weir.cast %bw {saturate = true} : (tensor<8x4x2x2xi32>) -> tensor<8x4x2x2xf32>
    %b = weir.mul %bf, %scale : (tensor<8x4x2x2xf32>, tensor<f32>) -> tensor<8x4x2x2xf32>
    %0 = weir.conv %padded, %b {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, channels_last = false, accumulator = f32} : (tensor<1x4x?x?xf32>, tensor<8x4x2x2xf32>) -> tensor<1x8x?x?xf32>
    return %0 : tensor<1x8x?x?xf32>
  }

  // A border of ones is none of zero points: floats.
  // CHECK-LABEL: @border_of_ones
  // CHECK: weir.pad {{.*}} -> tensor<1x4x?x?xf32>
  // CHECK: weir.conv {{.*}} -> tensor<1x8x?x?xf32>
  func.func @border_of_ones(%x: tensor<1x4x?x?xui8>, %pads: tensor<8xi64>) -> tensor<1x8x?x?xf32> {
    %one = weir.constant dense<1.000000e+00> : tensor<f32>
    %scale = weir.constant dense<5.000000e-01> : tensor<f32>
    %q = weir.constant dense<2> : tensor<8x4x2x2xi8>
    %af = weir.cast %x {saturate = true} : (tensor<1x4x?x?xui8>) -> tensor<1x4x?x?xf32>
    %a = weir.mul %af, %scale : (tensor<1x4x?x?xf32>, tensor<f32>) -> tensor<1x4x?x?xf32>
    %padded = weir.pad %a, %pads, %one {mode = "constant"} : (tensor<1x4x?x?xf32>, tensor<8xi64>, tensor<f32>) -> tensor<1x4x?x?xf32>
    %bf = weir.cast %q {saturate = true} : (tensor<8x4x2x2xi8>) -> tensor<8x4x2x2xf32>
    %b = weir.mul %bf, %scale : (tensor<8x4x2x2xf32>, tensor<f32>) -> tensor<8x4x2x2xf32>
    %0 = weir.conv %padded, %b {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, channels_last = false, accumulator = f32} : (tensor<1x4x?x?xf32>, tensor<8x4x2x2xf32>) -> tensor<1x8x?x?xf32>
    return %0 : tensor<1x8x?x?xf32>
  }

  // Weights lie where they lay, and are not computed: their bytes need no share of a zero
  // point. The right operand may be contracted along either dimension.
  // CHECK-LABEL: @product
  // CHECK: weir.constant #weir.arranged<#weir.blob<"w.bin"{{.*}} : tensor<64x32xi8>
  // CHECK: weir.dot_general %arg0, {{.*}}rhs_contract = array<i64: 0>{{.*}}weir.matrix} : (tensor<2x64xi8>, tensor<64x32xi8>) -> tensor<2x32xi32>
  // CHECK-NOT: weir.sub
  // CHECK: weir.cast
  // CHECK: return
  func.func @product(%x: tensor<2x64xi8>) -> tensor<2x32xf32> {
    %scale = weir.constant dense<5.000000e-01> : tensor<f32>
    %q = weir.constant #weir.blob<"w.bin", 0, 2048, "00"> : tensor<32x64xi8>
    %aw = weir.cast %x {saturate = true} : (tensor<2x64xi8>) -> tensor<2x64xi32>
    %af = weir.cast %aw {saturate = true} : (tensor<2x64xi32>) -> tensor<2x64xf32>
    %a = weir.mul %af, %scale : (tensor<2x64xf32>, tensor<f32>) -> tensor<2x64xf32>
    %bw = weir.cast %q {saturate = true} : (tensor<32x64xi8>) -> tensor<32x64xi32>
    %bf = weir.cast %bw {saturate = true} : (tensor<32x64xi32>) -> tensor<32x64xf32>
    %b = weir.mul %bf, %scale : (tensor<32x64xf32>, tensor<f32>) -> tensor<32x64xf32>
    %0 = weir.dot_general %a, %b {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 1>} : (tensor<2x64xf32>, tensor<32x64xf32>) -> tensor<2x32xf32>
    return %0 : tensor<2x32xf32>
  }

  // Zero points of columns whose words are too many to be folded: bytes behind a cast.
  // CHECK-LABEL: @wide_zeros
  // CHECK: weir.dot_general %arg0, {{.*}}weir.matrix} : (tensor<2x16xui8>, tensor<16x8xi8>) -> tensor<2x8xi32>
  // CHECK: return
  func.func @wide_zeros(%x: tensor<2x16xui8>) -> tensor<2x8xf32> {
    %scale = weir.constant dense<5.000000e-01> : tensor<f32>
    %q = weir.constant dense<"0x0B30557A9FC4E90E33587DA2C7EC11365B80A5CAEF14395E83A8CDF2173C6186ABD0F51A3F6489AED3F81D42678CB1D6FB20456A8FB4D9FE23486D92B7DC01264B7095BADF04294E7398BDE2072C51769BC0E50A2F54799EC3E80D32577CA1C6EB10355A7FA4C9EE13385D82A7CCF1163B6085AACFF4193E6388ADD2F71C4166"> : tensor<8x16xi8>
    %zb = weir.constant dense<[1, -2, 3, 0, 5, -6, 7, -8]> : tensor<8xi8>
    %zw = weir.cast %zb {saturate = true} : (tensor<8xi8>) -> tensor<8xi32>
    %shape = weir.constant dense<[8, 1]> : tensor<2xi64>
    %z = weir.reshape %zw, %shape : (tensor<8xi32>, tensor<2xi64>) -> tensor<8x1xi32>
    %aw = weir.cast %x {saturate = true} : (tensor<2x16xui8>) -> tensor<2x16xi32>
    %af = weir.cast %aw {saturate = true} : (tensor<2x16xi32>) -> tensor<2x16xf32>
    %a = weir.mul %af, %scale : (tensor<2x16xf32>, tensor<f32>) -> tensor<2x16xf32>
    %bw = weir.cast %q {saturate = true} : (tensor<8x16xi8>) -> tensor<8x16xi32>
    %bc = weir.sub %bw, %z : (tensor<8x16xi32>, tensor<8x1xi32>) -> tensor<8x16xi32>
    %bf = weir.cast %bc {saturate = true} : (tensor<8x16xi32>) -> tensor<8x16xf32>
    %b = weir.mul %bf, %scale : (tensor<8x16xf32>, tensor<f32>) -> tensor<8x16xf32>
    %0 = weir.dot_general %a, %b {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 1>} : (tensor<2x16xf32>, tensor<8x16xf32>) -> tensor<2x8xf32>
    return %0 : tensor<2x8xf32>
  }

  // Sums of words, as MatMulInteger has them; a zero point that is computed is multiplied
  // with the sums of the weights' columns.
  // CHECK-LABEL: @words
  // CHECK: %[[SUM:.+]] = weir.dot_general %arg0, {{.*}}weir.matrix} : (tensor<3x16xui8>, tensor<16x8xi8>) -> tensor<3x8xi32>
  // CHECK: %[[SHARE:.+]] = weir.mul {{.*}}, %arg1 : (tensor<8xi32>, tensor<i32>)
  // CHECK: weir.sub %[[SUM]], %[[SHARE]]
  func.func @words(%x: tensor<3x16xui8>, %zero: tensor<i32>) -> tensor<3x8xi32> {
    %q = weir.constant dense<"0x868D949BA2A9B0B7BEC5CCD3DAE1E8EFF6FD040B121920272E353C434A51585F666D747B878E959CA3AAB1B8BFC6CDD4DBE2E9F0F7FE050C131A21282F363D444B525960676E757C888F969DA4ABB2B9C0C7CED5DCE3EAF1F8FF060D141B222930373E454C535A61686F767D8990979EA5ACB3BAC1C8CFD6DDE4EBF2F900070E"> : tensor<16x8xi8>
    %aw = weir.cast %x {saturate = true} : (tensor<3x16xui8>) -> tensor<3x16xi32>
    %ac = weir.sub %aw, %zero : (tensor<3x16xi32>, tensor<i32>) -> tensor<3x16xi32>
    %bw = weir.cast %q {saturate = true} : (tensor<16x8xi8>) -> tensor<16x8xi32>
    %0 = weir.dot_general %ac, %bw {accumulator = i32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<3x16xi32>, tensor<16x8xi32>) -> tensor<3x8xi32>
    return %0 : tensor<3x8xi32>
  }

  // Channels are no fours: lines of the window, and of the image, get an element more. A
  // quantization behind a sum is a factor of its scale and its bias, and the cast clamps.
  // CHECK-LABEL: @requantized
  // CHECK: weir.constant dense<[0, 0, 0, 0, 0, 0, 1, 0]>
  // CHECK: weir.pad {{.*}} -> tensor<1x6x7x3xi8>
  // CHECK: %[[SUM:.+]] = weir.conv {{.*}}tensor<3x4x3x8xi8>) -> tensor<1x4x4x8xi32>
  // CHECK: %[[REAL:.+]] = weir.cast {{.*}} -> tensor<1x8x4x4xf32>
  // CHECK-DAG: %[[SCALE:.+]] = weir.constant dense<2.500000e-01> : tensor<f32>
  // CHECK-DAG: %[[SCALED:.+]] = weir.mul %[[REAL]], %[[SCALE]]
  // CHECK-DAG: %[[BIAS:.+]] = weir.constant dense<{{.*}}5.000000e-01{{.*}}> : tensor<8x1x1xf32>
  // CHECK-DAG: %[[BIASED:.+]] = weir.add %[[SCALED]], %[[BIAS]]
  // CHECK: %[[ROUND:.+]] = weir.round_even %[[BIASED]]
  // CHECK: weir.cast %[[ROUND]] {saturate = true} {{.*}} -> tensor<1x8x4x4xi8>
  // CHECK-NOT: weir.div
  // CHECK: weir.dot_general
  func.func @requantized(%x: tensor<1x3x6x6xi8>) -> tensor<1x16xf32> {
    %scale = weir.constant dense<1.000000e+00> : tensor<f32>
    %out = weir.constant dense<4.000000e+00> : tensor<f32>
    %low = weir.constant dense<-1.280000e+02> : tensor<f32>
    %high = weir.constant dense<1.270000e+02> : tensor<f32>
    %shape = weir.constant dense<[1, 128]> : tensor<2xi64>
    %bias = weir.constant dense<[[[2.0]], [[1.0]], [[0.0]], [[0.0]], [[0.0]], [[0.0]], [[0.0]], [[1.0]]]> : tensor<8x1x1xf32>
    %q = weir.constant dense<"0x898E93989DA2A7ACB1B6BBC0C5CACFD4D9DEE3E8EDF2F7FC01060B10151A1F24292E33383D42474C51565B60656A6F74888D92979CA1A6ABB0B5BABFC4C9CED3D8DDE2E7ECF1F6FB00050A0F14191E23282D32373C41464B50555A5F64696E73788C91969BA0A5AAAFB4B9BEC3C8CDD2D7DCE1E6EBF0F5FAFF04090E13181D22272C31363B40454A4F54595E63686D72778B90959A9FA4A9AEB3B8BDC2C7CCD1D6DBE0E5EAEFF4F9FE03080D12171C21262B30353A3F44494E53585D62676C71768A8F94999EA3A8ADB2B7BCC1C6CBD0D5DADFE4E9EEF3F8"> : tensor<8x3x3x3xi8>
    %p = weir.constant #weir.blob<"w.bin", 0, 2048, "00"> : tensor<128x16xi8>
    %aw = weir.cast %x {saturate = true} : (tensor<1x3x6x6xi8>) -> tensor<1x3x6x6xi32>
    %af = weir.cast %aw {saturate = true} : (tensor<1x3x6x6xi32>) -> tensor<1x3x6x6xf32>
    %a = weir.mul %af, %scale : (tensor<1x3x6x6xf32>, tensor<f32>) -> tensor<1x3x6x6xf32>
    %bw = weir.cast %q {saturate = true} : (tensor<8x3x3x3xi8>) -> tensor<8x3x3x3xi32>
    %bf = weir.cast %bw {saturate = true} : (tensor<8x3x3x3xi32>) -> tensor<8x3x3x3xf32>
    %b = weir.mul %bf, %scale : (tensor<8x3x3x3xf32>, tensor<f32>) -> tensor<8x3x3x3xf32>
    %0 = weir.conv %a, %b {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, channels_last = false, accumulator = f32} : (tensor<1x3x6x6xf32>, tensor<8x3x3x3xf32>) -> tensor<1x8x4x4xf32>
    %1 = weir.add %0, %bias : (tensor<1x8x4x4xf32>, tensor<8x1x1xf32>) -> tensor<1x8x4x4xf32>
    %2 = weir.div %1, %out : (tensor<1x8x4x4xf32>, tensor<f32>) -> tensor<1x8x4x4xf32>
    %3 = weir.round_even %2 : (tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32>
    %4 = weir.maximum %3, %low : (tensor<1x8x4x4xf32>, tensor<f32>) -> tensor<1x8x4x4xf32>
    %5 = weir.minimum %4, %high : (tensor<1x8x4x4xf32>, tensor<f32>) -> tensor<1x8x4x4xf32>
    %6 = weir.cast %5 {saturate = true} : (tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xi8>
    %7 = weir.reshape %6, %shape : (tensor<1x8x4x4xi8>, tensor<2xi64>) -> tensor<1x128xi8>
    %cw = weir.cast %7 {saturate = true} : (tensor<1x128xi8>) -> tensor<1x128xi32>
    %cf = weir.cast %cw {saturate = true} : (tensor<1x128xi32>) -> tensor<1x128xf32>
    %c = weir.mul %cf, %scale : (tensor<1x128xf32>, tensor<f32>) -> tensor<1x128xf32>
    %dw = weir.cast %p {saturate = true} : (tensor<128x16xi8>) -> tensor<128x16xi32>
    %df = weir.cast %dw {saturate = true} : (tensor<128x16xi32>) -> tensor<128x16xf32>
    %d = weir.mul %df, %scale : (tensor<128x16xf32>, tensor<f32>) -> tensor<128x16xf32>
    %8 = weir.dot_general %c, %d {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<1x128xf32>, tensor<128x16xf32>) -> tensor<1x16xf32>
    return %8 : tensor<1x16xf32>
  }

  // Unsigned weights around 128 are signed ones.
  // CHECK-LABEL: @unsigned_weights
  // CHECK: weir.constant dense<{{.*}}> : tensor<16x8xi8>
  // CHECK: weir.dot_general {{.*}}weir.matrix} : (tensor<3x16xi8>, tensor<16x8xi8>)
  func.func @unsigned_weights(%x: tensor<3x16xi8>) -> tensor<3x8xi32> {
    %zero = weir.constant dense<128> : tensor<i32>
    %q = weir.constant dense<"0x868D949BA2A9B0B7BEC5CCD3DAE1E8EFF6FD040B121920272E353C434A51585F666D747B878E959CA3AAB1B8BFC6CDD4DBE2E9F0F7FE050C131A21282F363D444B525960676E757C888F969DA4ABB2B9C0C7CED5DCE3EAF1F8FF060D141B222930373E454C535A61686F767D8990979EA5ACB3BAC1C8CFD6DDE4EBF2F900070E"> : tensor<16x8xui8>
    %aw = weir.cast %x {saturate = true} : (tensor<3x16xi8>) -> tensor<3x16xi32>
    %bw = weir.cast %q {saturate = true} : (tensor<16x8xui8>) -> tensor<16x8xi32>
    %bc = weir.sub %bw, %zero : (tensor<16x8xi32>, tensor<i32>) -> tensor<16x8xi32>
    %0 = weir.dot_general %aw, %bc {accumulator = i32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<3x16xi32>, tensor<16x8xi32>) -> tensor<3x8xi32>
    return %0 : tensor<3x8xi32>
  }

  // Rows may be open.
  // CHECK-LABEL: @open_rows
  // CHECK: weir.dot_general %arg0, {{.*}}weir.matrix} : (tensor<?x16xui8>, tensor<16x8xi8>) -> tensor<?x8xi32>
  func.func @open_rows(%x: tensor<?x16xui8>) -> tensor<?x8xi32> {
    %q = weir.constant dense<"0x868D949BA2A9B0B7BEC5CCD3DAE1E8EFF6FD040B121920272E353C434A51585F666D747B878E959CA3AAB1B8BFC6CDD4DBE2E9F0F7FE050C131A21282F363D444B525960676E757C888F969DA4ABB2B9C0C7CED5DCE3EAF1F8FF060D141B222930373E454C535A61686F767D8990979EA5ACB3BAC1C8CFD6DDE4EBF2F900070E"> : tensor<16x8xi8>
    %a = weir.cast %x {saturate = true} : (tensor<?x16xui8>) -> tensor<?x16xi32>
    %b = weir.cast %q {saturate = true} : (tensor<16x8xi8>) -> tensor<16x8xi32>
    %0 = weir.dot_general %a, %b {accumulator = i32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<?x16xi32>, tensor<16x8xi32>) -> tensor<?x8xi32>
    return %0 : tensor<?x8xi32>
  }

  // So may images. A zero point that is computed fills their border.
  // CHECK-LABEL: @open_image
  // CHECK: %[[FILL:.+]] = weir.cast %arg1 {{.*}} -> tensor<ui8>
  // CHECK: weir.pad {{.*}}, %[[FILL]] {{.*}} -> tensor<1x?x?x16xui8>
  // CHECK: weir.conv {{.*}}weir.matrix} : (tensor<1x?x?x16xui8>, tensor<2x2x16x4xi8>) -> tensor<1x?x?x4xi32>
  // CHECK: weir.mul {{.*}}, %arg1
  func.func @open_image(%x: tensor<1x16x?x?xui8>, %zero: tensor<i32>) -> tensor<1x4x?x?xi32> {
    %q = weir.constant dense<"0x868D949BA2A9B0B7BEC5CCD3DAE1E8EFF6FD040B121920272E353C434A51585F666D747B878E959CA3AAB1B8BFC6CDD4DBE2E9F0F7FE050C131A21282F363D444B525960676E757C888F969DA4ABB2B9C0C7CED5DCE3EAF1F8FF060D141B222930373E454C535A61686F767D8990979EA5ACB3BAC1C8CFD6DDE4EBF2F900070E868D949BA2A9B0B7BEC5CCD3DAE1E8EFF6FD040B121920272E353C434A51585F666D747B878E959CA3AAB1B8BFC6CDD4DBE2E9F0F7FE050C131A21282F363D444B525960676E757C888F969DA4ABB2B9C0C7CED5DCE3EAF1F8FF060D141B222930373E454C535A61686F767D8990979EA5ACB3BAC1C8CFD6DDE4EBF2F900070E"> : tensor<4x16x2x2xi8>
    %aw = weir.cast %x {saturate = true} : (tensor<1x16x?x?xui8>) -> tensor<1x16x?x?xi32>
    %a = weir.sub %aw, %zero : (tensor<1x16x?x?xi32>, tensor<i32>) -> tensor<1x16x?x?xi32>
    %b = weir.cast %q {saturate = true} : (tensor<4x16x2x2xi8>) -> tensor<4x16x2x2xi32>
    %0 = weir.conv %a, %b {strides = array<i64: 1, 1>, pads = array<i64: 0, 1, 0, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64, channels_last = false, accumulator = i32} : (tensor<1x16x?x?xi32>, tensor<4x16x2x2xi32>) -> tensor<1x4x?x?xi32>
    return %0 : tensor<1x4x?x?xi32>
  }

  // Weights that no signed byte holds, less their zero point, are moved; sums of rows, a
  // product by ones, make up for it.
  // CHECK-LABEL: @offset
  // CHECK: %[[SUM:.+]] = weir.dot_general %arg0, {{.*}} : (tensor<3x16xui8>, tensor<16x8xi8>) -> tensor<3x8xi32>
  // CHECK: %[[ONES:.+]] = weir.constant dense<1> : tensor<16x1xi8>
  // CHECK: %[[ROWS:.+]] = weir.dot_general %arg0, %[[ONES]] {{.*}}weir.matrix} : (tensor<3x16xui8>, tensor<16x1xi8>) -> tensor<3x1xi32>
  // CHECK: %[[MORE:.+]] = weir.mul %[[ROWS]],
  // CHECK: weir.add %[[SUM]], %[[MORE]]
  func.func @offset(%x: tensor<3x16xui8>) -> tensor<3x8xi32> {
    %zero = weir.constant dense<20> : tensor<i32>
    %q = weir.constant dense<"0x868D949BA2A9B0B7BEC5CCD3DAE1E8EFF6FD040B121920272E353C434A51585F666D747B878E959CA3AAB1B8BFC6CDD4DBE2E9F0F7FE050C131A21282F363D444B525960676E757C888F969DA4ABB2B9C0C7CED5DCE3EAF1F8FF060D141B222930373E454C535A61686F767D8990979EA5ACB3BAC1C8CFD6DDE4EBF2F900070E"> : tensor<16x8xui8>
    %a = weir.cast %x {saturate = true} : (tensor<3x16xui8>) -> tensor<3x16xi32>
    %bw = weir.cast %q {saturate = true} : (tensor<16x8xui8>) -> tensor<16x8xi32>
    %b = weir.sub %bw, %zero : (tensor<16x8xi32>, tensor<i32>) -> tensor<16x8xi32>
    %0 = weir.dot_general %a, %b {accumulator = i32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<3x16xi32>, tensor<16x8xi32>) -> tensor<3x8xi32>
    return %0 : tensor<3x8xi32>
  }

  // Weights that are computed, of each matrix of a batch; unsigned ones are moved by 128.
  // CHECK-LABEL: @computed
  // CHECK: %[[MOVED:.+]] = weir.sub {{.*}} : (tensor<2x16x8xi32>, tensor<i32>)
  // CHECK: %[[BYTES:.+]] = weir.cast %[[MOVED]] {{.*}} -> tensor<2x16x8xi8>
  // CHECK: weir.dot_general %arg0, %[[BYTES]] {{.*}}weir.matrix} : (tensor<2x?x16xi8>, tensor<2x16x8xi8>) -> tensor<2x?x8xi32>
  func.func @computed(%x: tensor<2x?x16xi8>, %y: tensor<2x16x8xui8>) -> tensor<2x?x8xi32> {
    %a = weir.cast %x {saturate = true} : (tensor<2x?x16xi8>) -> tensor<2x?x16xi32>
    %b = weir.cast %y {saturate = true} : (tensor<2x16x8xui8>) -> tensor<2x16x8xi32>
    %0 = weir.dot_general %a, %b {accumulator = i32, lhs_batch = array<i64: 0>, rhs_batch = array<i64: 0>, lhs_contract = array<i64: 2>, rhs_contract = array<i64: 1>} : (tensor<2x?x16xi32>, tensor<2x16x8xi32>) -> tensor<2x?x8xi32>
    return %0 : tensor<2x?x8xi32>
  }

  // Groups whose columns do not fill a panel are computed as one, by weights that are zero
  // elsewhere.
  // CHECK-LABEL: @groups
  // CHECK: weir.conv {{.*}}groups = 1 : i64{{.*}}weir.matrix} : (tensor<1x4x4x16xui8>, tensor<2x2x16x8xi8>) -> tensor<1x3x3x8xi32>
  func.func @groups(%i: tensor<1x16x4x4xui8>) -> tensor<1x8x3x3xi32> {
    %g = weir.constant dense<"0x868D949BA2A9B0B7BEC5CCD3DAE1E8EFF6FD040B121920272E353C434A51585F666D747B878E959CA3AAB1B8BFC6CDD4DBE2E9F0F7FE050C131A21282F363D444B525960676E757C888F969DA4ABB2B9C0C7CED5DCE3EAF1F8FF060D141B222930373E454C535A61686F767D8990979EA5ACB3BAC1C8CFD6DDE4EBF2F900070E868D949BA2A9B0B7BEC5CCD3DAE1E8EFF6FD040B121920272E353C434A51585F666D747B878E959CA3AAB1B8BFC6CDD4DBE2E9F0F7FE050C131A21282F363D444B525960676E757C888F969DA4ABB2B9C0C7CED5DCE3EAF1F8FF060D141B222930373E454C535A61686F767D8990979EA5ACB3BAC1C8CFD6DDE4EBF2F900070E"> : tensor<8x8x2x2xi8>
    %a = weir.cast %i {saturate = true} : (tensor<1x16x4x4xui8>) -> tensor<1x16x4x4xi32>
    %b = weir.cast %g {saturate = true} : (tensor<8x8x2x2xi8>) -> tensor<8x8x2x2xi32>
    %0 = weir.conv %a, %b {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 2 : i64, channels_last = false, accumulator = i32} : (tensor<1x16x4x4xi32>, tensor<8x8x2x2xi32>) -> tensor<1x8x3x3xi32>
    return %0 : tensor<1x8x3x3xi32>
  }

  // A channel a group stays so, for vectors of channels.
  // CHECK-LABEL: @depthwise
  // CHECK: weir.conv {{.*}}groups = 32 : i64{{.*}}weir.matrix} : (tensor<1x4x4x32xui8>, tensor<2x2x1x32xi8>) -> tensor<1x3x3x32xi32>
  func.func @depthwise(%i: tensor<1x32x4x4xui8>) -> tensor<1x32x3x3xi32> {
    %g = weir.constant dense<"0x868D949BA2A9B0B7BEC5CCD3DAE1E8EFF6FD040B121920272E353C434A51585F666D747B878E959CA3AAB1B8BFC6CDD4DBE2E9F0F7FE050C131A21282F363D444B525960676E757C888F969DA4ABB2B9C0C7CED5DCE3EAF1F8FF060D141B222930373E454C535A61686F767D8990979EA5ACB3BAC1C8CFD6DDE4EBF2F900070E"> : tensor<32x1x2x2xi8>
    %a = weir.cast %i {saturate = true} : (tensor<1x32x4x4xui8>) -> tensor<1x32x4x4xi32>
    %b = weir.cast %g {saturate = true} : (tensor<32x1x2x2xi8>) -> tensor<32x1x2x2xi32>
    %0 = weir.conv %a, %b {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 32 : i64, channels_last = false, accumulator = i32} : (tensor<1x32x4x4xi32>, tensor<32x1x2x2xi32>) -> tensor<1x32x3x3xi32>
    return %0 : tensor<1x32x3x3xi32>
  }

  // Not scales or zero points along what is summed, an open depth, and of reals few
  // columns, or sums that a word might not hold.
  // CHECK-LABEL: @others
  // CHECK-NOT: weir.matrix
  func.func @others(%x: tensor<3x16xui8>, %o: tensor<3x?xui8>, %p: tensor<?x8xi8>, %l: tensor<2x70000xui8>) -> (tensor<3x8xf32>, tensor<3x8xi32>, tensor<3x8xi32>, tensor<3x4xf32>, tensor<2x8xf32>) {
    %scale = weir.constant dense<5.000000e-01> : tensor<f32>
    %scales = weir.constant dense<[[1.0], [2.0], [3.0], [4.0], [1.0], [2.0], [3.0], [4.0], [1.0], [2.0], [3.0], [4.0], [1.0], [2.0], [3.0], [4.0]]> : tensor<16x1xf32>
    %zeros = weir.constant dense<[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]> : tensor<16xi32>
    %q = weir.constant dense<"0x868D949BA2A9B0B7BEC5CCD3DAE1E8EFF6FD040B121920272E353C434A51585F666D747B878E959CA3AAB1B8BFC6CDD4DBE2E9F0F7FE050C131A21282F363D444B525960676E757C888F969DA4ABB2B9C0C7CED5DCE3EAF1F8FF060D141B222930373E454C535A61686F767D8990979EA5ACB3BAC1C8CFD6DDE4EBF2F900070E"> : tensor<16x8xi8>
    %n = weir.constant dense<"0x868D949BA2A9B0B7BEC5CCD3DAE1E8EFF6FD040B121920272E353C434A51585F666D747B878E959CA3AAB1B8BFC6CDD4DBE2E9F0F7FE050C131A21282F363D44"> : tensor<16x4xi8>
    %m = weir.constant #weir.blob<"w.bin", 0, 560000, "00"> : tensor<70000x8xi8>
    %aw = weir.cast %x {saturate = true} : (tensor<3x16xui8>) -> tensor<3x16xi32>
    %af = weir.cast %aw {saturate = true} : (tensor<3x16xi32>) -> tensor<3x16xf32>
    %a = weir.mul %af, %scale : (tensor<3x16xf32>, tensor<f32>) -> tensor<3x16xf32>
    %bw = weir.cast %q {saturate = true} : (tensor<16x8xi8>) -> tensor<16x8xi32>
    %bf = weir.cast %bw {saturate = true} : (tensor<16x8xi32>) -> tensor<16x8xf32>
    %b = weir.mul %bf, %scales : (tensor<16x8xf32>, tensor<16x1xf32>) -> tensor<16x8xf32>
    %0 = weir.dot_general %a, %b {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<3x16xf32>, tensor<16x8xf32>) -> tensor<3x8xf32>
    %c = weir.sub %aw, %zeros : (tensor<3x16xi32>, tensor<16xi32>) -> tensor<3x16xi32>
    %1 = weir.dot_general %c, %bw {accumulator = i32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<3x16xi32>, tensor<16x8xi32>) -> tensor<3x8xi32>
    %ow = weir.cast %o {saturate = true} : (tensor<3x?xui8>) -> tensor<3x?xi32>
    %pw = weir.cast %p {saturate = true} : (tensor<?x8xi8>) -> tensor<?x8xi32>
    %2 = weir.dot_general %ow, %pw {accumulator = i32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<3x?xi32>, tensor<?x8xi32>) -> tensor<3x8xi32>
    %dw = weir.cast %n {saturate = true} : (tensor<16x4xi8>) -> tensor<16x4xi32>
    %df = weir.cast %dw {saturate = true} : (tensor<16x4xi32>) -> tensor<16x4xf32>
    %d = weir.mul %df, %scale : (tensor<16x4xf32>, tensor<f32>) -> tensor<16x4xf32>
    %3 = weir.dot_general %a, %d {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<3x16xf32>, tensor<16x4xf32>) -> tensor<3x4xf32>
    %ew = weir.cast %l {saturate = true} : (tensor<2x70000xui8>) -> tensor<2x70000xi32>
    %ef = weir.cast %ew {saturate = true} : (tensor<2x70000xi32>) -> tensor<2x70000xf32>
    %e = weir.mul %ef, %scale : (tensor<2x70000xf32>, tensor<f32>) -> tensor<2x70000xf32>
    %fw = weir.cast %m {saturate = true} : (tensor<70000x8xi8>) -> tensor<70000x8xi32>
    %ff = weir.cast %fw {saturate = true} : (tensor<70000x8xi32>) -> tensor<70000x8xf32>
    %f = weir.mul %ff, %scale : (tensor<70000x8xf32>, tensor<f32>) -> tensor<70000x8xf32>
    %4 = weir.dot_general %e, %f {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<2x70000xf32>, tensor<70000x8xf32>) -> tensor<2x8xf32>
    return %0, %1, %2, %3, %4 : tensor<3x8xf32>, tensor<3x8xi32>, tensor<3x8xi32>, tensor<3x4xf32>, tensor<2x8xf32>
  }

  // Of two quantized values that are added, the first one's byte is stored, and the
  // second one's is computed on the way.
  // CHECK-LABEL: @residual
  // CHECK: weir.dot_general
  // CHECK: weir.cast {{.*}}weir.stored} : (tensor<3x8xf32>) -> tensor<3x8xi8>
  // CHECK: weir.dot_general
  // CHECK-NOT: weir.stored
  // CHECK: return
  func.func @residual(%x: tensor<3x16xi8>) -> tensor<3x8xf32> {
    %scale = weir.constant dense<5.000000e-01> : tensor<f32>
    %low = weir.constant dense<-1.280000e+02> : tensor<f32>
    %high = weir.constant dense<1.270000e+02> : tensor<f32>
    %q = weir.constant dense<"0x868D949BA2A9B0B7BEC5CCD3DAE1E8EFF6FD040B121920272E353C434A51585F666D747B878E959CA3AAB1B8BFC6CDD4DBE2E9F0F7FE050C131A21282F363D444B525960676E757C888F969DA4ABB2B9C0C7CED5DCE3EAF1F8FF060D141B222930373E454C535A61686F767D8990979EA5ACB3BAC1C8CFD6DDE4EBF2F900070E"> : tensor<16x8xi8>
    %aw = weir.cast %x {saturate = true} : (tensor<3x16xi8>) -> tensor<3x16xi32>
    %af = weir.cast %aw {saturate = true} : (tensor<3x16xi32>) -> tensor<3x16xf32>
    %a = weir.mul %af, %scale : (tensor<3x16xf32>, tensor<f32>) -> tensor<3x16xf32>
    %bw = weir.cast %q {saturate = true} : (tensor<16x8xi8>) -> tensor<16x8xi32>
    %bf = weir.cast %bw {saturate = true} : (tensor<16x8xi32>) -> tensor<16x8xf32>
    %b = weir.mul %bf, %scale : (tensor<16x8xf32>, tensor<f32>) -> tensor<16x8xf32>
    %s0 = weir.dot_general %a, %b {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<3x16xf32>, tensor<16x8xf32>) -> tensor<3x8xf32>
    %r0 = weir.round_even %s0 : (tensor<3x8xf32>) -> tensor<3x8xf32>
    %m0 = weir.maximum %r0, %low : (tensor<3x8xf32>, tensor<f32>) -> tensor<3x8xf32>
    %n0 = weir.minimum %m0, %high : (tensor<3x8xf32>, tensor<f32>) -> tensor<3x8xf32>
    %q0 = weir.cast %n0 {saturate = true} : (tensor<3x8xf32>) -> tensor<3x8xi8>
    %y0w = weir.cast %q0 {saturate = true} : (tensor<3x8xi8>) -> tensor<3x8xi32>
    %y0f = weir.cast %y0w {saturate = true} : (tensor<3x8xi32>) -> tensor<3x8xf32>
    %y0 = weir.mul %y0f, %scale : (tensor<3x8xf32>, tensor<f32>) -> tensor<3x8xf32>
    %s1 = weir.dot_general %a, %b {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<3x16xf32>, tensor<16x8xf32>) -> tensor<3x8xf32>
    %r1 = weir.round_even %s1 : (tensor<3x8xf32>) -> tensor<3x8xf32>
    %m1 = weir.maximum %r1, %low : (tensor<3x8xf32>, tensor<f32>) -> tensor<3x8xf32>
    %n1 = weir.minimum %m1, %high : (tensor<3x8xf32>, tensor<f32>) -> tensor<3x8xf32>
    %q1 = weir.cast %n1 {saturate = true} : (tensor<3x8xf32>) -> tensor<3x8xi8>
    %y1w = weir.cast %q1 {saturate = true} : (tensor<3x8xi8>) -> tensor<3x8xi32>
    %y1f = weir.cast %y1w {saturate = true} : (tensor<3x8xi32>) -> tensor<3x8xf32>
    %y1 = weir.mul %y1f, %scale : (tensor<3x8xf32>, tensor<f32>) -> tensor<3x8xf32>
    %t = weir.add %y0, %y1 : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
    return %t : tensor<3x8xf32>
  }
}

// -----

// Maxima of reals between products of bytes are those of the bytes, what is quantized as before is that
// byte, and both terms of a sum that is quantized take up its scale.
module attributes {weir.target = #weir.target<byte_products = quads>} {
  // CHECK-LABEL: @between_products
  // CHECK: %[[POOLED:.*]] = weir.pool %{{.*}}kind = "max"{{.*}} -> tensor<1x16x4x4xui8>
  // CHECK: %[[IMAGE:.*]] = weir.transpose %[[POOLED]]
  // CHECK: weir.conv %[[IMAGE]]{{.*}}weir.matrix
  // CHECK-NOT: weir.div
  // CHECK: weir.add %{{.*}} : (tensor<1x32x4x4xf32>, tensor<1x32x4x4xf32>)
  // CHECK-NEXT: weir.round_even
  func.func @between_products(%x: tensor<1x16x8x8xui8>, %z: tensor<1x32x4x4xui8>) -> tensor<1x32x4x4xui8> {
    %scale = weir.constant dense<5.000000e-01> : tensor<f32>
    %three = weir.constant dense<3.000000e+00> : tensor<f32>
    %low = weir.constant dense<0.000000e+00> : tensor<f32>
    %high = weir.constant dense<2.550000e+02> : tensor<f32>
    %q = weir.constant dense<3> : tensor<32x16x1x1xi8>
    %aw = weir.cast %x {saturate = true} : (tensor<1x16x8x8xui8>) -> tensor<1x16x8x8xi32>
    %af = weir.cast %aw {saturate = true} : (tensor<1x16x8x8xi32>) -> tensor<1x16x8x8xf32>
    %a = weir.mul %af, %scale : (tensor<1x16x8x8xf32>, tensor<f32>) -> tensor<1x16x8x8xf32>
    %p = weir.pool %a {kind = "max", window = array<i64: 3, 3>, strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, ceil_mode = false, count_include_pad = false, p = 1 : i64, channels_last = false} : (tensor<1x16x8x8xf32>) -> tensor<1x16x4x4xf32>
    %pd = weir.div %p, %scale : (tensor<1x16x4x4xf32>, tensor<f32>) -> tensor<1x16x4x4xf32>
    %pr = weir.round_even %pd : (tensor<1x16x4x4xf32>) -> tensor<1x16x4x4xf32>
    %pm = weir.maximum %pr, %low : (tensor<1x16x4x4xf32>, tensor<f32>) -> tensor<1x16x4x4xf32>
    %pn = weir.minimum %pm, %high : (tensor<1x16x4x4xf32>, tensor<f32>) -> tensor<1x16x4x4xf32>
    %pq = weir.cast %pn {saturate = true} : (tensor<1x16x4x4xf32>) -> tensor<1x16x4x4xui8>
    %bw = weir.cast %pq {saturate = true} : (tensor<1x16x4x4xui8>) -> tensor<1x16x4x4xi32>
    %bf = weir.cast %bw {saturate = true} : (tensor<1x16x4x4xi32>) -> tensor<1x16x4x4xf32>
    %b = weir.mul %bf, %scale : (tensor<1x16x4x4xf32>, tensor<f32>) -> tensor<1x16x4x4xf32>
    %ww = weir.cast %q {saturate = true} : (tensor<32x16x1x1xi8>) -> tensor<32x16x1x1xi32>
    %wf = weir.cast %ww {saturate = true} : (tensor<32x16x1x1xi32>) -> tensor<32x16x1x1xf32>
    %w = weir.mul %wf, %scale : (tensor<32x16x1x1xf32>, tensor<f32>) -> tensor<32x16x1x1xf32>
    %s = weir.conv %b, %w {accumulator = f32, channels_last = false, dilations = array<i64: 1, 1>, groups = 1 : i64, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>} : (tensor<1x16x4x4xf32>, tensor<32x16x1x1xf32>) -> tensor<1x32x4x4xf32>
    %zw = weir.cast %z {saturate = true} : (tensor<1x32x4x4xui8>) -> tensor<1x32x4x4xi32>
    %zf = weir.cast %zw {saturate = true} : (tensor<1x32x4x4xi32>) -> tensor<1x32x4x4xf32>
    %zs = weir.mul %zf, %three : (tensor<1x32x4x4xf32>, tensor<f32>) -> tensor<1x32x4x4xf32>
    %t = weir.add %s, %zs : (tensor<1x32x4x4xf32>, tensor<1x32x4x4xf32>) -> tensor<1x32x4x4xf32>
    %td = weir.div %t, %three : (tensor<1x32x4x4xf32>, tensor<f32>) -> tensor<1x32x4x4xf32>
    %tr = weir.round_even %td : (tensor<1x32x4x4xf32>) -> tensor<1x32x4x4xf32>
    %tm = weir.maximum %tr, %low : (tensor<1x32x4x4xf32>, tensor<f32>) -> tensor<1x32x4x4xf32>
    %tn = weir.minimum %tm, %high : (tensor<1x32x4x4xf32>, tensor<f32>) -> tensor<1x32x4x4xf32>
    %tq = weir.cast %tn {saturate = true} : (tensor<1x32x4x4xf32>) -> tensor<1x32x4x4xui8>
    return %tq : tensor<1x32x4x4xui8>
  }
}

// -----

// Depthwise convolutions are of bytes where vectors add their windows by quads, with a border of zeros of
// their own; elsewhere of floats.
module attributes {weir.target = #weir.target<vector_bytes = 64, byte_products = quads>} {
  // CHECK-LABEL: @depthwise
  // CHECK-NOT: weir.pad
  // CHECK: weir.conv {{.*}}groups = 32 : i64, pads = array<i64: 1, 1, 1, 1>{{.*}}weir.matrix} : (tensor<1x6x6x32xui8>, tensor<3x3x1x32xi8>) -> tensor<1x6x6x32xi32>
  func.func @depthwise(%x: tensor<1x32x6x6xui8>) -> tensor<1x32x6x6xf32> {
    %scale = weir.constant dense<5.000000e-01> : tensor<f32>
    %q = weir.constant dense<3> : tensor<32x1x3x3xi8>
    %aw = weir.cast %x {saturate = true} : (tensor<1x32x6x6xui8>) -> tensor<1x32x6x6xi32>
    %af = weir.cast %aw {saturate = true} : (tensor<1x32x6x6xi32>) -> tensor<1x32x6x6xf32>
    %a = weir.mul %af, %scale : (tensor<1x32x6x6xf32>, tensor<f32>) -> tensor<1x32x6x6xf32>
    %bw = weir.cast %q {saturate = true} : (tensor<32x1x3x3xi8>) -> tensor<32x1x3x3xi32>
    %bf = weir.cast %bw {saturate = true} : (tensor<32x1x3x3xi32>) -> tensor<32x1x3x3xf32>
    %b = weir.mul %bf, %scale : (tensor<32x1x3x3xf32>, tensor<f32>) -> tensor<32x1x3x3xf32>
    %0 = weir.conv %a, %b {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, groups = 32 : i64, channels_last = false, accumulator = f32} : (tensor<1x32x6x6xf32>, tensor<32x1x3x3xf32>) -> tensor<1x32x6x6xf32>
    return %0 : tensor<1x32x6x6xf32>
  }
}

// -----

module attributes {weir.target = #weir.target<vector_bytes = 32, byte_products = quads>} {
  // CHECK-LABEL: @depthwise_of_floats
  // CHECK: weir.conv {{.*}}(tensor<1x32x6x6xf32>, tensor<32x1x3x3xf32>) -> tensor<1x32x6x6xf32>
  func.func @depthwise_of_floats(%x: tensor<1x32x6x6xui8>) -> tensor<1x32x6x6xf32> {
    %scale = weir.constant dense<5.000000e-01> : tensor<f32>
    %q = weir.constant dense<3> : tensor<32x1x3x3xi8>
    %aw = weir.cast %x {saturate = true} : (tensor<1x32x6x6xui8>) -> tensor<1x32x6x6xi32>
    %af = weir.cast %aw {saturate = true} : (tensor<1x32x6x6xi32>) -> tensor<1x32x6x6xf32>
    %a = weir.mul %af, %scale : (tensor<1x32x6x6xf32>, tensor<f32>) -> tensor<1x32x6x6xf32>
    %bw = weir.cast %q {saturate = true} : (tensor<32x1x3x3xi8>) -> tensor<32x1x3x3xi32>
    %bf = weir.cast %bw {saturate = true} : (tensor<32x1x3x3xi32>) -> tensor<32x1x3x3xf32>
    %b = weir.mul %bf, %scale : (tensor<32x1x3x3xf32>, tensor<f32>) -> tensor<32x1x3x3xf32>
    %0 = weir.conv %a, %b {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, groups = 32 : i64, channels_last = false, accumulator = f32} : (tensor<1x32x6x6xf32>, tensor<32x1x3x3xf32>) -> tensor<1x32x6x6xf32>
    return %0 : tensor<1x32x6x6xf32>
  }
}

// -----

// Where nothing multiplies bytes, all stay as they are.
// CHECK-LABEL: @floats
// CHECK-NOT: weir.matrix
func.func @floats(%x: tensor<2x64xi8>) -> tensor<2x32xf32> {
    %scale = weir.constant dense<5.000000e-01> : tensor<f32>
    %q = weir.constant #weir.blob<"w.bin", 0, 2048, "00"> : tensor<64x32xi8>
    %aw = weir.cast %x {saturate = true} : (tensor<2x64xi8>) -> tensor<2x64xi32>
    %af = weir.cast %aw {saturate = true} : (tensor<2x64xi32>) -> tensor<2x64xf32>
    %a = weir.mul %af, %scale : (tensor<2x64xf32>, tensor<f32>) -> tensor<2x64xf32>
    %bw = weir.cast %q {saturate = true} : (tensor<64x32xi8>) -> tensor<64x32xi32>
    %bf = weir.cast %bw {saturate = true} : (tensor<64x32xi32>) -> tensor<64x32xf32>
    %b = weir.mul %bf, %scale : (tensor<64x32xf32>, tensor<f32>) -> tensor<64x32xf32>
    %0 = weir.dot_general %a, %b {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<2x64xf32>, tensor<64x32xf32>) -> tensor<2x32xf32>
    return %0 : tensor<2x32xf32>
}

// -----

// Where pairs are multiplied, those of bytes are only where few of constant weights add to more than
// a half of a word holds.
module attributes {weir.target = #weir.target<byte_products = pairs>} {
  // CHECK-LABEL: @words_by_pairs
  // CHECK: weir.matrix}
  func.func @words_by_pairs(%x: tensor<3x16xui8>) -> tensor<3x8xi32> {
    %q = weir.constant dense<"0x868D949BA2A9B0B7BEC5CCD3DAE1E8EFF6FD040B121920272E353C434A51585F666D747B878E959CA3AAB1B8BFC6CDD4DBE2E9F0F7FE050C131A21282F363D444B525960676E757C888F969DA4ABB2B9C0C7CED5DCE3EAF1F8FF060D141B222930373E454C535A61686F767D8990979EA5ACB3BAC1C8CFD6DDE4EBF2F900070E"> : tensor<16x8xi8>
    %a = weir.cast %x {saturate = true} : (tensor<3x16xui8>) -> tensor<3x16xi32>
    %b = weir.cast %q {saturate = true} : (tensor<16x8xi8>) -> tensor<16x8xi32>
    %0 = weir.dot_general %a, %b {accumulator = i32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<3x16xi32>, tensor<16x8xi32>) -> tensor<3x8xi32>
    return %0 : tensor<3x8xi32>
  }

  // CHECK-LABEL: @reals_by_pairs
  // CHECK: weir.matrix}
  func.func @reals_by_pairs(%x: tensor<3x16xui8>) -> tensor<3x8xf32> {
    %scale = weir.constant dense<5.000000e-01> : tensor<f32>
    %q = weir.constant dense<"0x868D949BA2A9B0B7BEC5CCD3DAE1E8EFF6FD040B121920272E353C434A51585F666D747B878E959CA3AAB1B8BFC6CDD4DBE2E9F0F7FE050C131A21282F363D444B525960676E757C888F969DA4ABB2B9C0C7CED5DCE3EAF1F8FF060D141B222930373E454C535A61686F767D8990979EA5ACB3BAC1C8CFD6DDE4EBF2F900070E"> : tensor<16x8xi8>
    %aw = weir.cast %x {saturate = true} : (tensor<3x16xui8>) -> tensor<3x16xi32>
    %af = weir.cast %aw {saturate = true} : (tensor<3x16xi32>) -> tensor<3x16xf32>
    %a = weir.mul %af, %scale : (tensor<3x16xf32>, tensor<f32>) -> tensor<3x16xf32>
    %bw = weir.cast %q {saturate = true} : (tensor<16x8xi8>) -> tensor<16x8xi32>
    %bf = weir.cast %bw {saturate = true} : (tensor<16x8xi32>) -> tensor<16x8xf32>
    %b = weir.mul %bf, %scale : (tensor<16x8xf32>, tensor<f32>) -> tensor<16x8xf32>
    %0 = weir.dot_general %a, %b {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<3x16xf32>, tensor<16x8xf32>) -> tensor<3x8xf32>
    return %0 : tensor<3x8xf32>
  }
  // CHECK-LABEL: @bounded_pairs
  // CHECK: weir.matrix = "bounded"
  func.func @bounded_pairs(%x: tensor<3x16xui8>) -> tensor<3x8xi32> {
    %q = weir.constant dense<64> : tensor<16x8xi8>
    %a = weir.cast %x {saturate = true} : (tensor<3x16xui8>) -> tensor<3x16xi32>
    %b = weir.cast %q {saturate = true} : (tensor<16x8xi8>) -> tensor<16x8xi32>
    %0 = weir.dot_general %a, %b {accumulator = i32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<3x16xi32>, tensor<16x8xi32>) -> tensor<3x8xi32>
    return %0 : tensor<3x8xi32>
  }

  // CHECK-LABEL: @unbounded_pairs
  // CHECK-NOT: bounded
  func.func @unbounded_pairs(%x: tensor<3x16xui8>) -> tensor<3x8xi32> {
    %q = weir.constant dense<65> : tensor<16x8xi8>
    %a = weir.cast %x {saturate = true} : (tensor<3x16xui8>) -> tensor<3x16xi32>
    %b = weir.cast %q {saturate = true} : (tensor<16x8xi8>) -> tensor<16x8xi32>
    %0 = weir.dot_general %a, %b {accumulator = i32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<3x16xi32>, tensor<16x8xi32>) -> tensor<3x8xi32>
    return %0 : tensor<3x8xi32>
  }
}

// -----

// Where vectors have 32 bytes windows in Winograd's form stay reals, but those of small images become
// bytes: below 15 lines where hardly a pair saturates, below 8 where few do and the filter is large.
module attributes {weir.target = #weir.target<vector_bytes = 32, byte_products = pairs>} {
  // CHECK-LABEL: @windows_of_14_lines
  // CHECK: weir.conv {{.*}}weir.matrix = "bounded"
  func.func @windows_of_14_lines(%x: tensor<1x32x14x14xui8>) -> tensor<1x64x14x14xf32> {
    %scale = weir.constant dense<5.000000e-01> : tensor<f32>
    %q = weir.constant dense<9> : tensor<64x32x3x3xi8>
    %af = weir.cast %x {saturate = true} : (tensor<1x32x14x14xui8>) -> tensor<1x32x14x14xf32>
    %a = weir.mul %af, %scale : (tensor<1x32x14x14xf32>, tensor<f32>) -> tensor<1x32x14x14xf32>
    %bf = weir.cast %q {saturate = true} : (tensor<64x32x3x3xi8>) -> tensor<64x32x3x3xf32>
    %b = weir.mul %bf, %scale : (tensor<64x32x3x3xf32>, tensor<f32>) -> tensor<64x32x3x3xf32>
    %0 = weir.conv %a, %b {accumulator = f32, channels_last = false, dilations = array<i64: 1, 1>, groups = 1 : i64, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>} : (tensor<1x32x14x14xf32>, tensor<64x32x3x3xf32>) -> tensor<1x64x14x14xf32>
    return %0 : tensor<1x64x14x14xf32>
  }

  // CHECK-LABEL: @windows_of_15_lines
  // CHECK-NOT: weir.matrix
  func.func @windows_of_15_lines(%x: tensor<1x32x15x15xui8>) -> tensor<1x64x15x15xf32> {
    %scale = weir.constant dense<5.000000e-01> : tensor<f32>
    %q = weir.constant dense<9> : tensor<64x32x3x3xi8>
    %af = weir.cast %x {saturate = true} : (tensor<1x32x15x15xui8>) -> tensor<1x32x15x15xf32>
    %a = weir.mul %af, %scale : (tensor<1x32x15x15xf32>, tensor<f32>) -> tensor<1x32x15x15xf32>
    %bf = weir.cast %q {saturate = true} : (tensor<64x32x3x3xi8>) -> tensor<64x32x3x3xf32>
    %b = weir.mul %bf, %scale : (tensor<64x32x3x3xf32>, tensor<f32>) -> tensor<64x32x3x3xf32>
    %0 = weir.conv %a, %b {accumulator = f32, channels_last = false, dilations = array<i64: 1, 1>, groups = 1 : i64, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>} : (tensor<1x32x15x15xf32>, tensor<64x32x3x3xf32>) -> tensor<1x64x15x15xf32>
    return %0 : tensor<1x64x15x15xf32>
  }

  // CHECK-LABEL: @windows_that_saturate
  // CHECK-NOT: weir.matrix
  func.func @windows_that_saturate(%x: tensor<1x32x14x14xui8>) -> tensor<1x64x14x14xf32> {
    %scale = weir.constant dense<5.000000e-01> : tensor<f32>
    %q = weir.constant dense<65> : tensor<64x32x3x3xi8>
    %af = weir.cast %x {saturate = true} : (tensor<1x32x14x14xui8>) -> tensor<1x32x14x14xf32>
    %a = weir.mul %af, %scale : (tensor<1x32x14x14xf32>, tensor<f32>) -> tensor<1x32x14x14xf32>
    %bf = weir.cast %q {saturate = true} : (tensor<64x32x3x3xi8>) -> tensor<64x32x3x3xf32>
    %b = weir.mul %bf, %scale : (tensor<64x32x3x3xf32>, tensor<f32>) -> tensor<64x32x3x3xf32>
    %0 = weir.conv %a, %b {accumulator = f32, channels_last = false, dilations = array<i64: 1, 1>, groups = 1 : i64, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>} : (tensor<1x32x14x14xf32>, tensor<64x32x3x3xf32>) -> tensor<1x64x14x14xf32>
    return %0 : tensor<1x64x14x14xf32>
  }

  // CHECK-LABEL: @windows_by_a_fed_filter
  // CHECK-NOT: weir.matrix
  func.func @windows_by_a_fed_filter(%x: tensor<1x32x14x14xui8>, %q: tensor<64x32x3x3xi8>) -> tensor<1x64x14x14xf32> {
    %scale = weir.constant dense<5.000000e-01> : tensor<f32>
    %af = weir.cast %x {saturate = true} : (tensor<1x32x14x14xui8>) -> tensor<1x32x14x14xf32>
    %a = weir.mul %af, %scale : (tensor<1x32x14x14xf32>, tensor<f32>) -> tensor<1x32x14x14xf32>
    %bf = weir.cast %q {saturate = true} : (tensor<64x32x3x3xi8>) -> tensor<64x32x3x3xf32>
    %b = weir.mul %bf, %scale : (tensor<64x32x3x3xf32>, tensor<f32>) -> tensor<64x32x3x3xf32>
    %0 = weir.conv %a, %b {accumulator = f32, channels_last = false, dilations = array<i64: 1, 1>, groups = 1 : i64, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>} : (tensor<1x32x14x14xf32>, tensor<64x32x3x3xf32>) -> tensor<1x64x14x14xf32>
    return %0 : tensor<1x64x14x14xf32>
  }

  // CHECK-LABEL: @small_windows_that_saturate
  // CHECK-NOT: weir.matrix
  func.func @small_windows_that_saturate(%x: tensor<1x32x7x7xui8>) -> tensor<1x64x7x7xf32> {
    %scale = weir.constant dense<5.000000e-01> : tensor<f32>
    %q = weir.constant dense<65> : tensor<64x32x3x3xi8>
    %af = weir.cast %x {saturate = true} : (tensor<1x32x7x7xui8>) -> tensor<1x32x7x7xf32>
    %a = weir.mul %af, %scale : (tensor<1x32x7x7xf32>, tensor<f32>) -> tensor<1x32x7x7xf32>
    %bf = weir.cast %q {saturate = true} : (tensor<64x32x3x3xi8>) -> tensor<64x32x3x3xf32>
    %b = weir.mul %bf, %scale : (tensor<64x32x3x3xf32>, tensor<f32>) -> tensor<64x32x3x3xf32>
    %0 = weir.conv %a, %b {accumulator = f32, channels_last = false, dilations = array<i64: 1, 1>, groups = 1 : i64, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>} : (tensor<1x32x7x7xf32>, tensor<64x32x3x3xf32>) -> tensor<1x64x7x7xf32>
    return %0 : tensor<1x64x7x7xf32>
  }
}

// -----

// Vectors of 64 bytes have twice the reals of a vector, and registers enough for tiles of them.
module attributes {weir.target = #weir.target<vector_bytes = 64, byte_products = pairs>} {
  // CHECK-LABEL: @wide_windows_of_14_lines
  // CHECK-NOT: weir.matrix
  func.func @wide_windows_of_14_lines(%x: tensor<1x32x14x14xui8>) -> tensor<1x64x14x14xf32> {
    %scale = weir.constant dense<5.000000e-01> : tensor<f32>
    %q = weir.constant dense<9> : tensor<64x32x3x3xi8>
    %af = weir.cast %x {saturate = true} : (tensor<1x32x14x14xui8>) -> tensor<1x32x14x14xf32>
    %a = weir.mul %af, %scale : (tensor<1x32x14x14xf32>, tensor<f32>) -> tensor<1x32x14x14xf32>
    %bf = weir.cast %q {saturate = true} : (tensor<64x32x3x3xi8>) -> tensor<64x32x3x3xf32>
    %b = weir.mul %bf, %scale : (tensor<64x32x3x3xf32>, tensor<f32>) -> tensor<64x32x3x3xf32>
    %0 = weir.conv %a, %b {accumulator = f32, channels_last = false, dilations = array<i64: 1, 1>, groups = 1 : i64, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>} : (tensor<1x32x14x14xf32>, tensor<64x32x3x3xf32>) -> tensor<1x64x14x14xf32>
    return %0 : tensor<1x64x14x14xf32>
  }
}

// -----

// A target that does not say how wide its vectors are.
module attributes {weir.target = #weir.target<byte_products = pairs>} {
  // CHECK-LABEL: @windows_of_vectors_of_no_known_size
  // CHECK: weir.conv {{.*}}weir.matrix = "bounded"
  func.func @windows_of_vectors_of_no_known_size(%x: tensor<1x32x14x14xui8>) -> tensor<1x64x14x14xf32> {
    %scale = weir.constant dense<5.000000e-01> : tensor<f32>
    %q = weir.constant dense<9> : tensor<64x32x3x3xi8>
    %af = weir.cast %x {saturate = true} : (tensor<1x32x14x14xui8>) -> tensor<1x32x14x14xf32>
    %a = weir.mul %af, %scale : (tensor<1x32x14x14xf32>, tensor<f32>) -> tensor<1x32x14x14xf32>
    %bf = weir.cast %q {saturate = true} : (tensor<64x32x3x3xi8>) -> tensor<64x32x3x3xf32>
    %b = weir.mul %bf, %scale : (tensor<64x32x3x3xf32>, tensor<f32>) -> tensor<64x32x3x3xf32>
    %0 = weir.conv %a, %b {accumulator = f32, channels_last = false, dilations = array<i64: 1, 1>, groups = 1 : i64, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>} : (tensor<1x32x14x14xf32>, tensor<64x32x3x3xf32>) -> tensor<1x64x14x14xf32>
    return %0 : tensor<1x64x14x14xf32>
  }
}

// -----

// Signed bytes that a product of vectors reads are quantised to bytes without a sign; its readers
// take off 128 more.
module attributes {weir.target = #weir.target<vector_bytes = 64, byte_products = quads>} {
  // CHECK-LABEL: @without_sign
  // CHECK: weir.constant dense<1.330000e+02> : tensor<f32>
  // CHECK: [[BYTES:%.*]] = weir.cast {{.*}} -> tensor<3x16xui8>
  // CHECK: weir.dot_general {{.*}}weir.matrix{{.*}} (tensor<3x16xui8>
  // CHECK: weir.sub {{.*}}tensor<3x16xi32>, tensor<i32>
  func.func @without_sign(%x: tensor<3x16xf32>) -> (tensor<3x8xi32>, tensor<3x16xf32>) {
    %w = weir.constant dense<3> : tensor<16x8xi8>
    %zero = weir.constant dense<5.000000e+00> : tensor<f32>
    %word = weir.constant dense<5> : tensor<i32>
    %low = weir.constant dense<-1.280000e+02> : tensor<f32>
    %high = weir.constant dense<1.270000e+02> : tensor<f32>
    %r = weir.round_even %x : (tensor<3x16xf32>) -> tensor<3x16xf32>
    %m = weir.add %r, %zero : (tensor<3x16xf32>, tensor<f32>) -> tensor<3x16xf32>
    %l = weir.maximum %m, %low : (tensor<3x16xf32>, tensor<f32>) -> tensor<3x16xf32>
    %h = weir.minimum %l, %high : (tensor<3x16xf32>, tensor<f32>) -> tensor<3x16xf32>
    %q = weir.cast %h {saturate = true} : (tensor<3x16xf32>) -> tensor<3x16xi8>
    %a = weir.cast %q {saturate = true} : (tensor<3x16xi8>) -> tensor<3x16xi32>
    %c = weir.sub %a, %word : (tensor<3x16xi32>, tensor<i32>) -> tensor<3x16xi32>
    %b = weir.cast %w {saturate = true} : (tensor<16x8xi8>) -> tensor<16x8xi32>
    %0 = weir.dot_general %c, %b {accumulator = i32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<3x16xi32>, tensor<16x8xi32>) -> tensor<3x8xi32>
    %f = weir.cast %q {saturate = true} : (tensor<3x16xi8>) -> tensor<3x16xf32>
    return %0, %f : tensor<3x8xi32>, tensor<3x16xf32>
  }

  // A computed matrix: its columns would have to be summed.
  // CHECK-LABEL: @with_sign
  // CHECK: weir.dot_general {{.*}}weir.matrix{{.*}} (tensor<3x16xi8>
  func.func @with_sign(%x: tensor<3x16xf32>, %w: tensor<16x8xi8>) -> tensor<3x8xi32> {
    %low = weir.constant dense<-1.280000e+02> : tensor<f32>
    %high = weir.constant dense<1.270000e+02> : tensor<f32>
    %r = weir.round_even %x : (tensor<3x16xf32>) -> tensor<3x16xf32>
    %l = weir.maximum %r, %low : (tensor<3x16xf32>, tensor<f32>) -> tensor<3x16xf32>
    %h = weir.minimum %l, %high : (tensor<3x16xf32>, tensor<f32>) -> tensor<3x16xf32>
    %q = weir.cast %h {saturate = true} : (tensor<3x16xf32>) -> tensor<3x16xi8>
    %a = weir.cast %q {saturate = true} : (tensor<3x16xi8>) -> tensor<3x16xi32>
    %b = weir.cast %w {saturate = true} : (tensor<16x8xi8>) -> tensor<16x8xi32>
    %0 = weir.dot_general %a, %b {accumulator = i32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<3x16xi32>, tensor<16x8xi32>) -> tensor<3x8xi32>
    return %0 : tensor<3x8xi32>
  }
}

// -----

// Readers that take off what a word hardly holds, and that make words without a sign.
module attributes {weir.target = #weir.target<vector_bytes = 64, byte_products = quads>} {
  // CHECK-LABEL: @other_readers
  // CHECK-DAG: weir.constant dense<-2147483568> : tensor<i32>
  // CHECK-DAG: weir.cast {{.*}} -> tensor<3x16xui8>
  // CHECK-DAG: weir.cast {{.*}} (tensor<3x16xi32>) -> tensor<3x16xui32>
  func.func @other_readers(%x: tensor<3x16xf32>) -> (tensor<3x8xi32>, tensor<3x16xi32>, tensor<3x16xui32>) {
    %w = weir.constant dense<3> : tensor<16x8xi8>
    %large = weir.constant dense<2147483600> : tensor<i32>
    %low = weir.constant dense<-1.280000e+02> : tensor<f32>
    %high = weir.constant dense<1.270000e+02> : tensor<f32>
    %r = weir.round_even %x : (tensor<3x16xf32>) -> tensor<3x16xf32>
    %l = weir.maximum %r, %low : (tensor<3x16xf32>, tensor<f32>) -> tensor<3x16xf32>
    %h = weir.minimum %l, %high : (tensor<3x16xf32>, tensor<f32>) -> tensor<3x16xf32>
    %q = weir.cast %h {saturate = true} : (tensor<3x16xf32>) -> tensor<3x16xi8>
    %a = weir.cast %q {saturate = true} : (tensor<3x16xi8>) -> tensor<3x16xi32>
    %b = weir.cast %w {saturate = true} : (tensor<16x8xi8>) -> tensor<16x8xi32>
    %0 = weir.dot_general %a, %b {accumulator = i32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<3x16xi32>, tensor<16x8xi32>) -> tensor<3x8xi32>
    %1 = weir.sub %a, %large : (tensor<3x16xi32>, tensor<i32>) -> tensor<3x16xi32>
    %2 = weir.cast %q {saturate = true} : (tensor<3x16xi8>) -> tensor<3x16xui32>
    return %0, %1, %2 : tensor<3x8xi32>, tensor<3x16xi32>, tensor<3x16xui32>
  }
}
