// The longest lines that a block has room for, longer ones and those of open length, and what
// stays on the host.
module {
  func.func @longest_half(%x: tensor<2x12288xbf16> {weir.name = "x"}) -> (tensor<2x20xbf16> {weir.name = "values"}, tensor<2x20xi64> {weir.name = "indices"}) attributes {weir.entry = "longest_half"} {
    %k = weir.constant dense<20> : tensor<i64>
    %r:2 = weir.top_k %x, %k {axis = 1 : i64, index_type = i64, largest = true, sorted = true} : (tensor<2x12288xbf16>, tensor<i64>) -> (tensor<2x20xbf16>, tensor<2x20xi64>) loc("longest_half.sort")
    return %r#0, %r#1 : tensor<2x20xbf16>, tensor<2x20xi64>
  }
  func.func @longest(%x: tensor<2x6144xf32> {weir.name = "x"}) -> (tensor<2x100xf32> {weir.name = "values"}, tensor<2x100xi64> {weir.name = "indices"}) attributes {weir.entry = "longest"} {
    %k = weir.constant dense<100> : tensor<i64>
    %r:2 = weir.top_k %x, %k {axis = 1 : i64, index_type = i64, largest = false, sorted = true} : (tensor<2x6144xf32>, tensor<i64>) -> (tensor<2x100xf32>, tensor<2x100xi64>) loc("longest.sort")
    return %r#0, %r#1 : tensor<2x100xf32>, tensor<2x100xi64>
  }
  func.func @longest_double(%x: tensor<2x4096xf64> {weir.name = "x"}) -> (tensor<2x4096xf64> {weir.name = "values"}, tensor<2x4096xi64> {weir.name = "indices"}) attributes {weir.entry = "longest_double"} {
    %k = weir.constant dense<4096> : tensor<i64>
    %r:2 = weir.top_k %x, %k {axis = 1 : i64, index_type = i64, largest = true, sorted = true} : (tensor<2x4096xf64>, tensor<i64>) -> (tensor<2x4096xf64>, tensor<2x4096xi64>) loc("longest_double.sort")
    return %r#0, %r#1 : tensor<2x4096xf64>, tensor<2x4096xi64>
  }
  // All of a line: merges of one step, and of three at once.
  func.func @whole(%x: tensor<1x35000xf32> {weir.name = "x"}) -> (tensor<1x35000xf32> {weir.name = "values"}, tensor<1x35000xi64> {weir.name = "indices"}) attributes {weir.entry = "whole"} {
    %k = weir.constant dense<35000> : tensor<i64>
    %r:2 = weir.top_k %x, %k {axis = 1 : i64, index_type = i64, largest = false, sorted = true} : (tensor<1x35000xf32>, tensor<i64>) -> (tensor<1x35000xf32>, tensor<1x35000xi64>) loc("whole.sort")
    return %r#0, %r#1 : tensor<1x35000xf32>, tensor<1x35000xi64>
  }
  func.func @wide(%x: tensor<9000x2xi64> {weir.name = "x"}) -> (tensor<3000x2xi64> {weir.name = "values"}, tensor<3000x2xi32> {weir.name = "indices"}) attributes {weir.entry = "wide"} {
    %k = weir.constant dense<3000> : tensor<i64>
    %r:2 = weir.top_k %x, %k {axis = 0 : i64, index_type = i32, largest = true, sorted = true} : (tensor<9000x2xi64>, tensor<i64>) -> (tensor<3000x2xi64>, tensor<3000x2xi32>) loc("wide.sort")
    return %r#0, %r#1 : tensor<3000x2xi64>, tensor<3000x2xi32>
  }
  // The first of a line: those of each run are a shorter line.
  func.func @first(%x: tensor<2x13001xbf16> {weir.name = "x"}) -> (tensor<2x1700xbf16> {weir.name = "values"}, tensor<2x1700xi64> {weir.name = "indices"}) attributes {weir.entry = "first"} {
    %k = weir.constant dense<1700> : tensor<i64>
    %r:2 = weir.top_k %x, %k {axis = 1 : i64, index_type = i64, largest = true, sorted = true} : (tensor<2x13001xbf16>, tensor<i64>) -> (tensor<2x1700xbf16>, tensor<2x1700xi64>) loc("first.sort")
    return %r#0, %r#1 : tensor<2x1700xbf16>, tensor<2x1700xi64>
  }
  // A length that a run is the first to know, and how many are wanted.
  func.func @open(%x: tensor<?x?xf32> {weir.name = "x"}) -> (tensor<?x10xf32> {weir.name = "values"}, tensor<?x10xi64> {weir.name = "indices"}) attributes {weir.entry = "open"} {
    %k = weir.constant dense<10> : tensor<i64>
    %r:2 = weir.top_k %x, %k {axis = 1 : i64, index_type = i64, largest = true, sorted = true} : (tensor<?x?xf32>, tensor<i64>) -> (tensor<?x10xf32>, tensor<?x10xi64>) loc("open.sort")
    return %r#0, %r#1 : tensor<?x10xf32>, tensor<?x10xi64>
  }
  func.func @open_whole(%x: tensor<?xi16> {weir.name = "x"}) -> (tensor<?xi16> {weir.name = "values"}, tensor<?xi64> {weir.name = "indices"}) attributes {weir.entry = "open_whole"} {
    %k = weir.shape_of %x {index_type = i64} : (tensor<?xi16>) -> tensor<1xi64>
    %r:2 = weir.top_k %x, %k {axis = 0 : i64, index_type = i64, largest = false, sorted = true} : (tensor<?xi16>, tensor<1xi64>) -> (tensor<?xi16>, tensor<?xi64>) loc("open_whole.sort")
    return %r#0, %r#1 : tensor<?xi16>, tensor<?xi64>
  }
  // The host's: no order, few integers.
  func.func @host(%x: tensor<2x50xf32> {weir.name = "x"}, %z: tensor<90xf32> {weir.name = "z"}) -> (tensor<2x20xf32> {weir.name = "loose"}, tensor<4xf32> {weir.name = "few"}) attributes {weir.entry = "host"} {
    %kb = weir.constant dense<20> : tensor<i64>
    %kd = weir.constant dense<4> : tensor<i64>
    %b:2 = weir.top_k %x, %kb {axis = 1 : i64, index_type = i64, largest = true, sorted = false} : (tensor<2x50xf32>, tensor<i64>) -> (tensor<2x20xf32>, tensor<2x20xi64>) loc("host.loose")
    %d:2 = weir.top_k %z, %kd {axis = 0 : i64, index_type = i64, largest = true, sorted = true} : (tensor<90xf32>, tensor<i64>) -> (tensor<4xf32>, tensor<4xi64>) loc("host.few")
    return %b#0, %d#0 : tensor<2x20xf32>, tensor<4xf32>
  }
}
