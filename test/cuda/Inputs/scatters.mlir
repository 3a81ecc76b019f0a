// Scatters of all forms: slices and elements, sums whose order matters, indices that occur
// more than once, negative ones, ones outside, open sizes. The feed of indices is 0, 1 or 2; with its
// number times seven they spread.
module {
  func.func @lines(%x: tensor<300x64xf32> {weir.name = "x"}, %i: tensor<90x1xi64> {weir.name = "i"}, %u: tensor<90x64xf32> {weir.name = "u"}) -> (tensor<300x64xf32> {weir.name = "out"}) attributes {weir.entry = "lines"} {
    %shape_ = weir.constant dense<[90, 1]> : tensor<2xi64>
    %axis0_ = weir.iota %shape_ {axis = 0 : i64, element_type = i64} : (tensor<2xi64>) -> tensor<90x1xi64>
    %seven_ = weir.constant dense<7> : tensor<i64>
    %most_ = weir.constant dense<40> : tensor<i64>
    %m_ = weir.mul %axis0_, %seven_ : (tensor<90x1xi64>, tensor<i64>) -> tensor<90x1xi64> loc("lines.times")
    %s_ = weir.add %m_, %i : (tensor<90x1xi64>, tensor<90x1xi64>) -> tensor<90x1xi64> loc("lines.spread")
    %j = weir.floor_mod %s_, %most_ : (tensor<90x1xi64>, tensor<i64>) -> tensor<90x1xi64> loc("lines.index")
    %r = weir.scatter_nd %x, %j, %u {reduction = "add", wrap_negative = false, drop_out_of_bounds = false} : (tensor<300x64xf32>, tensor<90x1xi64>, tensor<90x64xf32>) -> tensor<300x64xf32> loc("lines.scatter")
    return %r : tensor<300x64xf32>
  }
  func.func @scaled(%x: tensor<20x2x40xf16> {weir.name = "x"}, %i: tensor<70x1xi64> {weir.name = "i"}, %u: tensor<70x2x40xf16> {weir.name = "u"}) -> (tensor<20x2x40xf16> {weir.name = "out"}) attributes {weir.entry = "scaled"} {
    %shape_ = weir.constant dense<[70, 1]> : tensor<2xi64>
    %axis0_ = weir.iota %shape_ {axis = 0 : i64, element_type = i64} : (tensor<2xi64>) -> tensor<70x1xi64>
    %seven_ = weir.constant dense<7> : tensor<i64>
    %most_ = weir.constant dense<20> : tensor<i64>
    %m_ = weir.mul %axis0_, %seven_ : (tensor<70x1xi64>, tensor<i64>) -> tensor<70x1xi64> loc("scaled.times")
    %s_ = weir.add %m_, %i : (tensor<70x1xi64>, tensor<70x1xi64>) -> tensor<70x1xi64> loc("scaled.spread")
    %j = weir.floor_mod %s_, %most_ : (tensor<70x1xi64>, tensor<i64>) -> tensor<70x1xi64> loc("scaled.index")
    %two_ = weir.constant dense<2.0> : tensor<f16>
    %v = weir.mul %u, %two_ : (tensor<70x2x40xf16>, tensor<f16>) -> tensor<70x2x40xf16> loc("scaled.scaled")
    %r = weir.scatter_nd %x, %j, %v {reduction = "add", wrap_negative = false, drop_out_of_bounds = false} : (tensor<20x2x40xf16>, tensor<70x1xi64>, tensor<70x2x40xf16>) -> tensor<20x2x40xf16> loc("scaled.scatter")
    return %r : tensor<20x2x40xf16>
  }
  func.func @brain(%x: tensor<33x50xbf16> {weir.name = "x"}, %i: tensor<40x1xi64> {weir.name = "i"}, %u: tensor<40x50xbf16> {weir.name = "u"}) -> (tensor<33x50xbf16> {weir.name = "out"}) attributes {weir.entry = "brain"} {
    %shape_ = weir.constant dense<[40, 1]> : tensor<2xi64>
    %axis0_ = weir.iota %shape_ {axis = 0 : i64, element_type = i64} : (tensor<2xi64>) -> tensor<40x1xi64>
    %seven_ = weir.constant dense<7> : tensor<i64>
    %most_ = weir.constant dense<33> : tensor<i64>
    %m_ = weir.mul %axis0_, %seven_ : (tensor<40x1xi64>, tensor<i64>) -> tensor<40x1xi64> loc("brain.times")
    %s_ = weir.add %m_, %i : (tensor<40x1xi64>, tensor<40x1xi64>) -> tensor<40x1xi64> loc("brain.spread")
    %j = weir.floor_mod %s_, %most_ : (tensor<40x1xi64>, tensor<i64>) -> tensor<40x1xi64> loc("brain.index")
    %r = weir.scatter_nd %x, %j, %u {reduction = "none", wrap_negative = false, drop_out_of_bounds = false} : (tensor<33x50xbf16>, tensor<40x1xi64>, tensor<40x50xbf16>) -> tensor<33x50xbf16> loc("brain.scatter")
    return %r : tensor<33x50xbf16>
  }
  func.func @pairs(%x: tensor<9x8x36xf32> {weir.name = "x"}, %i: tensor<30x2xi64> {weir.name = "i"}, %u: tensor<30x36xf32> {weir.name = "u"}) -> (tensor<9x8x36xf32> {weir.name = "out"}) attributes {weir.entry = "pairs"} {
    %shape_ = weir.constant dense<[30, 2]> : tensor<2xi64>
    %axis0_ = weir.iota %shape_ {axis = 0 : i64, element_type = i64} : (tensor<2xi64>) -> tensor<30x2xi64>
    %seven_ = weir.constant dense<7> : tensor<i64>
    %most_ = weir.constant dense<8> : tensor<i64>
    %m_ = weir.mul %axis0_, %seven_ : (tensor<30x2xi64>, tensor<i64>) -> tensor<30x2xi64> loc("pairs.times")
    %s_ = weir.add %m_, %i : (tensor<30x2xi64>, tensor<30x2xi64>) -> tensor<30x2xi64> loc("pairs.spread")
    %j = weir.floor_mod %s_, %most_ : (tensor<30x2xi64>, tensor<i64>) -> tensor<30x2xi64> loc("pairs.index")
    %r = weir.scatter_nd %x, %j, %u {reduction = "sub", wrap_negative = false, drop_out_of_bounds = false} : (tensor<9x8x36xf32>, tensor<30x2xi64>, tensor<30x36xf32>) -> tensor<9x8x36xf32> loc("pairs.scatter")
    return %r : tensor<9x8x36xf32>
  }
  func.func @odd(%x: tensor<40x33xf64> {weir.name = "x"}, %i: tensor<80x1xi64> {weir.name = "i"}, %u: tensor<80x33xf64> {weir.name = "u"}) -> (tensor<40x33xf64> {weir.name = "out"}) attributes {weir.entry = "odd"} {
    %shape_ = weir.constant dense<[80, 1]> : tensor<2xi64>
    %axis0_ = weir.iota %shape_ {axis = 0 : i64, element_type = i64} : (tensor<2xi64>) -> tensor<80x1xi64>
    %seven_ = weir.constant dense<7> : tensor<i64>
    %most_ = weir.constant dense<40> : tensor<i64>
    %m_ = weir.mul %axis0_, %seven_ : (tensor<80x1xi64>, tensor<i64>) -> tensor<80x1xi64> loc("odd.times")
    %s_ = weir.add %m_, %i : (tensor<80x1xi64>, tensor<80x1xi64>) -> tensor<80x1xi64> loc("odd.spread")
    %j = weir.floor_mod %s_, %most_ : (tensor<80x1xi64>, tensor<i64>) -> tensor<80x1xi64> loc("odd.index")
    %r = weir.scatter_nd %x, %j, %u {reduction = "mul", wrap_negative = false, drop_out_of_bounds = false} : (tensor<40x33xf64>, tensor<80x1xi64>, tensor<80x33xf64>) -> tensor<40x33xf64> loc("odd.scatter")
    return %r : tensor<40x33xf64>
  }
  func.func @wrapped(%x: tensor<50x64xi32> {weir.name = "x"}, %i: tensor<300x1xi64> {weir.name = "i"}, %u: tensor<300x64xi32> {weir.name = "u"}) -> (tensor<50x64xi32> {weir.name = "out"}) attributes {weir.entry = "wrapped"} {
    %shape_ = weir.constant dense<[300, 1]> : tensor<2xi64>
    %axis0_ = weir.iota %shape_ {axis = 0 : i64, element_type = i64} : (tensor<2xi64>) -> tensor<300x1xi64>
    %seven_ = weir.constant dense<7> : tensor<i64>
    %most_ = weir.constant dense<40> : tensor<i64>
    %m_ = weir.mul %axis0_, %seven_ : (tensor<300x1xi64>, tensor<i64>) -> tensor<300x1xi64> loc("wrapped.times")
    %s_ = weir.add %m_, %i : (tensor<300x1xi64>, tensor<300x1xi64>) -> tensor<300x1xi64> loc("wrapped.spread")
    %j = weir.floor_mod %s_, %most_ : (tensor<300x1xi64>, tensor<i64>) -> tensor<300x1xi64> loc("wrapped.index")
    %shift_ = weir.constant dense<20> : tensor<i64>
    %k = weir.sub %j, %shift_ : (tensor<300x1xi64>, tensor<i64>) -> tensor<300x1xi64> loc("wrapped.shift")
    %r = weir.scatter_nd %x, %k, %u {reduction = "max", wrap_negative = true, drop_out_of_bounds = false} : (tensor<50x64xi32>, tensor<300x1xi64>, tensor<300x64xi32>) -> tensor<50x64xi32> loc("wrapped.scatter")
    return %r : tensor<50x64xi32>
  }
  func.func @dropped(%x: tensor<600xf32> {weir.name = "x"}, %i: tensor<700x1xi64> {weir.name = "i"}, %u: tensor<700xf32> {weir.name = "u"}) -> (tensor<600xf32> {weir.name = "out"}) attributes {weir.entry = "dropped"} {
    %shape_ = weir.constant dense<[700, 1]> : tensor<2xi64>
    %axis0_ = weir.iota %shape_ {axis = 0 : i64, element_type = i64} : (tensor<2xi64>) -> tensor<700x1xi64>
    %seven_ = weir.constant dense<7> : tensor<i64>
    %most_ = weir.constant dense<900> : tensor<i64>
    %m_ = weir.mul %axis0_, %seven_ : (tensor<700x1xi64>, tensor<i64>) -> tensor<700x1xi64> loc("dropped.times")
    %s_ = weir.add %m_, %i : (tensor<700x1xi64>, tensor<700x1xi64>) -> tensor<700x1xi64> loc("dropped.spread")
    %j = weir.floor_mod %s_, %most_ : (tensor<700x1xi64>, tensor<i64>) -> tensor<700x1xi64> loc("dropped.index")
    %shift_ = weir.constant dense<10> : tensor<i64>
    %k = weir.sub %j, %shift_ : (tensor<700x1xi64>, tensor<i64>) -> tensor<700x1xi64> loc("dropped.shift")
    %r = weir.scatter_nd %x, %k, %u {reduction = "add", wrap_negative = false, drop_out_of_bounds = true} : (tensor<600xf32>, tensor<700x1xi64>, tensor<700xf32>) -> tensor<600xf32> loc("dropped.scatter")
    return %r : tensor<600xf32>
  }
  func.func @few(%x: tensor<31x3xf64> {weir.name = "x"}, %i: tensor<400x1xi64> {weir.name = "i"}, %u: tensor<400x3xf64> {weir.name = "u"}) -> (tensor<31x3xf64> {weir.name = "out"}) attributes {weir.entry = "few"} {
    %shape_ = weir.constant dense<[400, 1]> : tensor<2xi64>
    %axis0_ = weir.iota %shape_ {axis = 0 : i64, element_type = i64} : (tensor<2xi64>) -> tensor<400x1xi64>
    %seven_ = weir.constant dense<7> : tensor<i64>
    %most_ = weir.constant dense<31> : tensor<i64>
    %m_ = weir.mul %axis0_, %seven_ : (tensor<400x1xi64>, tensor<i64>) -> tensor<400x1xi64> loc("few.times")
    %s_ = weir.add %m_, %i : (tensor<400x1xi64>, tensor<400x1xi64>) -> tensor<400x1xi64> loc("few.spread")
    %j = weir.floor_mod %s_, %most_ : (tensor<400x1xi64>, tensor<i64>) -> tensor<400x1xi64> loc("few.index")
    %r = weir.scatter_nd %x, %j, %u {reduction = "add", wrap_negative = false, drop_out_of_bounds = false} : (tensor<31x3xf64>, tensor<400x1xi64>, tensor<400x3xf64>) -> tensor<31x3xf64> loc("few.scatter")
    return %r : tensor<31x3xf64>
  }
  func.func @whole(%x: tensor<5xi64> {weir.name = "x"}, %i: tensor<300x1xi64> {weir.name = "i"}, %u: tensor<300xi64> {weir.name = "u"}) -> (tensor<5xi64> {weir.name = "out"}) attributes {weir.entry = "whole"} {
    %shape_ = weir.constant dense<[300, 1]> : tensor<2xi64>
    %axis0_ = weir.iota %shape_ {axis = 0 : i64, element_type = i64} : (tensor<2xi64>) -> tensor<300x1xi64>
    %seven_ = weir.constant dense<7> : tensor<i64>
    %most_ = weir.constant dense<5> : tensor<i64>
    %m_ = weir.mul %axis0_, %seven_ : (tensor<300x1xi64>, tensor<i64>) -> tensor<300x1xi64> loc("whole.times")
    %s_ = weir.add %m_, %i : (tensor<300x1xi64>, tensor<300x1xi64>) -> tensor<300x1xi64> loc("whole.spread")
    %j = weir.floor_mod %s_, %most_ : (tensor<300x1xi64>, tensor<i64>) -> tensor<300x1xi64> loc("whole.index")
    %r = weir.scatter_nd %x, %j, %u {reduction = "min", wrap_negative = false, drop_out_of_bounds = false} : (tensor<5xi64>, tensor<300x1xi64>, tensor<300xi64>) -> tensor<5xi64> loc("whole.scatter")
    return %r : tensor<5xi64>
  }
  func.func @truth(%x: tensor<64xi1> {weir.name = "x"}, %i: tensor<100x1xi64> {weir.name = "i"}, %u: tensor<100xi1> {weir.name = "u"}) -> (tensor<64xi1> {weir.name = "out"}) attributes {weir.entry = "truth"} {
    %shape_ = weir.constant dense<[100, 1]> : tensor<2xi64>
    %axis0_ = weir.iota %shape_ {axis = 0 : i64, element_type = i64} : (tensor<2xi64>) -> tensor<100x1xi64>
    %seven_ = weir.constant dense<7> : tensor<i64>
    %most_ = weir.constant dense<64> : tensor<i64>
    %m_ = weir.mul %axis0_, %seven_ : (tensor<100x1xi64>, tensor<i64>) -> tensor<100x1xi64> loc("truth.times")
    %s_ = weir.add %m_, %i : (tensor<100x1xi64>, tensor<100x1xi64>) -> tensor<100x1xi64> loc("truth.spread")
    %j = weir.floor_mod %s_, %most_ : (tensor<100x1xi64>, tensor<i64>) -> tensor<100x1xi64> loc("truth.index")
    %r = weir.scatter_nd %x, %j, %u {reduction = "none", wrap_negative = false, drop_out_of_bounds = false} : (tensor<64xi1>, tensor<100x1xi64>, tensor<100xi1>) -> tensor<64xi1> loc("truth.scatter")
    return %r : tensor<64xi1>
  }
  func.func @complex(%x: tensor<64xcomplex<f32>> {weir.name = "x"}, %i: tensor<100x1xi64> {weir.name = "i"}, %u: tensor<100xcomplex<f32>> {weir.name = "u"}) -> (tensor<64xcomplex<f32>> {weir.name = "out"}) attributes {weir.entry = "complex"} {
    %shape_ = weir.constant dense<[100, 1]> : tensor<2xi64>
    %axis0_ = weir.iota %shape_ {axis = 0 : i64, element_type = i64} : (tensor<2xi64>) -> tensor<100x1xi64>
    %seven_ = weir.constant dense<7> : tensor<i64>
    %most_ = weir.constant dense<64> : tensor<i64>
    %m_ = weir.mul %axis0_, %seven_ : (tensor<100x1xi64>, tensor<i64>) -> tensor<100x1xi64> loc("complex.times")
    %s_ = weir.add %m_, %i : (tensor<100x1xi64>, tensor<100x1xi64>) -> tensor<100x1xi64> loc("complex.spread")
    %j = weir.floor_mod %s_, %most_ : (tensor<100x1xi64>, tensor<i64>) -> tensor<100x1xi64> loc("complex.index")
    %r = weir.scatter_nd %x, %j, %u {reduction = "add", wrap_negative = false, drop_out_of_bounds = false} : (tensor<64xcomplex<f32>>, tensor<100x1xi64>, tensor<100xcomplex<f32>>) -> tensor<64xcomplex<f32>> loc("complex.scatter")
    return %r : tensor<64xcomplex<f32>>
  }
  func.func @wide(%x: tensor<12x40xcomplex<f32>> {weir.name = "x"}, %i: tensor<50x1xi64> {weir.name = "i"}, %u: tensor<50x40xcomplex<f32>> {weir.name = "u"}) -> (tensor<12x40xcomplex<f32>> {weir.name = "out"}) attributes {weir.entry = "wide"} {
    %shape_ = weir.constant dense<[50, 1]> : tensor<2xi64>
    %axis0_ = weir.iota %shape_ {axis = 0 : i64, element_type = i64} : (tensor<2xi64>) -> tensor<50x1xi64>
    %seven_ = weir.constant dense<7> : tensor<i64>
    %most_ = weir.constant dense<12> : tensor<i64>
    %m_ = weir.mul %axis0_, %seven_ : (tensor<50x1xi64>, tensor<i64>) -> tensor<50x1xi64> loc("wide.times")
    %s_ = weir.add %m_, %i : (tensor<50x1xi64>, tensor<50x1xi64>) -> tensor<50x1xi64> loc("wide.spread")
    %j = weir.floor_mod %s_, %most_ : (tensor<50x1xi64>, tensor<i64>) -> tensor<50x1xi64> loc("wide.index")
    %r = weir.scatter_nd %x, %j, %u {reduction = "add", wrap_negative = false, drop_out_of_bounds = false} : (tensor<12x40xcomplex<f32>>, tensor<50x1xi64>, tensor<50x40xcomplex<f32>>) -> tensor<12x40xcomplex<f32>> loc("wide.scatter")
    return %r : tensor<12x40xcomplex<f32>>
  }
  func.func @columns(%x: tensor<40x30xf32> {weir.name = "x"}, %i: tensor<60x20xi64> {weir.name = "i"}, %u: tensor<60x20xf32> {weir.name = "u"}) -> (tensor<40x30xf32> {weir.name = "out"}) attributes {weir.entry = "columns"} {
    %shape_ = weir.constant dense<[60, 20]> : tensor<2xi64>
    %axis0_ = weir.iota %shape_ {axis = 0 : i64, element_type = i64} : (tensor<2xi64>) -> tensor<60x20xi64>
    %seven_ = weir.constant dense<7> : tensor<i64>
    %most_ = weir.constant dense<40> : tensor<i64>
    %m_ = weir.mul %axis0_, %seven_ : (tensor<60x20xi64>, tensor<i64>) -> tensor<60x20xi64> loc("columns.times")
    %s_ = weir.add %m_, %i : (tensor<60x20xi64>, tensor<60x20xi64>) -> tensor<60x20xi64> loc("columns.spread")
    %j = weir.floor_mod %s_, %most_ : (tensor<60x20xi64>, tensor<i64>) -> tensor<60x20xi64> loc("columns.index")
    %r = weir.scatter_elements %x, %j, %u {axis = 0 : i64, reduction = "add", wrap_negative = false} : (tensor<40x30xf32>, tensor<60x20xi64>, tensor<60x20xf32>) -> tensor<40x30xf32> loc("columns.scatter")
    return %r : tensor<40x30xf32>
  }
  func.func @rows(%x: tensor<70x50xf16> {weir.name = "x"}, %i: tensor<70x9xi64> {weir.name = "i"}, %u: tensor<70x9xf16> {weir.name = "u"}) -> (tensor<70x50xf16> {weir.name = "out"}) attributes {weir.entry = "rows"} {
    %shape_ = weir.constant dense<[70, 9]> : tensor<2xi64>
    %axis0_ = weir.iota %shape_ {axis = 0 : i64, element_type = i64} : (tensor<2xi64>) -> tensor<70x9xi64>
    %seven_ = weir.constant dense<7> : tensor<i64>
    %most_ = weir.constant dense<50> : tensor<i64>
    %m_ = weir.mul %axis0_, %seven_ : (tensor<70x9xi64>, tensor<i64>) -> tensor<70x9xi64> loc("rows.times")
    %s_ = weir.add %m_, %i : (tensor<70x9xi64>, tensor<70x9xi64>) -> tensor<70x9xi64> loc("rows.spread")
    %j = weir.floor_mod %s_, %most_ : (tensor<70x9xi64>, tensor<i64>) -> tensor<70x9xi64> loc("rows.index")
    %r = weir.scatter_elements %x, %j, %u {axis = 1 : i64, reduction = "none", wrap_negative = false} : (tensor<70x50xf16>, tensor<70x9xi64>, tensor<70x9xf16>) -> tensor<70x50xf16> loc("rows.scatter")
    return %r : tensor<70x50xf16>
  }
  func.func @many(%x: tensor<90x100xi8> {weir.name = "x"}, %i: tensor<90x60xi64> {weir.name = "i"}, %u: tensor<90x60xi8> {weir.name = "u"}) -> (tensor<90x100xi8> {weir.name = "out"}) attributes {weir.entry = "many"} {
    %shape_ = weir.constant dense<[90, 60]> : tensor<2xi64>
    %axis0_ = weir.iota %shape_ {axis = 0 : i64, element_type = i64} : (tensor<2xi64>) -> tensor<90x60xi64>
    %seven_ = weir.constant dense<7> : tensor<i64>
    %most_ = weir.constant dense<100> : tensor<i64>
    %m_ = weir.mul %axis0_, %seven_ : (tensor<90x60xi64>, tensor<i64>) -> tensor<90x60xi64> loc("many.times")
    %s_ = weir.add %m_, %i : (tensor<90x60xi64>, tensor<90x60xi64>) -> tensor<90x60xi64> loc("many.spread")
    %j = weir.floor_mod %s_, %most_ : (tensor<90x60xi64>, tensor<i64>) -> tensor<90x60xi64> loc("many.index")
    %r = weir.scatter_elements %x, %j, %u {axis = 1 : i64, reduction = "max", wrap_negative = false} : (tensor<90x100xi8>, tensor<90x60xi64>, tensor<90x60xi8>) -> tensor<90x100xi8> loc("many.scatter")
    return %r : tensor<90x100xi8>
  }
  func.func @open(%x: tensor<?x40xf32> {weir.name = "x"}, %i: tensor<?x1xi64> {weir.name = "i"}, %u: tensor<?x40xf32> {weir.name = "u"}) -> (tensor<?x40xf32> {weir.name = "out"}) attributes {weir.entry = "open"} {
    %r = weir.scatter_nd %x, %i, %u {reduction = "add", wrap_negative = false, drop_out_of_bounds = false} : (tensor<?x40xf32>, tensor<?x1xi64>, tensor<?x40xf32>) -> tensor<?x40xf32> loc("open.scatter")
    return %r : tensor<?x40xf32>
  }
  func.func @open_elements(%x: tensor<?x?xf32> {weir.name = "x"}, %i: tensor<?x?xi32> {weir.name = "i"}, %u: tensor<?x?xf32> {weir.name = "u"}) -> (tensor<?x?xf32> {weir.name = "out"}) attributes {weir.entry = "open_elements"} {
    %r = weir.scatter_elements %x, %i, %u {axis = 1 : i64, reduction = "add", wrap_negative = false} : (tensor<?x?xf32>, tensor<?x?xi32>, tensor<?x?xf32>) -> tensor<?x?xf32> loc("open_elements.scatter")
    return %r : tensor<?x?xf32>
  }
  // Indices 0, 1 and 2 of two lines: the program says which is outside.
  func.func @outside(%x: tensor<2x40xf32> {weir.name = "x"}, %i: tensor<50x1xi64> {weir.name = "i"}, %u: tensor<50x40xf32> {weir.name = "u"}) -> (tensor<2x40xf32> {weir.name = "out"}) attributes {weir.entry = "outside"} {
    %r = weir.scatter_nd %x, %i, %u {reduction = "none", wrap_negative = false, drop_out_of_bounds = false} : (tensor<2x40xf32>, tensor<50x1xi64>, tensor<50x40xf32>) -> tensor<2x40xf32> loc("outside.scatter")
    return %r : tensor<2x40xf32>
  }
  // A table that is updated in part, twice a run.
  func.func @sparse(%i: tensor<60x1xi32> {weir.name = "i"}, %u: tensor<60x48xf32> {weir.name = "u"}) -> (tensor<70x48xf32> {weir.name = "out"}) attributes {weir.entry = "sparse"} {
    %v = weir.variable {name = "table", container = "", type = tensor<70x48xf32>, initial = dense<1.0> : tensor<70x48xf32>} : !weir.resource loc("table")
    %a = weir.variable_read %v : (!weir.resource) -> tensor<70x48xf32> loc("sparse.before")
    %b = weir.scatter_nd %a, %i, %u {drop_out_of_bounds = false, reduction = "add", wrap_negative = false} : (tensor<70x48xf32>, tensor<60x1xi32>, tensor<60x48xf32>) -> tensor<70x48xf32> loc("sparse.add")
    %t = weir.variable_assign %v, %b : (!weir.resource, tensor<70x48xf32>) -> !weir.token loc("sparse.assign")
    %c = weir.variable_read %v, %t : (!weir.resource, !weir.token) -> tensor<70x48xf32> loc("sparse.between")
    %d = weir.scatter_nd %c, %i, %u {drop_out_of_bounds = false, reduction = "none", wrap_negative = false} : (tensor<70x48xf32>, tensor<60x1xi32>, tensor<60x48xf32>) -> tensor<70x48xf32> loc("sparse.set")
    %t1 = weir.variable_assign %v, %d : (!weir.resource, tensor<70x48xf32>) -> !weir.token loc("sparse.assign2")
    %e = weir.variable_read %v, %t1 : (!weir.resource, !weir.token) -> tensor<70x48xf32> loc("sparse.behind")
    return %e : tensor<70x48xf32>
  }
}
