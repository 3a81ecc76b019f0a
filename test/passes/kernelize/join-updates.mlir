// What updates variables: one kernel of an optimizer's values and the weight, and one of several
// small variables.
// REQUIRES: weir-opt
// RUN: weir-opt --weir-kernelize %s | FileCheck %s

// The momentum is a result of the kernel that computes the weight with it. Its assignment waits.
// CHECK-LABEL: @momentum
// CHECK: %[[K:.*]]:2 = weir_plan.launch @
// CHECK-NOT: weir_plan.launch
// CHECK-DAG: variable_assign %{{.*}}, %[[K]]#0
// CHECK-DAG: variable_assign %{{.*}}, %[[K]]#1
// CHECK-NOT: weir_plan.launch
// CHECK: return
func.func @momentum(%g: tensor<64x64xf32>) attributes {weir.device_index = 0 : i64} {
  %m = weir.variable {container = "", name = "m", type = tensor<64x64xf32>} : !weir.resource
  %w = weir.variable {container = "", name = "w", type = tensor<64x64xf32>} : !weir.resource
  %0 = weir.variable_read %m : (!weir.resource) -> tensor<64x64xf32>
  %1 = weir.variable_read %w : (!weir.resource) -> tensor<64x64xf32>
  %2 = weir.add %0, %g : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %3 = weir.variable_assign %m, %2 : (!weir.resource, tensor<64x64xf32>) -> !weir.token
  %4 = weir.sub %1, %2 : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %5 = weir.variable_assign %w, %4 : (!weir.resource, tensor<64x64xf32>) -> !weir.token
  return
}

// What two results of it read, and nobody else, is computed inside.
// CHECK-LABEL: @clipped
// CHECK-COUNT-1: weir_plan.launch
// CHECK-NOT: weir_plan.launch
// CHECK: return
func.func @clipped(%g: tensor<64x64xf32>) attributes {weir.device_index = 0 : i64} {
  %m = weir.variable {container = "", name = "m", type = tensor<64x64xf32>} : !weir.resource
  %w = weir.variable {container = "", name = "w", type = tensor<64x64xf32>} : !weir.resource
  %0 = weir.variable_read %m : (!weir.resource) -> tensor<64x64xf32>
  %1 = weir.variable_read %w : (!weir.resource) -> tensor<64x64xf32>
  %c = weir.exp %g : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %2 = weir.add %0, %c : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %3 = weir.variable_assign %m, %2 : (!weir.resource, tensor<64x64xf32>) -> !weir.token
  %4 = weir.mul %2, %c : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %5 = weir.sub %1, %4 : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %6 = weir.variable_assign %w, %5 : (!weir.resource, tensor<64x64xf32>) -> !weir.token
  return
}

// The new value is read before the weight is computed: it must be there by then.
// CHECK-LABEL: @read_between
// CHECK: %[[M:.*]] = weir_plan.launch
// CHECK: variable_assign %{{.*}}, %[[M]]
// CHECK: variable_read
// CHECK: weir_plan.launch
// CHECK: return
func.func @read_between(%g: tensor<64x64xf32>) -> tensor<64x64xf32> attributes {weir.device_index = 0 : i64} {
  %m = weir.variable {container = "", name = "m", type = tensor<64x64xf32>} : !weir.resource
  %w = weir.variable {container = "", name = "w", type = tensor<64x64xf32>} : !weir.resource
  %0 = weir.variable_read %m : (!weir.resource) -> tensor<64x64xf32>
  %1 = weir.variable_read %w : (!weir.resource) -> tensor<64x64xf32>
  %2 = weir.add %0, %g : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %3 = weir.variable_assign %m, %2 : (!weir.resource, tensor<64x64xf32>) -> !weir.token
  %again = weir.variable_read %m : (!weir.resource) -> tensor<64x64xf32>
  %4 = weir.sub %1, %2 : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %5 = weir.variable_assign %w, %4 : (!weir.resource, tensor<64x64xf32>) -> !weir.token
  return %again : tensor<64x64xf32>
}

// What ends the step between the two leaves the first one assigned.
// CHECK-LABEL: @checked_between
// CHECK: %[[M:.*]] = weir_plan.launch
// CHECK: variable_assign %{{.*}}, %[[M]]
// CHECK: weir.assert
// CHECK: weir_plan.launch
// CHECK: return
func.func @checked_between(%g: tensor<64x64xf32>, %good: tensor<i1>) attributes {weir.device_index = 0 : i64} {
  %m = weir.variable {container = "", name = "m", type = tensor<64x64xf32>} : !weir.resource
  %w = weir.variable {container = "", name = "w", type = tensor<64x64xf32>} : !weir.resource
  %0 = weir.variable_read %m : (!weir.resource) -> tensor<64x64xf32>
  %1 = weir.variable_read %w : (!weir.resource) -> tensor<64x64xf32>
  %2 = weir.add %0, %g : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %3 = weir.variable_assign %m, %2 : (!weir.resource, tensor<64x64xf32>) -> !weir.token
  %t = weir.assert %good {message = "no", code = 3 : i64} : (tensor<i1>) -> !weir.token
  %4 = weir.sub %1, %2 : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %5 = weir.variable_assign %w, %4 : (!weir.resource, tensor<64x64xf32>) -> !weir.token
  return
}

// Updates of small variables are one launch, which goes through them one behind the other.
// CHECK-LABEL: @small
// CHECK: %[[K:.*]]:3 = weir_plan.launch @
// CHECK-NOT: weir_plan.launch
// CHECK: return
func.func @small(%g: tensor<8xf32>, %h: tensor<3x5xf32>) attributes {weir.device_index = 0 : i64} {
  %m = weir.variable {container = "", name = "m", type = tensor<8xf32>} : !weir.resource
  %w = weir.variable {container = "", name = "w", type = tensor<8xf32>} : !weir.resource
  %v = weir.variable {container = "", name = "v", type = tensor<3x5xf32>} : !weir.resource
  %0 = weir.variable_read %m : (!weir.resource) -> tensor<8xf32>
  %1 = weir.variable_read %w : (!weir.resource) -> tensor<8xf32>
  %old = weir.variable_read %v : (!weir.resource) -> tensor<3x5xf32>
  %2 = weir.add %0, %g : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %3 = weir.variable_assign %m, %2 : (!weir.resource, tensor<8xf32>) -> !weir.token
  %4 = weir.sub %1, %2 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %5 = weir.variable_assign %w, %4 : (!weir.resource, tensor<8xf32>) -> !weir.token
  %6 = weir.sub %old, %h : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
  %7 = weir.variable_assign %v, %6 : (!weir.resource, tensor<3x5xf32>) -> !weir.token
  return
}

// Large ones are as well apart; and what reads another's result is no part of its kernel.
// CHECK-LABEL: @large
// CHECK-COUNT-2: weir_plan.launch
// CHECK-NOT: weir_plan.launch
// CHECK: return
func.func @large(%g: tensor<64x64xf32>, %h: tensor<64x65xf32>) attributes {weir.device_index = 0 : i64} {
  %w = weir.variable {container = "", name = "w", type = tensor<64x64xf32>} : !weir.resource
  %v = weir.variable {container = "", name = "v", type = tensor<64x65xf32>} : !weir.resource
  %1 = weir.variable_read %w : (!weir.resource) -> tensor<64x64xf32>
  %old = weir.variable_read %v : (!weir.resource) -> tensor<64x65xf32>
  %4 = weir.sub %1, %g : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %5 = weir.variable_assign %w, %4 : (!weir.resource, tensor<64x64xf32>) -> !weir.token
  %6 = weir.sub %old, %h : (tensor<64x65xf32>, tensor<64x65xf32>) -> tensor<64x65xf32>
  %7 = weir.variable_assign %v, %6 : (!weir.resource, tensor<64x65xf32>) -> !weir.token
  return
}

// Sums of squares are one launch, but for the last one, which the norm of all is computed with; the
// update waits for that.
// CHECK-LABEL: @norm
// CHECK: %[[S:.*]]:2 = weir_plan.launch @
// CHECK: %[[N:.*]] = weir_plan.launch @{{.*}}(%{{.*}}, %[[S]]#{{[01]}}, %[[S]]#{{[01]}})
// CHECK: weir_plan.launch @{{.*}}%[[N]]
// CHECK-NOT: weir_plan.launch
// CHECK: return
func.func @norm(%g: tensor<8xf32>, %h: tensor<3x5xf32>, %i: tensor<7xf32>) attributes {weir.device_index = 0 : i64} {
  %w = weir.variable {container = "", name = "w", type = tensor<8xf32>} : !weir.resource
  %v = weir.variable {container = "", name = "v", type = tensor<3x5xf32>} : !weir.resource
  %1 = weir.variable_read %w : (!weir.resource) -> tensor<8xf32>
  %old = weir.variable_read %v : (!weir.resource) -> tensor<3x5xf32>
  %a = weir.mul %g, %g : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %b = weir.reduce %a {axes = array<i64: 0>, keep_dims = false, kind = "sum"} : (tensor<8xf32>) -> tensor<f32>
  %c = weir.mul %h, %h : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
  %d = weir.reduce %c {axes = array<i64: 0, 1>, keep_dims = false, kind = "sum"} : (tensor<3x5xf32>) -> tensor<f32>
  %f = weir.mul %i, %i : (tensor<7xf32>, tensor<7xf32>) -> tensor<7xf32>
  %j = weir.reduce %f {axes = array<i64: 0>, keep_dims = false, kind = "sum"} : (tensor<7xf32>) -> tensor<f32>
  %k = weir.add %b, %d : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %e = weir.add %k, %j : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %n = weir.sqrt %e : (tensor<f32>) -> tensor<f32>
  %x = weir.div %g, %n : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %4 = weir.sub %1, %x : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %5 = weir.variable_assign %w, %4 : (!weir.resource, tensor<8xf32>) -> !weir.token
  %y = weir.div %h, %n : (tensor<3x5xf32>, tensor<f32>) -> tensor<3x5xf32>
  %6 = weir.sub %old, %y : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
  %7 = weir.variable_assign %v, %6 : (!weir.resource, tensor<3x5xf32>) -> !weir.token
  return
}

// A sum that another strategy computes, in another order than loops, stays a kernel of its own.
// CHECK-LABEL: @sum_of_line
// CHECK-COUNT-2: = weir_plan.launch @reduce_1_f32
// CHECK: return
func.func @sum_of_line(%g: tensor<512xf32>, %h: tensor<500xf32>) attributes {weir.device_index = 0 : i64} {
  %v = weir.variable {container = "", name = "v", type = tensor<1xf32>} : !weir.resource
  %b = weir.reduce %g {axes = array<i64: 0>, keep_dims = true, kind = "sum"} : (tensor<512xf32>) -> tensor<1xf32>
  %d = weir.reduce %h {axes = array<i64: 0>, keep_dims = true, kind = "sum"} : (tensor<500xf32>) -> tensor<1xf32>
  %e = weir.mul %b, %d : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
  %s = weir.mul %e, %b : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
  %x = weir.mul %s, %d : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
  %7 = weir.variable_assign %v, %x : (!weir.resource, tensor<1xf32>) -> !weir.token
  return
}
