// Functions of bf16, whose numbers are looked at for NaN before and behind: by vectors.
//
// REQUIRES: weirc
// RUN: weirc %s --cpu=x86-64-v3 -o %t.s && FileCheck %s < %t.s
// RUN: weirc %s --cpu=x86-64-v4 -o %t.s && FileCheck %s < %t.s
// RUN: weirc %s --cpu=znver4 -o %t.s && FileCheck %s < %t.s
// CHECK-NOT: comiss
// CHECK: v{{(max|or|cmp)}}
// CHECK-NOT: comiss

func.func @main(%x: tensor<64xbf16> {weir.name = "x"}, %o: tensor<64xbf16> {weir.name = "o"}) -> (tensor<64xbf16> {weir.name = "y"}, tensor<64xbf16> {weir.name = "z"}, tensor<64xbf16> {weir.name = "m"}, tensor<64xi1> {weir.name = "l"}) attributes {weir.entry = "main"} {
  %0 = weir.neg %x : (tensor<64xbf16>) -> tensor<64xbf16>
  %1 = weir.exp %x : (tensor<64xbf16>) -> tensor<64xbf16>
  %2 = weir.maximum %x, %o : (tensor<64xbf16>, tensor<64xbf16>) -> tensor<64xbf16>
  %3 = weir.compare %x, %o {predicate = "lt"} : (tensor<64xbf16>, tensor<64xbf16>) -> tensor<64xi1>
  return %0, %1, %2, %3 : tensor<64xbf16>, tensor<64xbf16>, tensor<64xbf16>, tensor<64xi1>
}
