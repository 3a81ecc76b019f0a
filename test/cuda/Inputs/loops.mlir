// Loops and conditionals whose conditions a GPU computes; and those that the step decides.
module {
  // Square roots by Newton's method, until all are near enough, or 40 times.
  func.func @roots(%a: tensor<96xf32> {weir.name = "a"}) -> (tensor<96xf32> {weir.name = "root"}, tensor<i32> {weir.name = "turns"}) attributes {weir.entry = "roots"} {
    %one = weir.constant dense<1.0> : tensor<f32>
    %two = weir.constant dense<2.0> : tensor<f32>
    %near = weir.constant dense<1.0e-4> : tensor<f32>
    %half = weir.constant dense<0.5> : tensor<f32>
    %none = weir.constant dense<0> : tensor<i32>
    %next = weir.constant dense<1> : tensor<i32>
    %most = weir.constant dense<40> : tensor<i32>
    %p = weir.abs %a : (tensor<96xf32>) -> tensor<96xf32> loc("positive")
    %s = weir.add %p, %one : (tensor<96xf32>, tensor<f32>) -> tensor<96xf32> loc("start")
    %end:2 = weir.while %s, %none : (tensor<96xf32>, tensor<i32>) -> (tensor<96xf32>, tensor<i32>) while {
    ^bb0(%x: tensor<96xf32>, %i: tensor<i32>):
      %q = weir.mul %x, %x : (tensor<96xf32>, tensor<96xf32>) -> tensor<96xf32> loc("square")
      %d = weir.sub %q, %s : (tensor<96xf32>, tensor<96xf32>) -> tensor<96xf32> loc("less")
      %m = weir.abs %d : (tensor<96xf32>) -> tensor<96xf32> loc("size")
      %w = weir.reduce %m {axes = array<i64: 0>, keep_dims = false, kind = "max"} : (tensor<96xf32>) -> tensor<f32> loc("worst")
      %far = weir.compare %w, %near {predicate = "gt"} : (tensor<f32>, tensor<f32>) -> tensor<i1> loc("far")
      %few = weir.compare %i, %most {predicate = "lt"} : (tensor<i32>, tensor<i32>) -> tensor<i1> loc("few")
      %go = weir.and %far, %few : (tensor<i1>, tensor<i1>) -> tensor<i1> loc("go")
      weir.yield %go : tensor<i1>
    } do {
    ^bb0(%x: tensor<96xf32>, %i: tensor<i32>):
      %q = weir.div %s, %x : (tensor<96xf32>, tensor<96xf32>) -> tensor<96xf32> loc("quotient")
      %t = weir.add %x, %q : (tensor<96xf32>, tensor<96xf32>) -> tensor<96xf32> loc("sum")
      %y = weir.mul %t, %half : (tensor<96xf32>, tensor<f32>) -> tensor<96xf32> loc("mean")
      %j = weir.add %i, %next : (tensor<i32>, tensor<i32>) -> tensor<i32> loc("count")
      weir.yield %y, %j : tensor<96xf32>, tensor<i32>
    } loc("roots")
    // What the host does with the number, and a GPU with the values.
    %j = weir.add %end#1, %next : (tensor<i32>, tensor<i32>) -> tensor<i32> loc("turns")
    %r = weir.mul %end#0, %two : (tensor<96xf32>, tensor<f32>) -> tensor<96xf32> loc("twice")
    return %r, %j : tensor<96xf32>, tensor<i32>
  }

  // A loop in a loop, with a conditional in it, and a product that a library may do.
  func.func @nested(%a: tensor<32x32xf32> {weir.name = "a"}, %b: tensor<32x32xf32> {weir.name = "b"}) -> (tensor<32x32xf32> {weir.name = "out"}, tensor<2xi32> {weir.name = "turns"}) attributes {weir.entry = "nested"} {
    %none = weir.constant dense<0> : tensor<2xi32>
    %outer = weir.constant dense<[1, 0]> : tensor<2xi32>
    %inner = weir.constant dense<[0, 1]> : tensor<2xi32>
    %half = weir.constant dense<0.5> : tensor<f32>
    %small = weir.constant dense<0.01> : tensor<f32>
    %mean = weir.constant dense<0.25> : tensor<f32>
    %scale = weir.constant dense<0.01> : tensor<f32>
    %end:2 = weir.while %a, %none : (tensor<32x32xf32>, tensor<2xi32>) -> (tensor<32x32xf32>, tensor<2xi32>) while {
    ^bb0(%x: tensor<32x32xf32>, %i: tensor<2xi32>):
      %m = weir.abs %x : (tensor<32x32xf32>) -> tensor<32x32xf32> loc("n.abs")
      %w = weir.reduce %m {axes = array<i64: 0, 1>, keep_dims = false, kind = "max"} : (tensor<32x32xf32>) -> tensor<f32> loc("n.max")
      %go = weir.compare %w, %small {predicate = "gt"} : (tensor<f32>, tensor<f32>) -> tensor<i1> loc("n.go")
      weir.yield %go : tensor<i1>
    } do {
    ^bb0(%x: tensor<32x32xf32>, %i: tensor<2xi32>):
      %p = weir.dot_general %x, %b {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32> loc("n.product")
      %c = weir.mul %p, %scale : (tensor<32x32xf32>, tensor<f32>) -> tensor<32x32xf32> loc("n.scale")
      %sum = weir.reduce %c {axes = array<i64: 0, 1>, keep_dims = false, kind = "sum"} : (tensor<32x32xf32>) -> tensor<f32> loc("n.sum")
      %zero = weir.constant dense<0.0> : tensor<f32>
      %up = weir.compare %sum, %zero {predicate = "gt"} : (tensor<f32>, tensor<f32>) -> tensor<i1> loc("n.up")
      %y = weir.if %up : (tensor<i1>) -> tensor<32x32xf32> then {
        %n = weir.neg %c : (tensor<32x32xf32>) -> tensor<32x32xf32> loc("n.neg")
        weir.yield %n : tensor<32x32xf32>
      } else {
        %n = weir.mul %c, %half : (tensor<32x32xf32>, tensor<f32>) -> tensor<32x32xf32> loc("n.half")
        weir.yield %n : tensor<32x32xf32>
      } loc("n.if")
      %k = weir.add %i, %outer : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32> loc("n.outer")
      %z:2 = weir.while %y, %k : (tensor<32x32xf32>, tensor<2xi32>) -> (tensor<32x32xf32>, tensor<2xi32>) while {
      ^bb0(%u: tensor<32x32xf32>, %v: tensor<2xi32>):
        %m = weir.abs %u : (tensor<32x32xf32>) -> tensor<32x32xf32> loc("n.inner_abs")
        %w = weir.reduce %m {axes = array<i64: 0, 1>, keep_dims = false, kind = "max"} : (tensor<32x32xf32>) -> tensor<f32> loc("n.inner_max")
        %go = weir.compare %w, %mean {predicate = "gt"} : (tensor<f32>, tensor<f32>) -> tensor<i1> loc("n.inner_go")
        weir.yield %go : tensor<i1>
      } do {
      ^bb0(%u: tensor<32x32xf32>, %v: tensor<2xi32>):
        %h = weir.mul %u, %half : (tensor<32x32xf32>, tensor<f32>) -> tensor<32x32xf32> loc("n.inner_half")
        %l = weir.add %v, %inner : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32> loc("n.inner")
        weir.yield %h, %l : tensor<32x32xf32>, tensor<2xi32>
      } loc("n.inner_loop")
      weir.yield %z#0, %z#1 : tensor<32x32xf32>, tensor<2xi32>
    } loc("n.loop")
    return %end#0, %end#1 : tensor<32x32xf32>, tensor<2xi32>
  }

  // One side or the other, by a sum and a maximum.
  func.func @sides(%a: tensor<96xf32> {weir.name = "a"}) -> (tensor<96xf32> {weir.name = "out"}) attributes {weir.entry = "sides"} {
    %zero = weir.constant dense<0.0> : tensor<f32>
    %ten = weir.constant dense<10.0> : tensor<f32>
    %e = weir.sin %a : (tensor<96xf32>) -> tensor<96xf32> loc("s.sin")
    %s = weir.reduce %e {axes = array<i64: 0>, keep_dims = false, kind = "sum"} : (tensor<96xf32>) -> tensor<f32> loc("s.sum")
    %m = weir.reduce %e {axes = array<i64: 0>, keep_dims = false, kind = "max"} : (tensor<96xf32>) -> tensor<f32> loc("s.max")
    %up = weir.compare %s, %zero {predicate = "gt"} : (tensor<f32>, tensor<f32>) -> tensor<i1> loc("s.up")
    %low = weir.compare %m, %ten {predicate = "lt"} : (tensor<f32>, tensor<f32>) -> tensor<i1> loc("s.low")
    %go = weir.and %up, %low : (tensor<i1>, tensor<i1>) -> tensor<i1> loc("s.go")
    %r = weir.if %go : (tensor<i1>) -> tensor<96xf32> then {
      %t = weir.tanh %e : (tensor<96xf32>) -> tensor<96xf32> loc("s.tanh")
      %w = weir.reduce %t {axes = array<i64: 0>, keep_dims = true, kind = "sum"} : (tensor<96xf32>) -> tensor<1xf32> loc("s.total")
      %u = weir.add %t, %w : (tensor<96xf32>, tensor<1xf32>) -> tensor<96xf32> loc("s.more")
      weir.yield %u : tensor<96xf32>
    } else {
      %t = weir.exp %e : (tensor<96xf32>) -> tensor<96xf32> loc("s.exp")
      weir.yield %t : tensor<96xf32>
    } loc("s.if")
    %n = weir.neg %r : (tensor<96xf32>) -> tensor<96xf32> loc("s.neg")
    return %n : tensor<96xf32>
  }

  // Counts, which the step does: it waits for nothing.
  func.func @counts(%a: tensor<96xf32> {weir.name = "a"}) -> (tensor<96xf32> {weir.name = "out"}) attributes {weir.entry = "counts"} {
    %zero = weir.constant dense<0> : tensor<i32>
    %one = weir.constant dense<1> : tensor<i32>
    %five = weir.constant dense<5> : tensor<i32>
    %end:2 = weir.while %five, %a : (tensor<i32>, tensor<96xf32>) -> (tensor<i32>, tensor<96xf32>) while {
    ^bb0(%i: tensor<i32>, %x: tensor<96xf32>):
      %go = weir.compare %i, %zero {predicate = "gt"} : (tensor<i32>, tensor<i32>) -> tensor<i1> loc("c.go")
      weir.yield %go : tensor<i1>
    } do {
    ^bb0(%i: tensor<i32>, %x: tensor<96xf32>):
      %j = weir.sub %i, %one : (tensor<i32>, tensor<i32>) -> tensor<i32> loc("c.next")
      %t = weir.tanh %x : (tensor<96xf32>) -> tensor<96xf32> loc("c.tanh")
      weir.yield %j, %t : tensor<i32>, tensor<96xf32>
    } loc("c.loop")
    return %end#1 : tensor<96xf32>
  }

  // Looks up lines until one is not there: the error ends the loop, whose condition would not.
  func.func @fails(%a: tensor<30x8xf32> {weir.name = "a"}) -> (tensor<30x8xf32> {weir.name = "out"}) attributes {weir.entry = "fails"} {
    %one = weir.constant dense<1> : tensor<i32>
    %i = weir.constant dense<25> : tensor<30xi32>
    %limit = weir.constant dense<1.0e30> : tensor<f32>
    %end:2 = weir.while %a, %i : (tensor<30x8xf32>, tensor<30xi32>) -> (tensor<30x8xf32>, tensor<30xi32>) while {
    ^bb0(%x: tensor<30x8xf32>, %k: tensor<30xi32>):
      %w = weir.reduce %x {axes = array<i64: 0, 1>, keep_dims = false, kind = "max"} : (tensor<30x8xf32>) -> tensor<f32> loc("f.max")
      %go = weir.compare %w, %limit {predicate = "lt"} : (tensor<f32>, tensor<f32>) -> tensor<i1> loc("f.go")
      weir.yield %go : tensor<i1>
    } do {
    ^bb0(%x: tensor<30x8xf32>, %k: tensor<30xi32>):
      %y = weir.gather %x, %k {axis = 0 : i64, batch_dims = 0 : i64, wrap_negative = false} : (tensor<30x8xf32>, tensor<30xi32>) -> tensor<30x8xf32> loc("f.lookup")
      %n = weir.add %k, %one : (tensor<30xi32>, tensor<i32>) -> tensor<30xi32> loc("f.next")
      weir.yield %y, %n : tensor<30x8xf32>, tensor<30xi32>
    } loc("f.loop")
    return %end#0 : tensor<30x8xf32>
  }
  // Lines so long that they are reduced in parts, whose results lie in scratch memory.
  func.func @parts(%a: tensor<2x40000xf32> {weir.name = "a"}) -> (tensor<2x40000xf32> {weir.name = "out"}) attributes {weir.entry = "parts"} {
    %half = weir.constant dense<0.5> : tensor<f32>
    %near = weir.constant dense<1.0e-1> : tensor<f32>
    %p = weir.abs %a : (tensor<2x40000xf32>) -> tensor<2x40000xf32> loc("parts.begin")
    %end = weir.while %p : (tensor<2x40000xf32>) -> (tensor<2x40000xf32>) while {
    ^bb0(%x: tensor<2x40000xf32>):
      %l = weir.reduce %x {axes = array<i64: 0, 1>, keep_dims = false, kind = "max"} : (tensor<2x40000xf32>) -> tensor<f32> loc("parts.largest")
      %far = weir.compare %l, %near {predicate = "gt"} : (tensor<f32>, tensor<f32>) -> tensor<i1> loc("parts.far")
      weir.yield %far : tensor<i1>
    } do {
    ^bb0(%x: tensor<2x40000xf32>):
      %y = weir.mul %x, %half : (tensor<2x40000xf32>, tensor<f32>) -> tensor<2x40000xf32> loc("parts.half")
      weir.yield %y : tensor<2x40000xf32>
    } loc("parts")
    return %end : tensor<2x40000xf32>
  }
  // A variable that nothing inside assigns.
  func.func @reads(%a: tensor<96xf32> {weir.name = "a"}) -> (tensor<96xf32> {weir.name = "out"}) attributes {weir.entry = "reads"} {
    %half = weir.constant dense<0.5> : tensor<f32>
    %near = weir.constant dense<1.0e-1> : tensor<f32>
    %v = weir.variable {name = "factor", container = "", type = tensor<96xf32>, initial = dense<0.75> : tensor<96xf32>} : !weir.resource loc("factor")
    %p = weir.abs %a : (tensor<96xf32>) -> tensor<96xf32> loc("reads.begin")
    %end = weir.while %p : (tensor<96xf32>) -> (tensor<96xf32>) while {
    ^bb0(%x: tensor<96xf32>):
      %l = weir.reduce %x {axes = array<i64: 0>, keep_dims = false, kind = "max"} : (tensor<96xf32>) -> tensor<f32> loc("reads.largest")
      %far = weir.compare %l, %near {predicate = "gt"} : (tensor<f32>, tensor<f32>) -> tensor<i1> loc("reads.far")
      weir.yield %far : tensor<i1>
    } do {
    ^bb0(%x: tensor<96xf32>):
      %y = weir.mul %x, %half : (tensor<96xf32>, tensor<f32>) -> tensor<96xf32> loc("reads.half")
      %f = weir.variable_read %v : (!weir.resource) -> tensor<96xf32> loc("reads.factor")
      %z = weir.mul %y, %f : (tensor<96xf32>, tensor<96xf32>) -> tensor<96xf32> loc("reads.scaled")
      weir.yield %z : tensor<96xf32>
    } loc("reads")
    return %end : tensor<96xf32>
  }
  // One that is assigned, and sizes that are open: the host decides.
  func.func @assigns(%a: tensor<96xf32> {weir.name = "a"}) -> (tensor<96xf32> {weir.name = "out"}) attributes {weir.entry = "assigns"} {
    %half = weir.constant dense<0.5> : tensor<f32>
    %near = weir.constant dense<1.0e-1> : tensor<f32>
    %v = weir.variable {name = "factor", container = "", type = tensor<96xf32>, initial = dense<0.75> : tensor<96xf32>} : !weir.resource loc("factor")
    %p = weir.abs %a : (tensor<96xf32>) -> tensor<96xf32> loc("assigns.begin")
    %end = weir.while %p : (tensor<96xf32>) -> (tensor<96xf32>) while {
    ^bb0(%x: tensor<96xf32>):
      %l = weir.reduce %x {axes = array<i64: 0>, keep_dims = false, kind = "max"} : (tensor<96xf32>) -> tensor<f32> loc("assigns.largest")
      %far = weir.compare %l, %near {predicate = "gt"} : (tensor<f32>, tensor<f32>) -> tensor<i1> loc("assigns.far")
      weir.yield %far : tensor<i1>
    } do {
    ^bb0(%x: tensor<96xf32>):
      %y = weir.mul %x, %half : (tensor<96xf32>, tensor<f32>) -> tensor<96xf32> loc("assigns.half")
      %t = weir.variable_assign %v, %y : (!weir.resource, tensor<96xf32>) -> !weir.token loc("assigns.factor")
      weir.yield %y : tensor<96xf32>
    } loc("assigns")
    return %end : tensor<96xf32>
  }
  func.func @grows(%a: tensor<?xf32> {weir.name = "a"}) -> (tensor<?xf32> {weir.name = "out"}) attributes {weir.entry = "grows"} {
    %half = weir.constant dense<0.5> : tensor<f32>
    %near = weir.constant dense<1.0e-1> : tensor<f32>
    %p = weir.abs %a : (tensor<?xf32>) -> tensor<?xf32> loc("grows.begin")
    %end = weir.while %p : (tensor<?xf32>) -> (tensor<?xf32>) while {
    ^bb0(%x: tensor<?xf32>):
      %l = weir.reduce %x {axes = array<i64: 0>, keep_dims = false, kind = "max"} : (tensor<?xf32>) -> tensor<f32> loc("grows.largest")
      %far = weir.compare %l, %near {predicate = "gt"} : (tensor<f32>, tensor<f32>) -> tensor<i1> loc("grows.far")
      weir.yield %far : tensor<i1>
    } do {
    ^bb0(%x: tensor<?xf32>):
      %y = weir.mul %x, %half : (tensor<?xf32>, tensor<f32>) -> tensor<?xf32> loc("grows.half")
      weir.yield %y : tensor<?xf32>
    } loc("grows")
    return %end : tensor<?xf32>
  }
}
