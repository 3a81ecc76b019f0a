// Products of which one side has few lines: as fast as the other side is read.
module {
  // A constant matrix is laid along the depth.
  func.func @turned(%a: tensor<1x24xbf16> {weir.name = "a"}, %b: tensor<40xbf16> {weir.name = "b"}) -> (tensor<1x40xbf16> {weir.name = "out"}) attributes {weir.entry = "turned"} {
    %w = weir.constant dense<[[-1.375, -0.500, 0.375, 1.250, -0.750, 0.125, 1.000, -1.000, -0.125, 0.750, -1.250, -0.375, 0.500, 1.375, -0.625, 0.250, 1.125, -0.875, 0.000, 0.875, -1.125, -0.250, 0.625, -1.375, -0.500, 0.375, 1.250, -0.750, 0.125, 1.000, -1.000, -0.125, 0.750, -1.250, -0.375, 0.500, 1.375, -0.625, 0.250, 1.125], [-0.875, 0.000, 0.875, -1.125, -0.250, 0.625, -1.375, -0.500, 0.375, 1.250, -0.750, 0.125, 1.000, -1.000, -0.125, 0.750, -1.250, -0.375, 0.500, 1.375, -0.625, 0.250, 1.125, -0.875, 0.000, 0.875, -1.125, -0.250, 0.625, -1.375, -0.500, 0.375, 1.250, -0.750, 0.125, 1.000, -1.000, -0.125, 0.750, -1.250], [-0.375, 0.500, 1.375, -0.625, 0.250, 1.125, -0.875, 0.000, 0.875, -1.125, -0.250, 0.625, -1.375, -0.500, 0.375, 1.250, -0.750, 0.125, 1.000, -1.000, -0.125, 0.750, -1.250, -0.375, 0.500, 1.375, -0.625, 0.250, 1.125, -0.875, 0.000, 0.875, -1.125, -0.250, 0.625, -1.375, -0.500, 0.375, 1.250, -0.750], [0.125, 1.000, -1.000, -0.125, 0.750, -1.250, -0.375, 0.500, 1.375, -0.625, 0.250, 1.125, -0.875, 0.000, 0.875, -1.125, -0.250, 0.625, -1.375, -0.500, 0.375, 1.250, -0.750, 0.125, 1.000, -1.000, -0.125, 0.750, -1.250, -0.375, 0.500, 1.375, -0.625, 0.250, 1.125, -0.875, 0.000, 0.875, -1.125, -0.250], [0.625, -1.375, -0.500, 0.375, 1.250, -0.750, 0.125, 1.000, -1.000, -0.125, 0.750, -1.250, -0.375, 0.500, 1.375, -0.625, 0.250, 1.125, -0.875, 0.000, 0.875, -1.125, -0.250, 0.625, -1.375, -0.500, 0.375, 1.250, -0.750, 0.125, 1.000, -1.000, -0.125, 0.750, -1.250, -0.375, 0.500, 1.375, -0.625, 0.250], [1.125, -0.875, 0.000, 0.875, -1.125, -0.250, 0.625, -1.375, -0.500, 0.375, 1.250, -0.750, 0.125, 1.000, -1.000, -0.125, 0.750, -1.250, -0.375, 0.500, 1.375, -0.625, 0.250, 1.125, -0.875, 0.000, 0.875, -1.125, -0.250, 0.625, -1.375, -0.500, 0.375, 1.250, -0.750, 0.125, 1.000, -1.000, -0.125, 0.750], [-1.250, -0.375, 0.500, 1.375, -0.625, 0.250, 1.125, -0.875, 0.000, 0.875, -1.125, -0.250, 0.625, -1.375, -0.500, 0.375, 1.250, -0.750, 0.125, 1.000, -1.000, -0.125, 0.750, -1.250, -0.375, 0.500, 1.375, -0.625, 0.250, 1.125, -0.875, 0.000, 0.875, -1.125, -0.250, 0.625, -1.375, -0.500, 0.375, 1.250], [-0.750, 0.125, 1.000, -1.000, -0.125, 0.750, -1.250, -0.375, 0.500, 1.375, -0.625, 0.250, 1.125, -0.875, 0.000, 0.875, -1.125, -0.250, 0.625, -1.375, -0.500, 0.375, 1.250, -0.750, 0.125, 1.000, -1.000, -0.125, 0.750, -1.250, -0.375, 0.500, 1.375, -0.625, 0.250, 1.125, -0.875, 0.000, 0.875, -1.125], [-0.250, 0.625, -1.375, -0.500, 0.375, 1.250, -0.750, 0.125, 1.000, -1.000, -0.125, 0.750, -1.250, -0.375, 0.500, 1.375, -0.625, 0.250, 1.125, -0.875, 0.000, 0.875, -1.125, -0.250, 0.625, -1.375, -0.500, 0.375, 1.250, -0.750, 0.125, 1.000, -1.000, -0.125, 0.750, -1.250, -0.375, 0.500, 1.375, -0.625], [0.250, 1.125, -0.875, 0.000, 0.875, -1.125, -0.250, 0.625, -1.375, -0.500, 0.375, 1.250, -0.750, 0.125, 1.000, -1.000, -0.125, 0.750, -1.250, -0.375, 0.500, 1.375, -0.625, 0.250, 1.125, -0.875, 0.000, 0.875, -1.125, -0.250, 0.625, -1.375, -0.500, 0.375, 1.250, -0.750, 0.125, 1.000, -1.000, -0.125], [0.750, -1.250, -0.375, 0.500, 1.375, -0.625, 0.250, 1.125, -0.875, 0.000, 0.875, -1.125, -0.250, 0.625, -1.375, -0.500, 0.375, 1.250, -0.750, 0.125, 1.000, -1.000, -0.125, 0.750, -1.250, -0.375, 0.500, 1.375, -0.625, 0.250, 1.125, -0.875, 0.000, 0.875, -1.125, -0.250, 0.625, -1.375, -0.500, 0.375], [1.250, -0.750, 0.125, 1.000, -1.000, -0.125, 0.750, -1.250, -0.375, 0.500, 1.375, -0.625, 0.250, 1.125, -0.875, 0.000, 0.875, -1.125, -0.250, 0.625, -1.375, -0.500, 0.375, 1.250, -0.750, 0.125, 1.000, -1.000, -0.125, 0.750, -1.250, -0.375, 0.500, 1.375, -0.625, 0.250, 1.125, -0.875, 0.000, 0.875], [-1.125, -0.250, 0.625, -1.375, -0.500, 0.375, 1.250, -0.750, 0.125, 1.000, -1.000, -0.125, 0.750, -1.250, -0.375, 0.500, 1.375, -0.625, 0.250, 1.125, -0.875, 0.000, 0.875, -1.125, -0.250, 0.625, -1.375, -0.500, 0.375, 1.250, -0.750, 0.125, 1.000, -1.000, -0.125, 0.750, -1.250, -0.375, 0.500, 1.375], [-0.625, 0.250, 1.125, -0.875, 0.000, 0.875, -1.125, -0.250, 0.625, -1.375, -0.500, 0.375, 1.250, -0.750, 0.125, 1.000, -1.000, -0.125, 0.750, -1.250, -0.375, 0.500, 1.375, -0.625, 0.250, 1.125, -0.875, 0.000, 0.875, -1.125, -0.250, 0.625, -1.375, -0.500, 0.375, 1.250, -0.750, 0.125, 1.000, -1.000], [-0.125, 0.750, -1.250, -0.375, 0.500, 1.375, -0.625, 0.250, 1.125, -0.875, 0.000, 0.875, -1.125, -0.250, 0.625, -1.375, -0.500, 0.375, 1.250, -0.750, 0.125, 1.000, -1.000, -0.125, 0.750, -1.250, -0.375, 0.500, 1.375, -0.625, 0.250, 1.125, -0.875, 0.000, 0.875, -1.125, -0.250, 0.625, -1.375, -0.500], [0.375, 1.250, -0.750, 0.125, 1.000, -1.000, -0.125, 0.750, -1.250, -0.375, 0.500, 1.375, -0.625, 0.250, 1.125, -0.875, 0.000, 0.875, -1.125, -0.250, 0.625, -1.375, -0.500, 0.375, 1.250, -0.750, 0.125, 1.000, -1.000, -0.125, 0.750, -1.250, -0.375, 0.500, 1.375, -0.625, 0.250, 1.125, -0.875, 0.000], [0.875, -1.125, -0.250, 0.625, -1.375, -0.500, 0.375, 1.250, -0.750, 0.125, 1.000, -1.000, -0.125, 0.750, -1.250, -0.375, 0.500, 1.375, -0.625, 0.250, 1.125, -0.875, 0.000, 0.875, -1.125, -0.250, 0.625, -1.375, -0.500, 0.375, 1.250, -0.750, 0.125, 1.000, -1.000, -0.125, 0.750, -1.250, -0.375, 0.500], [1.375, -0.625, 0.250, 1.125, -0.875, 0.000, 0.875, -1.125, -0.250, 0.625, -1.375, -0.500, 0.375, 1.250, -0.750, 0.125, 1.000, -1.000, -0.125, 0.750, -1.250, -0.375, 0.500, 1.375, -0.625, 0.250, 1.125, -0.875, 0.000, 0.875, -1.125, -0.250, 0.625, -1.375, -0.500, 0.375, 1.250, -0.750, 0.125, 1.000], [-1.000, -0.125, 0.750, -1.250, -0.375, 0.500, 1.375, -0.625, 0.250, 1.125, -0.875, 0.000, 0.875, -1.125, -0.250, 0.625, -1.375, -0.500, 0.375, 1.250, -0.750, 0.125, 1.000, -1.000, -0.125, 0.750, -1.250, -0.375, 0.500, 1.375, -0.625, 0.250, 1.125, -0.875, 0.000, 0.875, -1.125, -0.250, 0.625, -1.375], [-0.500, 0.375, 1.250, -0.750, 0.125, 1.000, -1.000, -0.125, 0.750, -1.250, -0.375, 0.500, 1.375, -0.625, 0.250, 1.125, -0.875, 0.000, 0.875, -1.125, -0.250, 0.625, -1.375, -0.500, 0.375, 1.250, -0.750, 0.125, 1.000, -1.000, -0.125, 0.750, -1.250, -0.375, 0.500, 1.375, -0.625, 0.250, 1.125, -0.875], [0.000, 0.875, -1.125, -0.250, 0.625, -1.375, -0.500, 0.375, 1.250, -0.750, 0.125, 1.000, -1.000, -0.125, 0.750, -1.250, -0.375, 0.500, 1.375, -0.625, 0.250, 1.125, -0.875, 0.000, 0.875, -1.125, -0.250, 0.625, -1.375, -0.500, 0.375, 1.250, -0.750, 0.125, 1.000, -1.000, -0.125, 0.750, -1.250, -0.375], [0.500, 1.375, -0.625, 0.250, 1.125, -0.875, 0.000, 0.875, -1.125, -0.250, 0.625, -1.375, -0.500, 0.375, 1.250, -0.750, 0.125, 1.000, -1.000, -0.125, 0.750, -1.250, -0.375, 0.500, 1.375, -0.625, 0.250, 1.125, -0.875, 0.000, 0.875, -1.125, -0.250, 0.625, -1.375, -0.500, 0.375, 1.250, -0.750, 0.125], [1.000, -1.000, -0.125, 0.750, -1.250, -0.375, 0.500, 1.375, -0.625, 0.250, 1.125, -0.875, 0.000, 0.875, -1.125, -0.250, 0.625, -1.375, -0.500, 0.375, 1.250, -0.750, 0.125, 1.000, -1.000, -0.125, 0.750, -1.250, -0.375, 0.500, 1.375, -0.625, 0.250, 1.125, -0.875, 0.000, 0.875, -1.125, -0.250, 0.625], [-1.375, -0.500, 0.375, 1.250, -0.750, 0.125, 1.000, -1.000, -0.125, 0.750, -1.250, -0.375, 0.500, 1.375, -0.625, 0.250, 1.125, -0.875, 0.000, 0.875, -1.125, -0.250, 0.625, -1.375, -0.500, 0.375, 1.250, -0.750, 0.125, 1.000, -1.000, -0.125, 0.750, -1.250, -0.375, 0.500, 1.375, -0.625, 0.250, 1.125]]> : tensor<24x40xbf16> loc("turned.weights")
    %0 = weir.dot_general %a, %w {accumulator = bf16, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<1x24xbf16>, tensor<24x40xbf16>) -> tensor<1x40xbf16> loc("turned.dot")
    %1 = weir.add %0, %b : (tensor<1x40xbf16>, tensor<40xbf16>) -> tensor<1x40xbf16> loc("turned.bias")
    %2 = weir.relu %1 : (tensor<1x40xbf16>) -> tensor<1x40xbf16> loc("turned.relu")
    return %2 : tensor<1x40xbf16>
  }
  // Three vectors of 16 bytes a lane.
  func.func @long(%a: tensor<1x768xbf16> {weir.name = "a"}, %b: tensor<72x768xbf16> {weir.name = "b"}) -> (tensor<1x72xbf16> {weir.name = "out"}) attributes {weir.entry = "long"} {
    %0 = weir.dot_general %a, %b {accumulator = bf16, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 1>} : (tensor<1x768xbf16>, tensor<72x768xbf16>) -> tensor<1x72xbf16> loc("long.dot")
    return %0 : tensor<1x72xbf16>
  }
  // 25 vectors of a warp's 32 lanes, four rows of which each lane stores one's sum.
  func.func @rows(%a: tensor<4x200xf16> {weir.name = "a"}, %b: tensor<33x200xf16> {weir.name = "b"}) -> (tensor<4x33xf16> {weir.name = "out"}) attributes {weir.entry = "rows"} {
    %0 = weir.dot_general %a, %b {accumulator = f16, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 1>} : (tensor<4x200xf16>, tensor<33x200xf16>) -> tensor<4x33xf16> loc("rows.dot")
    return %0 : tensor<4x33xf16>
  }
  // Four lanes have a line of three vectors.
  func.func @short(%a: tensor<3x24xbf16> {weir.name = "a"}, %b: tensor<50x24xbf16> {weir.name = "b"}) -> (tensor<3x50xbf16> {weir.name = "out"}) attributes {weir.entry = "short"} {
    %0 = weir.dot_general %a, %b {accumulator = bf16, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 1>} : (tensor<3x24xbf16>, tensor<50x24xbf16>) -> tensor<3x50xbf16> loc("short.dot")
    return %0 : tensor<3x50xbf16>
  }
  // Fewer vectors than rows.
  func.func @shortest(%a: tensor<2x4x8xf32> {weir.name = "a"}, %b: tensor<2x30x8xf32> {weir.name = "b"}) -> (tensor<2x4x30xf32> {weir.name = "out"}) attributes {weir.entry = "shortest"} {
    %0 = weir.dot_general %a, %b {accumulator = f32, lhs_batch = array<i64: 0>, rhs_batch = array<i64: 0>, lhs_contract = array<i64: 2>, rhs_contract = array<i64: 2>} : (tensor<2x4x8xf32>, tensor<2x30x8xf32>) -> tensor<2x4x30xf32> loc("shortest.dot")
    return %0 : tensor<2x4x30xf32>
  }
  // Few long lines: a block each.
  func.func @deep(%a: tensor<2x4104xbf16> {weir.name = "a"}, %b: tensor<10x4104xbf16> {weir.name = "b"}) -> (tensor<2x10xbf16> {weir.name = "out"}) attributes {weir.entry = "deep"} {
    %0 = weir.dot_general %a, %b {accumulator = bf16, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 1>} : (tensor<2x4104xbf16>, tensor<10x4104xbf16>) -> tensor<2x10xbf16> loc("deep.dot")
    return %0 : tensor<2x10xbf16>
  }
  // More vectors than are under way at a time, and a rest.
  func.func @loop(%a: tensor<1x3000xf32> {weir.name = "a"}, %b: tensor<600x3000xf32> {weir.name = "b"}) -> (tensor<1x600xf32> {weir.name = "out"}) attributes {weir.entry = "loop"} {
    %0 = weir.dot_general %a, %b {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 1>} : (tensor<1x3000xf32>, tensor<600x3000xf32>) -> tensor<1x600xf32> loc("loop.dot")
    return %0 : tensor<1x600xf32>
  }
  // Two lines a thread.
  func.func @several(%a: tensor<2x16xf32> {weir.name = "a"}, %b: tensor<4100x16xf32> {weir.name = "b"}) -> (tensor<2x4100xf32> {weir.name = "out"}) attributes {weir.entry = "several"} {
    %0 = weir.dot_general %a, %b {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 1>} : (tensor<2x16xf32>, tensor<4100x16xf32>) -> tensor<2x4100xf32> loc("several.dot")
    return %0 : tensor<2x4100xf32>
  }
  // Four lines a thread, of which the last have none.
  func.func @many(%a: tensor<1x32xf16> {weir.name = "a"}, %b: tensor<16386x32xf16> {weir.name = "b"}) -> (tensor<1x16386xf32> {weir.name = "out"}) attributes {weir.entry = "many"} {
    %0 = weir.dot_general %a, %b {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 1>} : (tensor<1x32xf16>, tensor<16386x32xf16>) -> tensor<1x16386xf32> loc("many.dot")
    return %0 : tensor<1x16386xf32>
  }
  // Lines that are no vectors.
  func.func @odd(%a: tensor<2x37xbf16> {weir.name = "a"}, %b: tensor<20x37xbf16> {weir.name = "b"}) -> (tensor<2x20xbf16> {weir.name = "out"}) attributes {weir.entry = "odd"} {
    %0 = weir.dot_general %a, %b {accumulator = bf16, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 1>} : (tensor<2x37xbf16>, tensor<20x37xbf16>) -> tensor<2x20xbf16> loc("odd.dot")
    return %0 : tensor<2x20xbf16>
  }
  // The few are columns.
  func.func @column(%a: tensor<90x64xf32> {weir.name = "a"}, %b: tensor<64x1xf32> {weir.name = "b"}) -> (tensor<90x1xf32> {weir.name = "out"}) attributes {weir.entry = "column"} {
    %0 = weir.dot_general %a, %b {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<90x64xf32>, tensor<64x1xf32>) -> tensor<90x1xf32> loc("column.dot")
    return %0 : tensor<90x1xf32>
  }
  func.func @batched(%a: tensor<3x1x40xf32> {weir.name = "a"}, %b: tensor<3x28x40xf32> {weir.name = "b"}) -> (tensor<3x1x28xf32> {weir.name = "out"}) attributes {weir.entry = "batched"} {
    %0 = weir.dot_general %a, %b {accumulator = f32, lhs_batch = array<i64: 0>, rhs_batch = array<i64: 0>, lhs_contract = array<i64: 2>, rhs_contract = array<i64: 2>} : (tensor<3x1x40xf32>, tensor<3x28x40xf32>) -> tensor<3x1x28xf32> loc("batched.dot")
    return %0 : tensor<3x1x28xf32>
  }
  func.func @double(%a: tensor<2x30xf64> {weir.name = "a"}, %b: tensor<17x30xf64> {weir.name = "b"}) -> (tensor<2x17xf64> {weir.name = "out"}) attributes {weir.entry = "double"} {
    %0 = weir.dot_general %a, %b {accumulator = f64, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 1>} : (tensor<2x30xf64>, tensor<17x30xf64>) -> tensor<2x17xf64> loc("double.dot")
    return %0 : tensor<2x17xf64>
  }
  // An open number of lines.
  func.func @open(%a: tensor<2x48xf16> {weir.name = "a"}, %b: tensor<?x48xf16> {weir.name = "b"}) -> (tensor<2x?xf16> {weir.name = "out"}) attributes {weir.entry = "open"} {
    %0 = weir.dot_general %a, %b {accumulator = f16, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 1>} : (tensor<2x48xf16>, tensor<?x48xf16>) -> tensor<2x?xf16> loc("open.dot")
    return %0 : tensor<2x?xf16>
  }
  // Not a constant: columns lie apart, and the library has it.
  func.func @across(%a: tensor<1x40xf32> {weir.name = "a"}, %b: tensor<40x24xf32> {weir.name = "b"}) -> (tensor<1x24xf32> {weir.name = "out"}) attributes {weir.entry = "across"} {
    %0 = weir.dot_general %a, %b {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<1x40xf32>, tensor<40x24xf32>) -> tensor<1x24xf32> loc("across.dot")
    return %0 : tensor<1x24xf32>
  }
  // What computes the few lines.
  func.func @before(%a: tensor<2x40xf32> {weir.name = "a"}, %b: tensor<30x40xf32> {weir.name = "b"}) -> (tensor<2x30xf32> {weir.name = "out"}) attributes {weir.entry = "before"} {
    %s = weir.relu %a : (tensor<2x40xf32>) -> tensor<2x40xf32> loc("before.relu")
    %0 = weir.dot_general %s, %b {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 1>} : (tensor<2x40xf32>, tensor<30x40xf32>) -> tensor<2x30xf32> loc("before.dot")
    %1 = weir.tanh %0 : (tensor<2x30xf32>) -> tensor<2x30xf32> loc("before.tanh")
    return %1 : tensor<2x30xf32>
  }
}
