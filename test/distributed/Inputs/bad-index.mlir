// A lookup in another task, of an index that only a run knows.
module {
  func.func @main(%w: tensor<4x2xf32> {weir.name = "w"}, %i: tensor<1xi64> {weir.name = "i"}) -> (tensor<1x2xf32> {weir.name = "y"})
      attributes {weir.entry = "main", weir.device_requests = {seven = "/job:worker/task:0", lookup = "/job:worker/task:1", after = "/job:worker/task:0"}} {
    %six = weir.constant dense<7> : tensor<1xi64>
    %seven = weir.maximum %i, %six : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64> loc("seven")
    %0 = weir.gather %w, %seven {axis = 0 : i64, batch_dims = 0 : i64, wrap_negative = false} : (tensor<4x2xf32>, tensor<1xi64>) -> tensor<1x2xf32> loc("lookup")
    %1 = weir.neg %0 : (tensor<1x2xf32>) -> tensor<1x2xf32> loc("after")
    return %1 : tensor<1x2xf32>
  }
}
