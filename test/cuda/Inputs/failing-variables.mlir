// Variables of a step whose kernels may fail: an index that is outside of its table.
module {
  func.func @main(%i: tensor<30xi32> {weir.name = "i"}) -> (tensor<30x8xf32> {weir.name = "found"}) attributes {weir.entry = "main"} {
    %v = weir.variable {name = "before", container = "", type = tensor<70xf32>, initial = dense<1.0> : tensor<70xf32>} : !weir.resource loc("before")
    %w = weir.variable {name = "behind", container = "", type = tensor<30x8xf32>, initial = dense<2.0> : tensor<30x8xf32>} : !weir.resource loc("behind")
    %table = weir.variable {name = "table", container = "", type = tensor<10x8xf32>, initial = dense<5.0> : tensor<10x8xf32>} : !weir.resource loc("table")
    %one = weir.constant dense<1.0> : tensor<f32>
    %a = weir.variable_read %v : (!weir.resource) -> tensor<70xf32> loc("main.before")
    %b = weir.add %a, %one : (tensor<70xf32>, tensor<f32>) -> tensor<70xf32> loc("main.add")
    %t0 = weir.variable_assign %v, %b : (!weir.resource, tensor<70xf32>) -> !weir.token loc("main.assign")
    %rows = weir.variable_read %table, %t0 : (!weir.resource, !weir.token) -> tensor<10x8xf32> loc("main.table")
    %0 = weir.gather %rows, %i {axis = 0 : i64, batch_dims = 0 : i64, wrap_negative = false} : (tensor<10x8xf32>, tensor<30xi32>) -> tensor<30x8xf32> loc("main.lookup")
    %t1 = weir.variable_assign %w, %0 : (!weir.resource, tensor<30x8xf32>) -> !weir.token loc("main.behind")
    %c = weir.variable_read %w, %t1 : (!weir.resource, !weir.token) -> tensor<30x8xf32> loc("main.found")
    return %c : tensor<30x8xf32>
  }
}
