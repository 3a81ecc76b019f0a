// exp on one device, its negation on another.
module {
  func.func @main(%x: tensor<4x8xf32> {weir.name = "x"}) -> (tensor<4x8xf32> {weir.name = "y"})
      attributes {weir.entry = "main", weir.device_requests = {a = "/cpu:0", b = "/cpu:1"}} {
    %a = weir.exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32> loc("a")
    %b = weir.neg %a : (tensor<4x8xf32>) -> tensor<4x8xf32> loc("b")
    return %b : tensor<4x8xf32>
  }
}
