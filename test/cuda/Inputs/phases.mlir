// Rows of launches that need each other: softmaxes of lines that have 256 threads each, and lines
// picked from what they leave. Their number may be open, and too few are not worth a barrier.
module {
  func.func @lines(%x: tensor<24x2048xf32> {weir.name = "x"}, %i: tensor<24xi64> {weir.name = "i"}) -> (tensor<24x2048xf32> {weir.name = "y"}) attributes {weir.entry = "lines"} {
    %s0 = weir.softmax %x {axis = 1 : i64, log = false} : (tensor<24x2048xf32>) -> tensor<24x2048xf32> loc("lines.softmax0")
    %g0 = weir.gather %s0, %i {axis = 0 : i64, batch_dims = 0 : i64, wrap_negative = false} : (tensor<24x2048xf32>, tensor<24xi64>) -> tensor<24x2048xf32> loc("lines.gather0")
    %s1 = weir.softmax %g0 {axis = 1 : i64, log = false} : (tensor<24x2048xf32>) -> tensor<24x2048xf32> loc("lines.softmax1")
    %g1 = weir.gather %s1, %i {axis = 0 : i64, batch_dims = 0 : i64, wrap_negative = false} : (tensor<24x2048xf32>, tensor<24xi64>) -> tensor<24x2048xf32> loc("lines.gather1")
    %s2 = weir.softmax %g1 {axis = 1 : i64, log = false} : (tensor<24x2048xf32>) -> tensor<24x2048xf32> loc("lines.softmax2")
    %g2 = weir.gather %s2, %i {axis = 0 : i64, batch_dims = 0 : i64, wrap_negative = false} : (tensor<24x2048xf32>, tensor<24xi64>) -> tensor<24x2048xf32> loc("lines.gather2")
    %s3 = weir.softmax %g2 {axis = 1 : i64, log = false} : (tensor<24x2048xf32>) -> tensor<24x2048xf32> loc("lines.softmax3")
    %g3 = weir.gather %s3, %i {axis = 0 : i64, batch_dims = 0 : i64, wrap_negative = false} : (tensor<24x2048xf32>, tensor<24xi64>) -> tensor<24x2048xf32> loc("lines.gather3")
    %s4 = weir.softmax %g3 {axis = 1 : i64, log = false} : (tensor<24x2048xf32>) -> tensor<24x2048xf32> loc("lines.softmax4")
    %g4 = weir.gather %s4, %i {axis = 0 : i64, batch_dims = 0 : i64, wrap_negative = false} : (tensor<24x2048xf32>, tensor<24xi64>) -> tensor<24x2048xf32> loc("lines.gather4")
    return %g4 : tensor<24x2048xf32>
  }
  func.func @open(%x: tensor<?x2048xf32> {weir.name = "x"}, %i: tensor<?xi64> {weir.name = "i"}) -> (tensor<?x2048xf32> {weir.name = "y"}) attributes {weir.entry = "open"} {
    %s0 = weir.softmax %x {axis = 1 : i64, log = false} : (tensor<?x2048xf32>) -> tensor<?x2048xf32> loc("open.softmax0")
    %g0 = weir.gather %s0, %i {axis = 0 : i64, batch_dims = 0 : i64, wrap_negative = false} : (tensor<?x2048xf32>, tensor<?xi64>) -> tensor<?x2048xf32> loc("open.gather0")
    %s1 = weir.softmax %g0 {axis = 1 : i64, log = false} : (tensor<?x2048xf32>) -> tensor<?x2048xf32> loc("open.softmax1")
    %g1 = weir.gather %s1, %i {axis = 0 : i64, batch_dims = 0 : i64, wrap_negative = false} : (tensor<?x2048xf32>, tensor<?xi64>) -> tensor<?x2048xf32> loc("open.gather1")
    %s2 = weir.softmax %g1 {axis = 1 : i64, log = false} : (tensor<?x2048xf32>) -> tensor<?x2048xf32> loc("open.softmax2")
    %g2 = weir.gather %s2, %i {axis = 0 : i64, batch_dims = 0 : i64, wrap_negative = false} : (tensor<?x2048xf32>, tensor<?xi64>) -> tensor<?x2048xf32> loc("open.gather2")
    %s3 = weir.softmax %g2 {axis = 1 : i64, log = false} : (tensor<?x2048xf32>) -> tensor<?x2048xf32> loc("open.softmax3")
    %g3 = weir.gather %s3, %i {axis = 0 : i64, batch_dims = 0 : i64, wrap_negative = false} : (tensor<?x2048xf32>, tensor<?xi64>) -> tensor<?x2048xf32> loc("open.gather3")
    %s4 = weir.softmax %g3 {axis = 1 : i64, log = false} : (tensor<?x2048xf32>) -> tensor<?x2048xf32> loc("open.softmax4")
    %g4 = weir.gather %s4, %i {axis = 0 : i64, batch_dims = 0 : i64, wrap_negative = false} : (tensor<?x2048xf32>, tensor<?xi64>) -> tensor<?x2048xf32> loc("open.gather4")
    return %g4 : tensor<?x2048xf32>
  }
  func.func @few(%x: tensor<24x2048xf32> {weir.name = "x"}, %i: tensor<24xi64> {weir.name = "i"}) -> (tensor<24x2048xf32> {weir.name = "y"}) attributes {weir.entry = "few"} {
    %s0 = weir.softmax %x {axis = 1 : i64, log = false} : (tensor<24x2048xf32>) -> tensor<24x2048xf32> loc("few.softmax0")
    %g0 = weir.gather %s0, %i {axis = 0 : i64, batch_dims = 0 : i64, wrap_negative = false} : (tensor<24x2048xf32>, tensor<24xi64>) -> tensor<24x2048xf32> loc("few.gather0")
    %s1 = weir.softmax %g0 {axis = 1 : i64, log = false} : (tensor<24x2048xf32>) -> tensor<24x2048xf32> loc("few.softmax1")
    %g1 = weir.gather %s1, %i {axis = 0 : i64, batch_dims = 0 : i64, wrap_negative = false} : (tensor<24x2048xf32>, tensor<24xi64>) -> tensor<24x2048xf32> loc("few.gather1")
    return %g1 : tensor<24x2048xf32>
  }
}
