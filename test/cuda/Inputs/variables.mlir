// Variables that a GPU keeps, read and assigned in every kind of order; and some that
// the host keeps.
module {
  // What it was, and what it is.
  func.func @add(%x: tensor<1000xf32> {weir.name = "x"}) -> (tensor<1000xf32> {weir.name = "before"}, tensor<1000xf32> {weir.name = "after"}) attributes {weir.entry = "add"} {
    %v = weir.variable {name = "sum", container = "", type = tensor<1000xf32>, initial = dense<1.0> : tensor<1000xf32>} : !weir.resource loc("sum")
    %old = weir.variable_read %v : (!weir.resource) -> tensor<1000xf32> loc("add.read")
    %new = weir.add %old, %x : (tensor<1000xf32>, tensor<1000xf32>) -> tensor<1000xf32> loc("add.add")
    %t = weir.variable_assign %v, %new : (!weir.resource, tensor<1000xf32>) -> !weir.token loc("add.assign")
    %now = weir.variable_read %v, %t : (!weir.resource, !weir.token) -> tensor<1000xf32> loc("add.again")
    return %old, %now : tensor<1000xf32>, tensor<1000xf32>
  }

  // One that has no value at first: whole, whoever else assigns.
  func.func @store(%x: tensor<f32> {weir.name = "x"}) -> (tensor<3000xf32> {weir.name = "stored"}) attributes {weir.entry = "store"} {
    %v = weir.variable {name = "pattern", container = "", type = tensor<3000xf32>} : !weir.resource loc("pattern")
    %zero = weir.constant dense<0.0> : tensor<3000xf32>
    %new = weir.add %zero, %x : (tensor<3000xf32>, tensor<f32>) -> tensor<3000xf32> loc("store.add")
    %t = weir.variable_assign %v, %new : (!weir.resource, tensor<3000xf32>) -> !weir.token loc("store.assign")
    %now = weir.variable_read %v, %t : (!weir.resource, !weir.token) -> tensor<3000xf32> loc("store.again")
    return %now : tensor<3000xf32>
  }
  func.func @load() -> (tensor<3000xf32> {weir.name = "loaded"}) attributes {weir.entry = "load"} {
    %v = weir.variable {name = "pattern", container = "", type = tensor<3000xf32>} : !weir.resource loc("pattern")
    %now = weir.variable_read %v : (!weir.resource) -> tensor<3000xf32> loc("load.read")
    %more = weir.neg %now : (tensor<3000xf32>) -> tensor<3000xf32> loc("load.neg")
    %less = weir.neg %more : (tensor<3000xf32>) -> tensor<3000xf32> loc("load.again")
    return %less : tensor<3000xf32>
  }

  // Two change places, one of them is assigned twice.
  func.func @swap() -> (tensor<600xf32> {weir.name = "left"}, tensor<600xf32> {weir.name = "right"}) attributes {weir.entry = "swap"} {
    %l = weir.variable {name = "left", container = "", type = tensor<600xf32>, initial = dense<3.0> : tensor<600xf32>} : !weir.resource loc("left")
    %r = weir.variable {name = "right", container = "", type = tensor<600xf32>, initial = dense<4.0> : tensor<600xf32>} : !weir.resource loc("right")
    %one = weir.constant dense<1.0> : tensor<f32>
    %a = weir.variable_read %l : (!weir.resource) -> tensor<600xf32> loc("swap.a")
    %b = weir.variable_read %r : (!weir.resource) -> tensor<600xf32> loc("swap.b")
    %t0 = weir.variable_assign %l, %b : (!weir.resource, tensor<600xf32>) -> !weir.token loc("swap.left")
    %t1 = weir.variable_assign %r, %a : (!weir.resource, tensor<600xf32>) -> !weir.token loc("swap.right")
    %c = weir.variable_read %l, %t0 : (!weir.resource, !weir.token) -> tensor<600xf32> loc("swap.c")
    %d = weir.add %c, %one : (tensor<600xf32>, tensor<f32>) -> tensor<600xf32> loc("swap.add")
    %t2 = weir.variable_assign %l, %d, %t1 : (!weir.resource, tensor<600xf32>, !weir.token) -> !weir.token loc("swap.left2")
    %e = weir.variable_read %l, %t2 : (!weir.resource, !weir.token) -> tensor<600xf32> loc("swap.e")
    %f = weir.variable_read %r, %t2 : (!weir.resource, !weir.token) -> tensor<600xf32> loc("swap.f")
    return %e, %f : tensor<600xf32>, tensor<600xf32>
  }

  // In each turn of a loop whose counter is the host's.
  func.func @turns(%x: tensor<1000xf32> {weir.name = "x"}) -> (tensor<1000xf32> {weir.name = "turned"}) attributes {weir.entry = "turns"} {
    %v = weir.variable {name = "sum", container = "", type = tensor<1000xf32>, initial = dense<1.0> : tensor<1000xf32>} : !weir.resource loc("sum")
    %zero = weir.constant dense<0> : tensor<i32>
    %one = weir.constant dense<1> : tensor<i32>
    %six = weir.constant dense<6> : tensor<i32>
    %half = weir.constant dense<0.5> : tensor<f32>
    %end:2 = weir.while %six, %x : (tensor<i32>, tensor<1000xf32>) -> (tensor<i32>, tensor<1000xf32>) while {
    ^bb0(%i: tensor<i32>, %y: tensor<1000xf32>):
      %go = weir.compare %i, %zero {predicate = "gt"} : (tensor<i32>, tensor<i32>) -> tensor<i1> loc("turns.go")
      weir.yield %go : tensor<i1>
    } do {
    ^bb0(%i: tensor<i32>, %y: tensor<1000xf32>):
      %next = weir.sub %i, %one : (tensor<i32>, tensor<i32>) -> tensor<i32> loc("turns.next")
      %s = weir.variable_read %v : (!weir.resource) -> tensor<1000xf32> loc("turns.read")
      %h = weir.mul %s, %half : (tensor<1000xf32>, tensor<f32>) -> tensor<1000xf32> loc("turns.half")
      %u = weir.add %h, %y : (tensor<1000xf32>, tensor<1000xf32>) -> tensor<1000xf32> loc("turns.add")
      %t = weir.variable_assign %v, %u : (!weir.resource, tensor<1000xf32>) -> !weir.token loc("turns.assign")
      %w = weir.variable_read %v, %t : (!weir.resource, !weir.token) -> tensor<1000xf32> loc("turns.again")
      %z = weir.mul %w, %half : (tensor<1000xf32>, tensor<f32>) -> tensor<1000xf32> loc("turns.less")
      weir.yield %next, %z : tensor<i32>, tensor<1000xf32>
    } loc("turns.loop")
    return %end#1 : tensor<1000xf32>
  }

  // What is assigned before an assertion stays where that fails, what comes behind does not.
  func.func @assert(%ok: tensor<i1> {weir.name = "ok"}, %x: tensor<600xf32> {weir.name = "x"}) -> (tensor<600xf32> {weir.name = "out"}) attributes {weir.entry = "assert"} {
    %l = weir.variable {name = "left", container = "", type = tensor<600xf32>, initial = dense<3.0> : tensor<600xf32>} : !weir.resource loc("left")
    %r = weir.variable {name = "right", container = "", type = tensor<600xf32>, initial = dense<4.0> : tensor<600xf32>} : !weir.resource loc("right")
    %t0 = weir.variable_assign %l, %x : (!weir.resource, tensor<600xf32>) -> !weir.token loc("assert.left")
    %t1 = weir.assert %ok, %t0 {message = "not now", code = 3 : i64} : (tensor<i1>, !weir.token) -> !weir.token loc("assert.assert")
    %t2 = weir.variable_assign %r, %x, %t1 : (!weir.resource, tensor<600xf32>, !weir.token) -> !weir.token loc("assert.right")
    %e = weir.variable_read %r, %t2 : (!weir.resource, !weir.token) -> tensor<600xf32> loc("assert.read")
    return %e : tensor<600xf32>
  }

  // The host finds out what is largest.
  func.func @top() -> (tensor<2xf32> {weir.name = "top"}) attributes {weir.entry = "top"} {
    %v = weir.variable {name = "sum", container = "", type = tensor<1000xf32>, initial = dense<1.0> : tensor<1000xf32>} : !weir.resource loc("sum")
    %k = weir.constant dense<2> : tensor<i64> loc("k")
    %now = weir.variable_read %v : (!weir.resource) -> tensor<1000xf32> loc("top.read")
    %1:2 = weir.top_k %now, %k {axis = 0 : i64, index_type = i64, largest = true, sorted = true} : (tensor<1000xf32>, tensor<i64>) -> (tensor<2xf32>, tensor<2xi64>) loc("top.top")
    return %1#0 : tensor<2xf32>
  }

  // More than half of a small GPU's memory.
  func.func @large() -> (tensor<20000xf32> {weir.name = "large"}) attributes {weir.entry = "large"} {
    %v = weir.variable {name = "large", container = "", type = tensor<20000xf32>, initial = dense<2.0> : tensor<20000xf32>} : !weir.resource loc("large")
    %old = weir.variable_read %v : (!weir.resource) -> tensor<20000xf32> loc("large.read")
    %new = weir.neg %old : (tensor<20000xf32>) -> tensor<20000xf32> loc("large.neg")
    %t = weir.variable_assign %v, %new : (!weir.resource, tensor<20000xf32>) -> !weir.token loc("large.assign")
    %now = weir.variable_read %v, %t : (!weir.resource, !weir.token) -> tensor<20000xf32> loc("large.again")
    return %now : tensor<20000xf32>
  }

  // The host's: few integers, an open size.
  func.func @host(%x: tensor<?xf32> {weir.name = "x"}) -> (tensor<i64> {weir.name = "count"}, tensor<?xf32> {weir.name = "kept"}) attributes {weir.entry = "host"} {
    %c = weir.variable {name = "count", container = "", type = tensor<i64>, initial = dense<0> : tensor<i64>} : !weir.resource loc("count")
    %o = weir.variable {name = "open", container = "", type = tensor<?xf32>} : !weir.resource loc("open")
    %one = weir.constant dense<1> : tensor<i64>
    %n = weir.variable_read %c : (!weir.resource) -> tensor<i64> loc("host.read")
    %m = weir.add %n, %one : (tensor<i64>, tensor<i64>) -> tensor<i64> loc("host.count")
    %t0 = weir.variable_assign %c, %m : (!weir.resource, tensor<i64>) -> !weir.token loc("host.assign")
    %t1 = weir.variable_assign %o, %x : (!weir.resource, tensor<?xf32>) -> !weir.token loc("host.open")
    %k = weir.variable_read %o, %t1 : (!weir.resource, !weir.token) -> tensor<?xf32> loc("host.kept")
    return %m, %k : tensor<i64>, tensor<?xf32>
  }
}
