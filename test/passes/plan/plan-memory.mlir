// Planned buffers that are watched at run time.
// REQUIRES: weir-opt
// RUN: weir-opt %s --weir-plan-memory=guards=true | FileCheck %s
// RUN: weir-opt %s --weir-plan-memory | FileCheck %s --check-prefix=PLAIN

// Both live at once: each has guards of 64 bytes on both sides of its 4096.
// CHECK: bytes = 8448
// PLAIN: bytes = 8192
// PLAIN-NOT: guard
// CHECK-LABEL: @step
// CHECK: %[[A:.*]] = weir_plan.buffer at {{64|4288}}
// CHECK: %[[B:.*]] = weir_plan.buffer at {{64|4288}}
// CHECK: weir_plan.library "weir_kernel_guard_buffer"(%[[A]]) {parameters = array<i64: 0>}
// CHECK-NEXT: weir_plan.copy %{{.*}} to %[[A]]
// CHECK-NEXT: weir_plan.library "weir_kernel_guard_buffer"(%[[B]]) {parameters = array<i64: 0>}
// CHECK-NEXT: weir_plan.copy %[[A]] to %[[B]]
// CHECK-NEXT: weir_plan.library "weir_kernel_guard_buffer"(%[[A]]) {parameters = array<i64: 1>}
// A use inside of a region is the region's.
// CHECK: scf.if
// CHECK-NOT: guard
// CHECK: }
// CHECK-NEXT: weir_plan.library "weir_kernel_guard_buffer"(%[[B]]) {parameters = array<i64: 1>}
module {
func.func @step(%c: i1) attributes {weir_plan.feeds = [{type = tensor<1024xf32>}], weir_plan.fetches = []} {
  %x = weir_plan.feed 0 : memref<1024xf32>
  %a = weir_plan.buffer : memref<1024xf32>
  %b = weir_plan.buffer : memref<1024xf32>
  weir_plan.copy %x to %a : memref<1024xf32>, memref<1024xf32>
  weir_plan.copy %a to %b : memref<1024xf32>, memref<1024xf32>
  scf.if %c {
    weir_plan.copy %b to %b : memref<1024xf32>, memref<1024xf32>
    %y = weir_plan.fetch 0() : memref<1024xf32>
    weir_plan.copy %b to %y : memref<1024xf32>, memref<1024xf32>
  }
  return
}
}
