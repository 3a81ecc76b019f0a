// RUN: weir-opt %s --split-input-file --verify-partitioned --verify-diagnostics

// Each module breaks one rule; the last breaks none.

module attributes {weir_plan.devices = ["/job:localhost/replica:0/task:0/device:CPU:0"]} {
  // expected-error @below {{verify-partitioned: a function of no device}}
  func.func @nowhere(%x: tensor<2xf32>) -> tensor<2xf32> attributes {weir.device_index = 1 : i64} {
    return %x : tensor<2xf32>
  }
}

// -----

module attributes {weir_plan.devices = ["/job:a/task:0/device:CPU:0", "/job:a/task:1/device:CPU:0"]} {
  func.func @other(%x: tensor<2xf32>) -> tensor<2xf32> attributes {weir.device_index = 0 : i64} {
    // expected-error @below {{verify-partitioned: an operation of device 1 in a function of device 0}}
    %0 = weir.neg %x {weir.device_index = 1 : i64} : (tensor<2xf32>) -> tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}

// -----

module attributes {weir_plan.devices = ["/job:a/task:0/device:CPU:0", "/job:a/task:1/device:CPU:0"],
                   weir_plan.edges = [{destination = 1 : i64, name = "x:0;a;b", source = 0 : i64}]} {
  func.func @lost(%x: tensor<2xf32>) attributes {weir.device_index = 0 : i64} {
    // expected-error @below {{verify-partitioned: edge 0 is sent and never received}}
    weir.send %x {edge = 0 : i64, key = "x:0;a;b"} : (tensor<2xf32>) -> ()
    return
  }
}

// -----

module attributes {weir_plan.devices = ["/job:a/task:0/device:CPU:0", "/job:a/task:1/device:CPU:0"],
                   weir_plan.edges = [{destination = 1 : i64, name = "x:0;a;b", source = 0 : i64}]} {
  func.func @waits() -> tensor<2xf32> attributes {weir.device_index = 1 : i64} {
    // expected-error @below {{verify-partitioned: edge 0 is received and never sent}}
    %0 = weir.receive {edge = 0 : i64, key = "x:0;a;b"} : tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}

// -----

module attributes {weir_plan.devices = ["/job:a/task:0/device:CPU:0", "/job:a/task:1/device:CPU:0"],
                   weir_plan.edges = []} {
  func.func @from(%x: tensor<2xf32>) attributes {weir.device_index = 0 : i64} {
    // expected-error @below {{verify-partitioned: edge 0 is not in weir_plan.edges}}
    weir.send %x {edge = 0 : i64, key = "x:0;a;b"} : (tensor<2xf32>) -> ()
    return
  }
  func.func @to() -> tensor<2xf32> attributes {weir.device_index = 1 : i64} {
    %0 = weir.receive {edge = 0 : i64, key = "x:0;a;b"} : tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}

// -----

module attributes {weir_plan.devices = ["/job:a/task:0/device:CPU:0", "/job:a/task:1/device:CPU:0"],
                   weir_plan.edges = [{destination = 1 : i64, name = "x:0;a;b", source = 0 : i64}]} {
  func.func @from(%x: tensor<2xf32>) attributes {weir.device_index = 0 : i64} {
    weir.send %x {edge = 0 : i64, key = "x:0;a;b"} : (tensor<2xf32>) -> ()
    // expected-error @below {{verify-partitioned: edge 0 is sent twice}}
    weir.send %x {edge = 0 : i64, key = "x:0;a;b"} : (tensor<2xf32>) -> ()
    return
  }
  func.func @to() -> tensor<3xf32> attributes {weir.device_index = 1 : i64} {
    // expected-error @below {{verify-partitioned: edge 0 is received as another type than it is sent}}
    %0 = weir.receive {edge = 0 : i64, key = "x:0;a;b"} : tensor<3xf32>
    return %0 : tensor<3xf32>
  }
}

// -----

module attributes {weir_plan.devices = ["/job:a/task:0/device:CPU:0", "/job:a/task:1/device:CPU:0"],
                   weir_plan.edges = [{destination = 0 : i64, name = "x:0;b;a", source = 1 : i64}]} {
  func.func @from(%x: tensor<2xf32>) attributes {weir.device_index = 0 : i64} {
    // expected-error @below {{verify-partitioned: edge 0 has its source on device 1, and this is on device 0}}
    weir.send %x {edge = 0 : i64, key = "x:0;b;a"} : (tensor<2xf32>) -> ()
    return
  }
  func.func @to() -> tensor<2xf32> attributes {weir.device_index = 0 : i64} {
    %0 = weir.receive {edge = 0 : i64, key = "x:0;b;a"} : tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}

// -----

module attributes {weir_plan.devices = ["/job:a/task:0/device:CPU:0", "/job:a/task:1/device:CPU:0"],
                   weir_plan.edges = [{destination = 1 : i64, name = "x:0;a;b", source = 0 : i64}]} {
  func.func @from(%c: tensor<i1>, %x: tensor<2xf32>, %y: tensor<3xf32>) attributes {weir.device_index = 0 : i64} {
    weir.if %c : (tensor<i1>) -> () then {
      weir.send %x {edge = 0 : i64, key = "x:0;a;b"} : (tensor<2xf32>) -> ()
      weir.yield
    } else {
      // expected-error @below {{verify-partitioned: edge 0 is sent with several types}}
      weir.send %y {edge = 0 : i64, key = "x:0;a;b"} : (tensor<3xf32>) -> ()
      weir.yield
    }
    return
  }
  func.func @to() -> tensor<2xf32> attributes {weir.device_index = 1 : i64} {
    %0 = weir.receive {edge = 0 : i64, key = "x:0;a;b"} : tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}

// -----

module attributes {weir_plan.devices = ["/job:a/task:0/device:CPU:0", "/job:a/task:1/device:CPU:0"],
                   weir_plan.edges = [{destination = 1 : i64, name = "x:0;a;b", source = 0 : i64}]} {
  func.func @from(%x: tensor<2xf32>) attributes {weir.device_index = 0 : i64} {
    weir.send %x {edge = 0 : i64, key = "x:0;a;b"} : (tensor<2xf32>) -> ()
    return
  }
  func.func @to() -> tensor<2xf32> attributes {weir.device_index = 0 : i64} {
    // expected-error @below {{verify-partitioned: edge 0 has its destination on device 1, and this is on device 0}}
    %0 = weir.receive {edge = 0 : i64, key = "x:0;a;b"} : tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}

// -----

module attributes {weir_plan.devices = ["/job:a/task:0/device:CPU:0", "/job:a/task:1/device:CPU:0"],
                   weir_plan.edges = [{destination = 1 : i64, name = "x:0;a;b", source = 0 : i64}]} {
  func.func @from(%x: tensor<2xf32>) attributes {weir.device_index = 0 : i64} {
    weir.send %x {edge = 0 : i64, key = "x:0;a;b"} : (tensor<2xf32>) -> ()
    return
  }
  func.func @to() -> tensor<2xf32> attributes {weir.device_index = 1 : i64} {
    %0 = weir.receive {edge = 0 : i64, key = "x:0;a;b"} : tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}
