// Places of extremes: the first and the last of equals, lines of a warp, of a block and of a thread,
// lines that lie side by side, and few long ones in parts.
module {
  func.func @warp(%x: tensor<70x100xf32> {weir.name = "x"}) -> (tensor<70xi64> {weir.name = "indices"}) attributes {weir.entry = "warp"} {
    %0 = weir.arg_reduce %x {axis = 1 : i64, index_type = i64, keep_dims = false, largest = true, select_last = false} : (tensor<70x100xf32>) -> tensor<70xi64> loc("warp.arg")
    return %0 : tensor<70xi64>
  }
  func.func @block(%x: tensor<20x1500xf32> {weir.name = "x"}) -> (tensor<20xi64> {weir.name = "indices"}) attributes {weir.entry = "block"} {
    %0 = weir.arg_reduce %x {axis = 1 : i64, index_type = i64, keep_dims = false, largest = false, select_last = true} : (tensor<20x1500xf32>) -> tensor<20xi64> loc("block.arg")
    return %0 : tensor<20xi64>
  }
  func.func @short(%x: tensor<50x9xi32> {weir.name = "x"}) -> (tensor<50xi64> {weir.name = "indices"}) attributes {weir.entry = "short"} {
    %0 = weir.arg_reduce %x {axis = 1 : i64, index_type = i64, keep_dims = false, largest = true, select_last = false} : (tensor<50x9xi32>) -> tensor<50xi64> loc("short.arg")
    return %0 : tensor<50xi64>
  }
  func.func @across(%x: tensor<100x36xf32> {weir.name = "x"}) -> (tensor<1x36xi64> {weir.name = "indices"}) attributes {weir.entry = "across"} {
    %0 = weir.arg_reduce %x {axis = 0 : i64, index_type = i64, keep_dims = true, largest = true, select_last = false} : (tensor<100x36xf32>) -> tensor<1x36xi64> loc("across.arg")
    return %0 : tensor<1x36xi64>
  }
  func.func @half(%x: tensor<40x77xbf16> {weir.name = "x"}) -> (tensor<40xi32> {weir.name = "indices"}) attributes {weir.entry = "half"} {
    %0 = weir.arg_reduce %x {axis = 1 : i64, index_type = i32, keep_dims = false, largest = true, select_last = false} : (tensor<40x77xbf16>) -> tensor<40xi32> loc("half.arg")
    return %0 : tensor<40xi32>
  }
  func.func @bytes(%x: tensor<40x300xui8> {weir.name = "x"}) -> (tensor<40xi64> {weir.name = "indices"}) attributes {weir.entry = "bytes"} {
    %0 = weir.arg_reduce %x {axis = 1 : i64, index_type = i64, keep_dims = false, largest = false, select_last = false} : (tensor<40x300xui8>) -> tensor<40xi64> loc("bytes.arg")
    return %0 : tensor<40xi64>
  }
  func.func @flags(%x: tensor<30x40xi1> {weir.name = "x"}) -> (tensor<30xi64> {weir.name = "indices"}) attributes {weir.entry = "flags"} {
    %0 = weir.arg_reduce %x {axis = 1 : i64, index_type = i64, keep_dims = false, largest = true, select_last = true} : (tensor<30x40xi1>) -> tensor<30xi64> loc("flags.arg")
    return %0 : tensor<30xi64>
  }
  func.func @middle(%x: tensor<3x50x20xf64> {weir.name = "x"}) -> (tensor<3x20xi64> {weir.name = "indices"}) attributes {weir.entry = "middle"} {
    %0 = weir.arg_reduce %x {axis = 1 : i64, index_type = i64, keep_dims = false, largest = true, select_last = true} : (tensor<3x50x20xf64>) -> tensor<3x20xi64> loc("middle.arg")
    return %0 : tensor<3x20xi64>
  }
  func.func @parts(%x: tensor<17x9001xf32> {weir.name = "x"}) -> (tensor<17xi64> {weir.name = "indices"}) attributes {weir.entry = "parts"} {
    %0 = weir.arg_reduce %x {axis = 1 : i64, index_type = i64, keep_dims = false, largest = true, select_last = true} : (tensor<17x9001xf32>) -> tensor<17xi64> loc("parts.arg")
    return %0 : tensor<17xi64>
  }
  func.func @parts_across(%x: tensor<1003x33xi32> {weir.name = "x"}) -> (tensor<33xi64> {weir.name = "indices"}) attributes {weir.entry = "parts_across"} {
    %0 = weir.arg_reduce %x {axis = 0 : i64, index_type = i64, keep_dims = false, largest = true, select_last = false} : (tensor<1003x33xi32>) -> tensor<33xi64> loc("parts_across.arg")
    return %0 : tensor<33xi64>
  }
  func.func @open(%x: tensor<?x?xf32> {weir.name = "x"}) -> (tensor<?xi64> {weir.name = "indices"}) attributes {weir.entry = "open"} {
    %0 = weir.arg_reduce %x {axis = 1 : i64, index_type = i64, keep_dims = false, largest = true, select_last = false} : (tensor<?x?xf32>) -> tensor<?xi64> loc("open.arg")
    return %0 : tensor<?xi64>
  }
  func.func @open_across(%x: tensor<?x?xf32> {weir.name = "x"}) -> (tensor<?xi64> {weir.name = "indices"}) attributes {weir.entry = "open_across"} {
    %0 = weir.arg_reduce %x {axis = 0 : i64, index_type = i64, keep_dims = false, largest = false, select_last = false} : (tensor<?x?xf32>) -> tensor<?xi64> loc("open_across.arg")
    return %0 : tensor<?xi64>
  }
  // What follows reads the index where it is made.
  func.func @followed(%x: tensor<40x64xf32> {weir.name = "x"}) -> (tensor<40xf32> {weir.name = "out"}) attributes {weir.entry = "followed"} {
    %0 = weir.arg_reduce %x {axis = 1 : i64, index_type = i64, keep_dims = false, largest = true, select_last = false} : (tensor<40x64xf32>) -> tensor<40xi64> loc("followed.arg")
    %1 = weir.cast %0 {saturate = false} : (tensor<40xi64>) -> tensor<40xf32> loc("followed.cast")
    return %1 : tensor<40xf32>
  }
}
