// Launches become rows of a table, and a step's code does not grow with them: those of which
// all is known, and those of sizes known at run time with the memory that is asked for in
// between. Fewer than eight are calls.
//
// REQUIRES: weir-run
// RUN: rm -rf %t && mkdir %t
// RUN: weirc %s --stop-after=codegen -o %t/m.ll && FileCheck %s < %t/m.ll
// RUN: %python %S/Inputs/whole_numbers.py %t/one.npy 1 8 8
// RUN: %python %S/Inputs/whole_numbers.py %t/two.npy 2 8 8
// RUN: %python %S/Inputs/whole_numbers.py %t/zero.npy 0 8 8
// RUN: weir-run %s --run=many --input=x=%t/one.npy --input=d=%t/two.npy | FileCheck %s --check-prefix=RESULT
// What fails in a row ends the step, and says where.
// RUN: not weir-run %s --run=many --input=x=%t/one.npy --input=d=%t/zero.npy 2>&1 | FileCheck %s --check-prefix=ZERO

// A row: range, grain, number of the kernel, buffers.
// CHECK-DAG: @{{.*}}_launches.rows = internal unnamed_addr constant [9 x { i64, i64, i32, i32 }]
// CHECK-DAG: @{{.*}}_launches.buffers = internal unnamed_addr constant [19 x i64]
// CHECK-DAG: @{{.*}}_launches.kernels = internal unnamed_addr constant
// CHECK: define internal {{.*}}_step_k_many(
// CHECK-NOT: call {{.*}}@weir_rt_parallel
// CHECK: call {{.*}}_launches(
// The result's own memory is asked for in front of what writes it.
// CHECK: call {{.*}}@weir_rt_fetch
// CHECK: call {{.*}}@weir_rt_parallel
// CHECK-NOT: call {{.*}}@weir_rt_parallel
// CHECK: define internal {{.*}}_step_k_few(
// CHECK-NOT: _launches(
// CHECK-COUNT-3: call {{.*}}@weir_rt_parallel
// Memory of sizes that follow from the feeds' is asked for once, in front.
// CHECK: define internal {{.*}}_step_k_open(
// CHECK: call {{.*}}@weir_rt_alloc
// CHECK-NOT: call {{.*}}@weir_rt_parallel
// CHECK-NOT: call {{.*}}@weir_rt_alloc
// CHECK: call {{.*}}_open_launches(
// CHECK: call {{.*}}@weir_rt_fetch
// CHECK: call {{.*}}@weir_rt_parallel
// CHECK-NOT: call {{.*}}@weir_rt_parallel

// RESULT: y: i32 8x8 [0, 2, 9, 26, 60, 122, 226, 390, …]
// ZERO: the_division

module {
  func.func @many(%x: tensor<8x8xi32> {weir.name = "x"}, %d: tensor<8x8xi32> {weir.name = "d"}) -> (tensor<8x8xi32> {weir.name = "y"}) attributes {weir.entry = "many"} {
    %0 = weir.cumulative %x {kind = "sum", axis = 0 : i64, exclusive = false, reverse = false} : (tensor<8x8xi32>) -> tensor<8x8xi32>
    %1 = weir.cumulative %0 {kind = "sum", axis = 1 : i64, exclusive = false, reverse = false} : (tensor<8x8xi32>) -> tensor<8x8xi32>
    %2 = weir.cumulative %1 {kind = "sum", axis = 0 : i64, exclusive = false, reverse = false} : (tensor<8x8xi32>) -> tensor<8x8xi32>
    %3 = weir.cumulative %2 {kind = "sum", axis = 1 : i64, exclusive = false, reverse = false} : (tensor<8x8xi32>) -> tensor<8x8xi32>
    %4 = weir.cumulative %3 {kind = "sum", axis = 0 : i64, exclusive = false, reverse = false} : (tensor<8x8xi32>) -> tensor<8x8xi32>
    %5 = weir.cumulative %4 {kind = "sum", axis = 1 : i64, exclusive = false, reverse = false} : (tensor<8x8xi32>) -> tensor<8x8xi32>
    %q = weir.div %5, %d : (tensor<8x8xi32>, tensor<8x8xi32>) -> tensor<8x8xi32> loc("the_division")
    %6 = weir.cumulative %q {kind = "sum", axis = 0 : i64, exclusive = false, reverse = false} : (tensor<8x8xi32>) -> tensor<8x8xi32>
    %7 = weir.cumulative %6 {kind = "sum", axis = 1 : i64, exclusive = false, reverse = false} : (tensor<8x8xi32>) -> tensor<8x8xi32>
    %8 = weir.cumulative %7 {kind = "sum", axis = 0 : i64, exclusive = false, reverse = false} : (tensor<8x8xi32>) -> tensor<8x8xi32>
    %9 = weir.cumulative %8 {kind = "sum", axis = 1 : i64, exclusive = false, reverse = false} : (tensor<8x8xi32>) -> tensor<8x8xi32>
    return %9 : tensor<8x8xi32>
  }
  func.func @few(%x: tensor<8x8xi32> {weir.name = "x"}) -> (tensor<8x8xi32> {weir.name = "y"}) attributes {weir.entry = "few"} {
    %0 = weir.cumulative %x {kind = "sum", axis = 0 : i64, exclusive = false, reverse = false} : (tensor<8x8xi32>) -> tensor<8x8xi32>
    %1 = weir.cumulative %0 {kind = "sum", axis = 1 : i64, exclusive = false, reverse = false} : (tensor<8x8xi32>) -> tensor<8x8xi32>
    %2 = weir.cumulative %1 {kind = "sum", axis = 0 : i64, exclusive = false, reverse = false} : (tensor<8x8xi32>) -> tensor<8x8xi32>
    return %2 : tensor<8x8xi32>
  }
  func.func @open(%x: tensor<?x8xi32> {weir.name = "x"}) -> (tensor<?x8xi32> {weir.name = "y"}) attributes {weir.entry = "open"} {
    %0 = weir.cumulative %x {kind = "sum", axis = 0 : i64, exclusive = false, reverse = false} : (tensor<?x8xi32>) -> tensor<?x8xi32>
    %1 = weir.cumulative %0 {kind = "sum", axis = 1 : i64, exclusive = false, reverse = false} : (tensor<?x8xi32>) -> tensor<?x8xi32>
    %2 = weir.cumulative %1 {kind = "sum", axis = 0 : i64, exclusive = false, reverse = false} : (tensor<?x8xi32>) -> tensor<?x8xi32>
    %3 = weir.cumulative %2 {kind = "sum", axis = 1 : i64, exclusive = false, reverse = false} : (tensor<?x8xi32>) -> tensor<?x8xi32>
    %4 = weir.cumulative %3 {kind = "sum", axis = 0 : i64, exclusive = false, reverse = false} : (tensor<?x8xi32>) -> tensor<?x8xi32>
    %5 = weir.cumulative %4 {kind = "sum", axis = 1 : i64, exclusive = false, reverse = false} : (tensor<?x8xi32>) -> tensor<?x8xi32>
    %6 = weir.cumulative %5 {kind = "sum", axis = 0 : i64, exclusive = false, reverse = false} : (tensor<?x8xi32>) -> tensor<?x8xi32>
    %7 = weir.cumulative %6 {kind = "sum", axis = 1 : i64, exclusive = false, reverse = false} : (tensor<?x8xi32>) -> tensor<?x8xi32>
    %8 = weir.cumulative %7 {kind = "sum", axis = 0 : i64, exclusive = false, reverse = false} : (tensor<?x8xi32>) -> tensor<?x8xi32>
    %9 = weir.cumulative %8 {kind = "sum", axis = 1 : i64, exclusive = false, reverse = false} : (tensor<?x8xi32>) -> tensor<?x8xi32>
    return %9 : tensor<?x8xi32>
  }
}
