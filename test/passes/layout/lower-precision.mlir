// Which products and convolutions get operands of bf16, and who reads what then.
// REQUIRES: weir-opt
// RUN: weir-opt "--weir-lower-precision=rounds=true keep-f32=sensitive" --split-input-file %s | FileCheck %s
// RUN: weir-opt --weir-lower-precision --split-input-file %s | FileCheck %s --check-prefix=WITHOUT

// Without the option nothing changes.
// WITHOUT-LABEL: @product
// WITHOUT-NOT: xbf16

module {
  // CHECK-LABEL: @product
  // CHECK-DAG: %[[W:.+]] = weir.constant #weir.arranged<{{.*}}> : tensor<64x96xbf16>
  // CHECK-DAG: %[[X:.+]] = weir.cast %arg0 {{.*}} -> tensor<16x64xbf16>
  // CHECK: weir.dot_general %[[X]], %[[W]] {accumulator = f32{{.*}}weir.matrix} : {{.*}} -> tensor<16x96xf32>
  func.func @product(%x: tensor<16x64xf32>) -> tensor<16x96xf32> {
    %w = weir.constant #weir.blob<"w.bin", 0, 24576, "00"> : tensor<64x96xf32>
    %0 = weir.dot_general %x, %w {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<16x64xf32>, tensor<64x96xf32>) -> tensor<16x96xf32>
    return %0 : tensor<16x96xf32>
  }

  // What two products and an addition read is rounded and stored once.
  // CHECK-LABEL: @shared
  // CHECK: %[[R:.+]] = weir.relu
  // CHECK-NEXT: %[[N:.+]] = weir.cast %[[R]] {{.*}} -> tensor<16x64xbf16>
  // CHECK: weir.dot_general %[[N]],
  // CHECK: %[[AGAIN:.+]] = weir.cast %[[N]] {{.*}} -> tensor<16x64xf32>
  // CHECK: weir.add {{.*}}%[[AGAIN]]
  // CHECK: weir.dot_general %[[N]],
  func.func @shared(%x: tensor<16x64xf32>) -> (tensor<16x64xf32>, tensor<16x64xf32>) {
    %w = weir.constant #weir.blob<"w.bin", 0, 16384, "00"> : tensor<64x64xf32>
    %r = weir.relu %x : (tensor<16x64xf32>) -> tensor<16x64xf32>
    %0 = weir.dot_general %r, %w {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<16x64xf32>, tensor<64x64xf32>) -> tensor<16x64xf32>
    %1 = weir.add %0, %r : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<16x64xf32>
    %2 = weir.dot_general %r, %w {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<16x64xf32>, tensor<64x64xf32>) -> tensor<16x64xf32>
    return %1, %2 : tensor<16x64xf32>, tensor<16x64xf32>
  }

  // Padding is of what was rounded.
  // CHECK-LABEL: @padded
  // CHECK: %[[N:.+]] = weir.cast %arg0
  // CHECK: %[[P:.+]] = weir.pad %[[N]]{{.*}} -> tensor<1x10x10x32xbf16>
  // CHECK-NOT: weir.pad
  // CHECK: weir.conv %[[P]]
  func.func @padded(%x: tensor<1x8x8x32xf32>) -> tensor<1x8x8x32xf32> {
    %w = weir.constant #weir.blob<"w.bin", 0, 36864, "00"> : tensor<3x3x32x32xf32>
    %pads = weir.constant dense<[0, 1, 1, 0, 0, 1, 1, 0]> : tensor<8xi64>
    %zero = weir.constant dense<0.0> : tensor<f32>
    %p = weir.pad %x, %pads, %zero {mode = "constant"} : (tensor<1x8x8x32xf32>, tensor<8xi64>, tensor<f32>) -> tensor<1x10x10x32xf32>
    %0 = weir.conv %p, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, channels_last = true, accumulator = f32} : (tensor<1x10x10x32xf32>, tensor<3x3x32x32xf32>) -> tensor<1x8x8x32xf32>
    return %0 : tensor<1x8x8x32xf32>
  }

  // Not products of two computed operands, or sums whose steps fill half of a tile. Few rows go by
  // vectors.
  // CHECK-LABEL: @others
  // CHECK-NOT: tensor<16x{{.*}}bf16
  // CHECK: weir.dot_general {{.*}}weir.matrix = "pairs"} : (tensor<1x64xbf16>, tensor<64x32xbf16>)
  func.func @others(%x: tensor<16x64xf32>, %y: tensor<64x32xf32>, %z: tensor<16x40xf32>, %v: tensor<1x64xf32>) -> (tensor<16x32xf32>, tensor<16x32xf32>, tensor<1x32xf32>) {
    %w = weir.constant #weir.blob<"w.bin", 0, 5120, "00"> : tensor<40x32xf32>
    %u = weir.constant #weir.blob<"w.bin", 0, 8192, "00"> : tensor<64x32xf32>
    %0 = weir.dot_general %x, %y {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<16x64xf32>, tensor<64x32xf32>) -> tensor<16x32xf32>
    %1 = weir.dot_general %z, %w {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<16x40xf32>, tensor<40x32xf32>) -> tensor<16x32xf32>
    %2 = weir.dot_general %v, %u {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<1x64xf32>, tensor<64x32xf32>) -> tensor<1x32xf32>
    return %0, %1, %2 : tensor<16x32xf32>, tensor<16x32xf32>, tensor<1x32xf32>
  }
}

// -----

// Nodes that the user keeps.
module {
  // CHECK-LABEL: @kept
  // CHECK-NOT: xbf16
  func.func @kept(%x: tensor<16x64xf32>) -> tensor<16x64xf32> {
    %w = weir.constant #weir.blob<"w.bin", 0, 16384, "00"> : tensor<64x64xf32>
    %0 = weir.dot_general %x, %w {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<16x64xf32>, tensor<64x64xf32>) -> tensor<16x64xf32> loc("sensitive")
    return %0 : tensor<16x64xf32>
  }
}

// -----

// Of two products that are added to what is rounded, the first is stored rounded, whichever side
// it is of; not where the sum is wanted in f32.
module {
  // CHECK-LABEL: @summands
  // CHECK: %[[A:.+]] = weir.dot_general
  // CHECK-NEXT: %[[N:.+]] = weir.cast %[[A]] {{.*}}weir.stored} : (tensor<16x64xf32>) -> tensor<16x64xbf16>
  // CHECK: %[[B:.+]] = weir.dot_general
  // CHECK: %[[R:.+]] = weir.relu %[[B]]
  // CHECK: %[[W:.+]] = weir.cast %[[N]]
  // CHECK: weir.add %[[R]], %[[W]]
  // CHECK-NOT: weir.stored
  // CHECK: return
  func.func @summands(%x: tensor<16x64xf32>) -> (tensor<16x64xf32>, tensor<16x64xf32>) {
    %w = weir.constant #weir.blob<"w.bin", 0, 16384, "00"> : tensor<64x64xf32>
    %a = weir.dot_general %x, %w {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<16x64xf32>, tensor<64x64xf32>) -> tensor<16x64xf32>
    %b = weir.dot_general %x, %w {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<16x64xf32>, tensor<64x64xf32>) -> tensor<16x64xf32>
    %r = weir.relu %b : (tensor<16x64xf32>) -> tensor<16x64xf32>
    %s = weir.add %r, %a : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<16x64xf32>
    %c = weir.dot_general %s, %w {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<16x64xf32>, tensor<64x64xf32>) -> tensor<16x64xf32>
    %d = weir.dot_general %x, %w {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<16x64xf32>, tensor<64x64xf32>) -> tensor<16x64xf32>
    %t = weir.add %c, %d : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<16x64xf32>
    return %s, %t : tensor<16x64xf32>, tensor<16x64xf32>
  }
}

// -----

// Matrix tiles take windows of few channels whose lines fill a step, and rests of steps and panels;
// not channels that depthwise convolutions share strips with.
module attributes {weir.target = #weir.target<bf16_products = blocks>} {
  // CHECK-LABEL: @windows
  // CHECK: weir.conv {{.*}}weir.matrix} : (tensor<1x14x15x10xbf16>, tensor<3x3x10x40xbf16>)
  // CHECK: weir.conv {{.*}} : (tensor<1x14x15x10xf32>, tensor<1x1x10x40xf32>)
  func.func @windows(%x: tensor<1x14x15x10xf32>) -> (tensor<1x12x13x40xf32>, tensor<1x14x15x40xf32>) {
    %w = weir.constant #weir.blob<"w.bin", 0, 14400, "00"> : tensor<3x3x10x40xf32>
    %v = weir.constant #weir.blob<"v.bin", 0, 1600, "00"> : tensor<1x1x10x40xf32>
    %0 = weir.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, channels_last = true, accumulator = f32} : (tensor<1x14x15x10xf32>, tensor<3x3x10x40xf32>) -> tensor<1x12x13x40xf32>
    %1 = weir.conv %x, %v {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, channels_last = true, accumulator = f32} : (tensor<1x14x15x10xf32>, tensor<1x1x10x40xf32>) -> tensor<1x14x15x40xf32>
    return %0, %1 : tensor<1x12x13x40xf32>, tensor<1x14x15x40xf32>
  }
}

// -----

// Vectors that add pairs of products take any even depth, rests of panels, one row and open ones.
module attributes {weir.target = #weir.target<bf16_products = pairs>} {
  // CHECK-LABEL: @pairs
  // CHECK: weir.dot_general {{.*}}weir.matrix = "pairs"} : (tensor<1x34xbf16>, tensor<34x40xbf16>)
  // CHECK: weir.dot_general {{.*}}weir.matrix = "pairs"} : (tensor<?x34xbf16>, tensor<34x40xbf16>)
  func.func @pairs(%x: tensor<1x34xf32>, %y: tensor<?x34xf32>) -> (tensor<1x40xf32>, tensor<?x40xf32>) {
    %w = weir.constant #weir.blob<"w.bin", 0, 5440, "00"> : tensor<34x40xf32>
    %0 = weir.dot_general %x, %w {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<1x34xf32>, tensor<34x40xf32>) -> tensor<1x40xf32>
    %1 = weir.dot_general %y, %w {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<?x34xf32>, tensor<34x40xf32>) -> tensor<?x40xf32>
    return %0, %1 : tensor<1x40xf32>, tensor<?x40xf32>
  }

  // Lines of three channels by which a window moves two pixels at a time are lines of six.
  // CHECK-LABEL: @pixels
  // CHECK: weir.reshape {{.*}} -> tensor<1x14x7x6xbf16>
  // CHECK: weir.conv {{.*}}strides = array<i64: 2, 1>, weir.matrix = "pairs"} : (tensor<1x14x7x6xbf16>, tensor<3x2x6x16xbf16>) -> tensor<1x6x6x16xf32>
  func.func @pixels(%x: tensor<1x14x14x3xf32>) -> tensor<1x6x6x16xf32> {
    %w = weir.constant dense<"0x0000803F0100803F0200803F0300803F0400803F0500803F0600803F0700803F0800803F0900803F0A00803F0B00803F0C00803F0D00803F0E00803F0F00803F1000803F1100803F1200803F1300803F1400803F1500803F1600803F1700803F1800803F1900803F1A00803F1B00803F1C00803F1D00803F1E00803F1F00803F2000803F2100803F2200803F2300803F2400803F2500803F2600803F2700803F2800803F2900803F2A00803F2B00803F2C00803F2D00803F2E00803F2F00803F3000803F3100803F3200803F3300803F3400803F3500803F3600803F3700803F3800803F3900803F3A00803F3B00803F3C00803F3D00803F3E00803F3F00803F4000803F4100803F4200803F4300803F4400803F4500803F4600803F4700803F4800803F4900803F4A00803F4B00803F4C00803F4D00803F4E00803F4F00803F5000803F5100803F5200803F5300803F5400803F5500803F5600803F5700803F5800803F5900803F5A00803F5B00803F5C00803F5D00803F5E00803F5F00803F6000803F6100803F6200803F6300803F6400803F6500803F6600803F6700803F6800803F6900803F6A00803F6B00803F6C00803F6D00803F6E00803F6F00803F7000803F7100803F7200803F7300803F7400803F7500803F7600803F7700803F7800803F7900803F7A00803F7B00803F7C00803F7D00803F7E00803F7F00803F8000803F8100803F8200803F8300803F8400803F8500803F8600803F8700803F8800803F8900803F8A00803F8B00803F8C00803F8D00803F8E00803F8F00803F9000803F9100803F9200803F9300803F9400803F9500803F9600803F9700803F9800803F9900803F9A00803F9B00803F9C00803F9D00803F9E00803F9F00803FA000803FA100803FA200803FA300803FA400803FA500803FA600803FA700803FA800803FA900803FAA00803FAB00803FAC00803FAD00803FAE00803FAF00803FB000803FB100803FB200803FB300803FB400803FB500803FB600803FB700803FB800803FB900803FBA00803FBB00803FBC00803FBD00803FBE00803FBF00803FC000803FC100803FC200803FC300803FC400803FC500803FC600803FC700803FC800803FC900803FCA00803FCB00803FCC00803FCD00803FCE00803FCF00803FD000803FD100803FD200803FD300803FD400803FD500803FD600803FD700803FD800803FD900803FDA00803FDB00803FDC00803FDD00803FDE00803FDF00803FE000803FE100803FE200803FE300803FE400803FE500803FE600803FE700803FE800803FE900803FEA00803FEB00803FEC00803FED00803FEE00803FEF00803FF000803FF100803FF200803FF300803FF400803FF500803FF600803FF700803FF800803FF900803FFA00803FFB00803FFC00803FFD00803FFE00803FFF00803F0001803F0101803F0201803F0301803F0401803F0501803F0601803F0701803F0801803F0901803F0A01803F0B01803F0C01803F0D01803F0E01803F0F01803F1001803F1101803F1201803F1301803F1401803F1501803F1601803F1701803F1801803F1901803F1A01803F1B01803F1C01803F1D01803F1E01803F1F01803F2001803F2101803F2201803F2301803F2401803F2501803F2601803F2701803F2801803F2901803F2A01803F2B01803F2C01803F2D01803F2E01803F2F01803F3001803F3101803F3201803F3301803F3401803F3501803F3601803F3701803F3801803F3901803F3A01803F3B01803F3C01803F3D01803F3E01803F3F01803F4001803F4101803F4201803F4301803F4401803F4501803F4601803F4701803F4801803F4901803F4A01803F4B01803F4C01803F4D01803F4E01803F4F01803F5001803F5101803F5201803F5301803F5401803F5501803F5601803F5701803F5801803F5901803F5A01803F5B01803F5C01803F5D01803F5E01803F5F01803F6001803F6101803F6201803F6301803F6401803F6501803F6601803F6701803F6801803F6901803F6A01803F6B01803F6C01803F6D01803F6E01803F6F01803F7001803F7101803F7201803F7301803F7401803F7501803F7601803F7701803F7801803F7901803F7A01803F7B01803F7C01803F7D01803F7E01803F7F01803F8001803F8101803F8201803F8301803F8401803F8501803F8601803F8701803F8801803F8901803F8A01803F8B01803F8C01803F8D01803F8E01803F8F01803F9001803F9101803F9201803F9301803F9401803F9501803F9601803F9701803F9801803F9901803F9A01803F9B01803F9C01803F9D01803F9E01803F9F01803FA001803FA101803FA201803FA301803FA401803FA501803FA601803FA701803FA801803FA901803FAA01803FAB01803FAC01803FAD01803FAE01803FAF01803F"> : tensor<3x3x3x16xf32>
    %0 = weir.conv %x, %w {strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, channels_last = true, accumulator = f32} : (tensor<1x14x14x3xf32>, tensor<3x3x3x16xf32>) -> tensor<1x6x6x16xf32>
    return %0 : tensor<1x6x6x16xf32>
  }

  // An odd depth has no whole pairs, few columns no vector; what is computed is not packed.
  // CHECK-LABEL: @single
  // CHECK-NOT: xbf16
  func.func @single(%x: tensor<16x33xf32>, %y: tensor<16x34xf32>, %z: tensor<34x40xf32>) -> (tensor<16x40xf32>, tensor<16x8xf32>, tensor<16x40xf32>) {
    %w = weir.constant #weir.blob<"w.bin", 0, 5280, "00"> : tensor<33x40xf32>
    %v = weir.constant #weir.blob<"v.bin", 0, 1088, "00"> : tensor<34x8xf32>
    %0 = weir.dot_general %x, %w {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<16x33xf32>, tensor<33x40xf32>) -> tensor<16x40xf32>
    %1 = weir.dot_general %y, %v {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<16x34xf32>, tensor<34x8xf32>) -> tensor<16x8xf32>
    %2 = weir.dot_general %y, %z {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<16x34xf32>, tensor<34x40xf32>) -> tensor<16x40xf32>
    return %0, %1, %2 : tensor<16x40xf32>, tensor<16x8xf32>, tensor<16x40xf32>
  }
}
