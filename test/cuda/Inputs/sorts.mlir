// Sorts along first, middle and last dimensions, of all types of elements: lines of
// one element, of odd lengths, of powers of two; all of a line and a part, rising and
// falling, with equal elements.
module {
  func.func @one(%x: tensor<20x1xf32> {weir.name = "x"}) -> (tensor<20x1xf32> {weir.name = "values"}, tensor<20x1xi64> {weir.name = "indices"}) attributes {weir.entry = "one"} {
    %k = weir.constant dense<1> : tensor<i64>
    %r:2 = weir.top_k %x, %k {axis = 1 : i64, index_type = i64, largest = true, sorted = true} : (tensor<20x1xf32>, tensor<i64>) -> (tensor<20x1xf32>, tensor<20x1xi64>) loc("one.sort")
    return %r#0, %r#1 : tensor<20x1xf32>, tensor<20x1xi64>
  }
  func.func @two(%x: tensor<150x2xf32> {weir.name = "x"}) -> (tensor<150x2xf32> {weir.name = "values"}, tensor<150x2xi64> {weir.name = "indices"}) attributes {weir.entry = "two"} {
    %k = weir.constant dense<2> : tensor<i64>
    %r:2 = weir.top_k %x, %k {axis = 1 : i64, index_type = i64, largest = false, sorted = true} : (tensor<150x2xf32>, tensor<i64>) -> (tensor<150x2xf32>, tensor<150x2xi64>) loc("two.sort")
    return %r#0, %r#1 : tensor<150x2xf32>, tensor<150x2xi64>
  }
  func.func @odd(%x: tensor<3x37xf32> {weir.name = "x"}) -> (tensor<3x37xf32> {weir.name = "values"}, tensor<3x37xi64> {weir.name = "indices"}) attributes {weir.entry = "odd"} {
    %k = weir.constant dense<37> : tensor<i64>
    %r:2 = weir.top_k %x, %k {axis = 1 : i64, index_type = i64, largest = false, sorted = true} : (tensor<3x37xf32>, tensor<i64>) -> (tensor<3x37xf32>, tensor<3x37xi64>) loc("odd.sort")
    return %r#0, %r#1 : tensor<3x37xf32>, tensor<3x37xi64>
  }
  func.func @power(%x: tensor<3x64xf16> {weir.name = "x"}) -> (tensor<3x64xf16> {weir.name = "values"}, tensor<3x64xi64> {weir.name = "indices"}) attributes {weir.entry = "power"} {
    %k = weir.constant dense<64> : tensor<i64>
    %r:2 = weir.top_k %x, %k {axis = 1 : i64, index_type = i64, largest = true, sorted = true} : (tensor<3x64xf16>, tensor<i64>) -> (tensor<3x64xf16>, tensor<3x64xi64>) loc("power.sort")
    return %r#0, %r#1 : tensor<3x64xf16>, tensor<3x64xi64>
  }
  func.func @few(%x: tensor<20x300xbf16> {weir.name = "x"}) -> (tensor<20x1xbf16> {weir.name = "values"}, tensor<20x1xi64> {weir.name = "indices"}) attributes {weir.entry = "few"} {
    %k = weir.constant dense<1> : tensor<i64>
    %r:2 = weir.top_k %x, %k {axis = 1 : i64, index_type = i64, largest = true, sorted = true} : (tensor<20x300xbf16>, tensor<i64>) -> (tensor<20x1xbf16>, tensor<20x1xi64>) loc("few.sort")
    return %r#0, %r#1 : tensor<20x1xbf16>, tensor<20x1xi64>
  }
  func.func @part(%x: tensor<2x1000xf32> {weir.name = "x"}) -> (tensor<2x40xf32> {weir.name = "values"}, tensor<2x40xi64> {weir.name = "indices"}) attributes {weir.entry = "part"} {
    %k = weir.constant dense<40> : tensor<i64>
    %r:2 = weir.top_k %x, %k {axis = 1 : i64, index_type = i64, largest = true, sorted = true} : (tensor<2x1000xf32>, tensor<i64>) -> (tensor<2x40xf32>, tensor<2x40xi64>) loc("part.sort")
    return %r#0, %r#1 : tensor<2x40xf32>, tensor<2x40xi64>
  }
  func.func @first(%x: tensor<300x7xf64> {weir.name = "x"}) -> (tensor<17x7xf64> {weir.name = "values"}, tensor<17x7xi64> {weir.name = "indices"}) attributes {weir.entry = "first"} {
    %k = weir.constant dense<17> : tensor<i64>
    %r:2 = weir.top_k %x, %k {axis = 0 : i64, index_type = i64, largest = true, sorted = true} : (tensor<300x7xf64>, tensor<i64>) -> (tensor<17x7xf64>, tensor<17x7xi64>) loc("first.sort")
    return %r#0, %r#1 : tensor<17x7xf64>, tensor<17x7xi64>
  }
  func.func @middle(%x: tensor<4x33x5xf32> {weir.name = "x"}) -> (tensor<4x33x5xf32> {weir.name = "values"}, tensor<4x33x5xi64> {weir.name = "indices"}) attributes {weir.entry = "middle"} {
    %k = weir.constant dense<33> : tensor<i64>
    %r:2 = weir.top_k %x, %k {axis = 1 : i64, index_type = i64, largest = true, sorted = true} : (tensor<4x33x5xf32>, tensor<i64>) -> (tensor<4x33x5xf32>, tensor<4x33x5xi64>) loc("middle.sort")
    return %r#0, %r#1 : tensor<4x33x5xf32>, tensor<4x33x5xi64>
  }
  func.func @loose(%x: tensor<3x50xf32> {weir.name = "x"}) -> (tensor<3x50xf32> {weir.name = "values"}, tensor<3x50xi64> {weir.name = "indices"}) attributes {weir.entry = "loose"} {
    %k = weir.constant dense<50> : tensor<i64>
    %r:2 = weir.top_k %x, %k {axis = 1 : i64, index_type = i64, largest = true, sorted = false} : (tensor<3x50xf32>, tensor<i64>) -> (tensor<3x50xf32>, tensor<3x50xi64>) loc("loose.sort")
    return %r#0, %r#1 : tensor<3x50xf32>, tensor<3x50xi64>
  }
  func.func @words(%x: tensor<3x129xi32> {weir.name = "x"}) -> (tensor<3x129xi32> {weir.name = "values"}, tensor<3x129xi64> {weir.name = "indices"}) attributes {weir.entry = "words"} {
    %k = weir.constant dense<129> : tensor<i64>
    %r:2 = weir.top_k %x, %k {axis = 1 : i64, index_type = i64, largest = true, sorted = true} : (tensor<3x129xi32>, tensor<i64>) -> (tensor<3x129xi32>, tensor<3x129xi64>) loc("words.sort")
    return %r#0, %r#1 : tensor<3x129xi32>, tensor<3x129xi64>
  }
  func.func @long(%x: tensor<3x129xi64> {weir.name = "x"}) -> (tensor<3x20xi64> {weir.name = "values"}, tensor<3x20xi32> {weir.name = "indices"}) attributes {weir.entry = "long"} {
    %k = weir.constant dense<20> : tensor<i64>
    %r:2 = weir.top_k %x, %k {axis = 1 : i64, index_type = i32, largest = false, sorted = true} : (tensor<3x129xi64>, tensor<i64>) -> (tensor<3x20xi64>, tensor<3x20xi32>) loc("long.sort")
    return %r#0, %r#1 : tensor<3x20xi64>, tensor<3x20xi32>
  }
  func.func @bytes(%x: tensor<3x129xui8> {weir.name = "x"}) -> (tensor<3x129xui8> {weir.name = "values"}, tensor<3x129xi64> {weir.name = "indices"}) attributes {weir.entry = "bytes"} {
    %k = weir.constant dense<129> : tensor<i64>
    %r:2 = weir.top_k %x, %k {axis = 1 : i64, index_type = i64, largest = false, sorted = true} : (tensor<3x129xui8>, tensor<i64>) -> (tensor<3x129xui8>, tensor<3x129xi64>) loc("bytes.sort")
    return %r#0, %r#1 : tensor<3x129xui8>, tensor<3x129xi64>
  }
  func.func @small(%x: tensor<3x129xi8> {weir.name = "x"}) -> (tensor<3x40xi8> {weir.name = "values"}, tensor<3x40xi64> {weir.name = "indices"}) attributes {weir.entry = "small"} {
    %k = weir.constant dense<40> : tensor<i64>
    %r:2 = weir.top_k %x, %k {axis = 1 : i64, index_type = i64, largest = true, sorted = true} : (tensor<3x129xi8>, tensor<i64>) -> (tensor<3x40xi8>, tensor<3x40xi64>) loc("small.sort")
    return %r#0, %r#1 : tensor<3x40xi8>, tensor<3x40xi64>
  }
  func.func @half(%x: tensor<3x129xi16> {weir.name = "x"}) -> (tensor<3x40xi16> {weir.name = "values"}, tensor<3x40xi64> {weir.name = "indices"}) attributes {weir.entry = "half"} {
    %k = weir.constant dense<40> : tensor<i64>
    %r:2 = weir.top_k %x, %k {axis = 1 : i64, index_type = i64, largest = true, sorted = true} : (tensor<3x129xi16>, tensor<i64>) -> (tensor<3x40xi16>, tensor<3x40xi64>) loc("half.sort")
    return %r#0, %r#1 : tensor<3x40xi16>, tensor<3x40xi64>
  }
  func.func @flags(%x: tensor<3x129xi1> {weir.name = "x"}) -> (tensor<3x40xi1> {weir.name = "values"}, tensor<3x40xi64> {weir.name = "indices"}) attributes {weir.entry = "flags"} {
    %k = weir.constant dense<40> : tensor<i64>
    %r:2 = weir.top_k %x, %k {axis = 1 : i64, index_type = i64, largest = true, sorted = true} : (tensor<3x129xi1>, tensor<i64>) -> (tensor<3x40xi1>, tensor<3x40xi64>) loc("flags.sort")
    return %r#0, %r#1 : tensor<3x40xi1>, tensor<3x40xi64>
  }
  func.func @open(%x: tensor<?x70xf32> {weir.name = "x"}) -> (tensor<?x9xf32> {weir.name = "values"}, tensor<?x9xi64> {weir.name = "indices"}) attributes {weir.entry = "open"} {
    %k = weir.constant dense<9> : tensor<i64>
    %r:2 = weir.top_k %x, %k {axis = 1 : i64, index_type = i64, largest = true, sorted = true} : (tensor<?x70xf32>, tensor<i64>) -> (tensor<?x9xf32>, tensor<?x9xi64>) loc("open.sort")
    return %r#0, %r#1 : tensor<?x9xf32>, tensor<?x9xi64>
  }
  // Between other kernels: what is made in one, and read in another.
  func.func @between(%x: tensor<5x60xf32> {weir.name = "x"}) -> (tensor<5x8xf32> {weir.name = "out"}) attributes {weir.entry = "between"} {
    %k = weir.constant dense<8> : tensor<i64>
    %y = weir.neg %x : (tensor<5x60xf32>) -> tensor<5x60xf32> loc("between.neg")
    %r:2 = weir.top_k %y, %k {axis = 1 : i64, index_type = i64, largest = true, sorted = true} : (tensor<5x60xf32>, tensor<i64>) -> (tensor<5x8xf32>, tensor<5x8xi64>) loc("between.sort")
    %i = weir.cast %r#1 {saturate = false} : (tensor<5x8xi64>) -> tensor<5x8xf32> loc("between.cast")
    %s = weir.add %r#0, %i : (tensor<5x8xf32>, tensor<5x8xf32>) -> tensor<5x8xf32> loc("between.add")
    return %s : tensor<5x8xf32>
  }
  // Numbers that count up are not stored for others, but for a sort.
  func.func @counted(%x: tensor<40xi64> {weir.name = "x"}) -> (tensor<40xi64> {weir.name = "out"}) attributes {weir.entry = "counted"} {
    %k = weir.constant dense<40> : tensor<i64>
    %shape = weir.constant dense<[40]> : tensor<1xi64>
    %n = weir.iota %shape {axis = 0 : i64, element_type = i64} : (tensor<1xi64>) -> tensor<40xi64> loc("counted.iota")
    %r:2 = weir.top_k %n, %k {axis = 0 : i64, index_type = i64, largest = true, sorted = true} : (tensor<40xi64>, tensor<i64>) -> (tensor<40xi64>, tensor<40xi64>) loc("counted.sort")
    %s = weir.add %r#0, %x : (tensor<40xi64>, tensor<40xi64>) -> tensor<40xi64> loc("counted.add")
    return %s : tensor<40xi64>
  }
}
