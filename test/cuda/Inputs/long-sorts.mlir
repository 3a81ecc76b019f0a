// The longest lines that a block has room for, and what stays on the host.
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
  // The host's: too long, no order, an open length, few integers.
  func.func @host(%x: tensor<2x6145xf32> {weir.name = "x"}, %y: tensor<4x?xf32> {weir.name = "y"}, %z: tensor<90xf32> {weir.name = "z"}) -> (tensor<2x50xf32> {weir.name = "long"}, tensor<2x20xf32> {weir.name = "loose"}, tensor<4x10xf32> {weir.name = "open"}, tensor<4xf32> {weir.name = "few"}) attributes {weir.entry = "host"} {
    %ka = weir.constant dense<50> : tensor<i64>
    %kb = weir.constant dense<20> : tensor<i64>
    %kc = weir.constant dense<10> : tensor<i64>
    %kd = weir.constant dense<4> : tensor<i64>
    %a:2 = weir.top_k %x, %ka {axis = 1 : i64, index_type = i64, largest = true, sorted = true} : (tensor<2x6145xf32>, tensor<i64>) -> (tensor<2x50xf32>, tensor<2x50xi64>) loc("host.long")
    %b:2 = weir.top_k %a#0, %kb {axis = 1 : i64, index_type = i64, largest = true, sorted = false} : (tensor<2x50xf32>, tensor<i64>) -> (tensor<2x20xf32>, tensor<2x20xi64>) loc("host.loose")
    %c:2 = weir.top_k %y, %kc {axis = 1 : i64, index_type = i64, largest = true, sorted = true} : (tensor<4x?xf32>, tensor<i64>) -> (tensor<4x10xf32>, tensor<4x10xi64>) loc("host.open")
    %d:2 = weir.top_k %z, %kd {axis = 0 : i64, index_type = i64, largest = true, sorted = true} : (tensor<90xf32>, tensor<i64>) -> (tensor<4xf32>, tensor<4xi64>) loc("host.few")
    return %a#0, %b#0, %c#0, %d#0 : tensor<2x50xf32>, tensor<2x20xf32>, tensor<4x10xf32>, tensor<4xf32>
  }
}
