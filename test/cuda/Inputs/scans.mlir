// Running sums and their kin: lines of a warp, of a block and of a thread, lines that lie side by
// side, and few long ones in parts; both directions, with the own element and without.
module {
  func.func @warp(%x: tensor<6x100xf32> {weir.name = "x"}) -> (tensor<6x100xf32> {weir.name = "values"}) attributes {weir.entry = "warp"} {
    %0 = weir.cumulative %x {axis = 1 : i64, exclusive = false, kind = "sum", reverse = false} : (tensor<6x100xf32>) -> tensor<6x100xf32> loc("warp.scan")
    return %0 : tensor<6x100xf32>
  }
  func.func @block(%x: tensor<3x1500xf32> {weir.name = "x"}) -> (tensor<3x1500xf32> {weir.name = "values"}) attributes {weir.entry = "block"} {
    %0 = weir.cumulative %x {axis = 1 : i64, exclusive = false, kind = "sum", reverse = true} : (tensor<3x1500xf32>) -> tensor<3x1500xf32> loc("block.scan")
    %1 = weir.add %0, %x : (tensor<3x1500xf32>, tensor<3x1500xf32>) -> tensor<3x1500xf32> loc("block.add")
    return %1 : tensor<3x1500xf32>
  }
  func.func @exclusive(%x: tensor<5x70xi32> {weir.name = "x"}) -> (tensor<5x70xi32> {weir.name = "values"}) attributes {weir.entry = "exclusive"} {
    %0 = weir.cumulative %x {axis = 1 : i64, exclusive = true, kind = "sum", reverse = false} : (tensor<5x70xi32>) -> tensor<5x70xi32> loc("exclusive.scan")
    return %0 : tensor<5x70xi32>
  }
  func.func @short(%x: tensor<40x7xf32> {weir.name = "x"}) -> (tensor<40x7xf32> {weir.name = "values"}) attributes {weir.entry = "short"} {
    %0 = weir.cumulative %x {axis = 1 : i64, exclusive = false, kind = "prod", reverse = false} : (tensor<40x7xf32>) -> tensor<40x7xf32> loc("short.scan")
    return %0 : tensor<40x7xf32>
  }
  func.func @across(%x: tensor<100x36xf32> {weir.name = "x"}) -> (tensor<100x36xf32> {weir.name = "values"}) attributes {weir.entry = "across"} {
    %0 = weir.cumulative %x {axis = 0 : i64, exclusive = false, kind = "sum", reverse = false} : (tensor<100x36xf32>) -> tensor<100x36xf32> loc("across.scan")
    return %0 : tensor<100x36xf32>
  }
  func.func @half(%x: tensor<4x300xf16> {weir.name = "x"}) -> (tensor<4x300xf16> {weir.name = "values"}) attributes {weir.entry = "half"} {
    %0 = weir.cumulative %x {axis = 1 : i64, exclusive = false, kind = "sum", reverse = false} : (tensor<4x300xf16>) -> tensor<4x300xf16> loc("half.scan")
    return %0 : tensor<4x300xf16>
  }
  func.func @middle(%x: tensor<3x50x20xi64> {weir.name = "x"}) -> (tensor<3x50x20xi64> {weir.name = "values"}) attributes {weir.entry = "middle"} {
    %0 = weir.cumulative %x {axis = 1 : i64, exclusive = true, kind = "sum", reverse = true} : (tensor<3x50x20xi64>) -> tensor<3x50x20xi64> loc("middle.scan")
    return %0 : tensor<3x50x20xi64>
  }
  func.func @greatest(%x: tensor<2x2000xf32> {weir.name = "x"}) -> (tensor<2x2000xf32> {weir.name = "values"}) attributes {weir.entry = "greatest"} {
    %0 = weir.cumulative %x {axis = 1 : i64, exclusive = false, kind = "max", reverse = false} : (tensor<2x2000xf32>) -> tensor<2x2000xf32> loc("greatest.scan")
    %1 = weir.sub %0, %x : (tensor<2x2000xf32>, tensor<2x2000xf32>) -> tensor<2x2000xf32> loc("greatest.sub")
    return %1 : tensor<2x2000xf32>
  }
  func.func @least(%x: tensor<3x40xui8> {weir.name = "x"}) -> (tensor<3x40xui8> {weir.name = "values"}) attributes {weir.entry = "least"} {
    %0 = weir.cumulative %x {axis = 1 : i64, exclusive = false, kind = "min", reverse = true} : (tensor<3x40xui8>) -> tensor<3x40xui8> loc("least.scan")
    return %0 : tensor<3x40xui8>
  }
  func.func @parts(%x: tensor<2x20011xi32> {weir.name = "x"}) -> (tensor<2x20011xi32> {weir.name = "values"}) attributes {weir.entry = "parts"} {
    %0 = weir.cumulative %x {axis = 1 : i64, exclusive = true, kind = "sum", reverse = false} : (tensor<2x20011xi32>) -> tensor<2x20011xi32> loc("parts.scan")
    return %0 : tensor<2x20011xi32>
  }
  func.func @parts_behind(%x: tensor<1x9001xf32> {weir.name = "x"}) -> (tensor<1x9001xf32> {weir.name = "values"}) attributes {weir.entry = "parts_behind"} {
    %0 = weir.cumulative %x {axis = 1 : i64, exclusive = false, kind = "sum", reverse = true} : (tensor<1x9001xf32>) -> tensor<1x9001xf32> loc("parts_behind.scan")
    return %0 : tensor<1x9001xf32>
  }
  func.func @parts_across(%x: tensor<4003x5xi32> {weir.name = "x"}) -> (tensor<4003x5xi32> {weir.name = "values"}) attributes {weir.entry = "parts_across"} {
    %0 = weir.cumulative %x {axis = 0 : i64, exclusive = false, kind = "sum", reverse = true} : (tensor<4003x5xi32>) -> tensor<4003x5xi32> loc("parts_across.scan")
    return %0 : tensor<4003x5xi32>
  }
  func.func @open(%x: tensor<?x?xi32> {weir.name = "x"}) -> (tensor<?x?xi32> {weir.name = "values"}) attributes {weir.entry = "open"} {
    %0 = weir.cumulative %x {axis = 1 : i64, exclusive = false, kind = "sum", reverse = false} : (tensor<?x?xi32>) -> tensor<?x?xi32> loc("open.scan")
    return %0 : tensor<?x?xi32>
  }
  func.func @open_across(%x: tensor<?x?xi32> {weir.name = "x"}) -> (tensor<?x?xi32> {weir.name = "values"}) attributes {weir.entry = "open_across"} {
    %0 = weir.cumulative %x {axis = 0 : i64, exclusive = true, kind = "sum", reverse = false} : (tensor<?x?xi32>) -> tensor<?x?xi32> loc("open_across.scan")
    return %0 : tensor<?x?xi32>
  }
}
