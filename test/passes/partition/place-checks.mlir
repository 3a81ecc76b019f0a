// A node that compares sizes before it computes is where its kernels are: the device's step, which is
// the host's, checks them. What hangs on the device's data the host has to read.
// REQUIRES: weir-opt
// RUN: weir-opt %s "--weir-place=placer=on:/device:GPU:0" --split-input-file | FileCheck %s

// CHECK-LABEL: @sizes
// CHECK: weir.compare {{.*}}weir.device_index = 1
// CHECK: weir.assert {{.*}}weir.device_index = 1
// CHECK: weir.mul {{.*}}weir.device_index = 1
module attributes {weir.cluster = {devices = [{name = "/job:localhost/replica:0/task:0/device:CPU:0"}, {name = "/job:localhost/replica:0/task:0/device:GPU:0"}], links = []}} {
  func.func @sizes(%x: tensor<?x64xf32>, %y: tensor<?x64xf32>) -> tensor<?x64xf32> {
    %none = weir.constant dense<> : tensor<0xi64>
    %zero = weir.constant dense<0> : tensor<1xi64>
    %one = weir.constant dense<1> : tensor<1xi64>
    %0 = weir.shape_of %x {index_type = i64} : (tensor<?x64xf32>) -> tensor<2xi64> loc("n")
    %1 = weir.shape_of %y {index_type = i64} : (tensor<?x64xf32>) -> tensor<2xi64> loc("n")
    %2 = weir.slice %0, %zero, %one, %one {axes = array<i64: 0>, strict = false} : (tensor<2xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64> loc("n")
    %3 = weir.slice %1, %zero, %one, %one {axes = array<i64: 0>, strict = false} : (tensor<2xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64> loc("n")
    %4 = weir.compare %2, %3 {predicate = "eq"} : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi1> loc("n")
    %5 = weir.reshape %4, %none : (tensor<1xi1>, tensor<0xi64>) -> tensor<i1> loc("n")
    %6 = weir.assert %5 {code = 3 : i64, message = "sizes differ"} : (tensor<i1>) -> !weir.token loc("n")
    %7 = weir.mul %x, %y : (tensor<?x64xf32>, tensor<?x64xf32>) -> tensor<?x64xf32> loc("n")
    return %7 : tensor<?x64xf32>
  }
}

// -----

// CHECK-LABEL: @data
// CHECK: weir.compare {{.*}}weir.device_index = 0
// CHECK: weir.assert {{.*}}weir.device_index = 0
module attributes {weir.cluster = {devices = [{name = "/job:localhost/replica:0/task:0/device:CPU:0"}, {name = "/job:localhost/replica:0/task:0/device:GPU:0"}], links = []}} {
  func.func @data(%x: tensor<4096xf32>, %y: tensor<4096xf32>) -> tensor<4096xf32> {
    %0 = weir.compare %x, %y {predicate = "le"} : (tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xi1> loc("n")
    %1 = weir.assert %0 {code = 3 : i64, message = "too large"} : (tensor<4096xi1>) -> !weir.token loc("n")
    %2 = weir.mul %x, %y : (tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32> loc("m")
    return %2 : tensor<4096xf32>
  }
}
