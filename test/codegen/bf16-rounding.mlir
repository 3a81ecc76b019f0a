// A processor without an instruction that rounds to bf16: no function of libgcc 13.
//
// REQUIRES: weirc
// RUN: weirc %s --cpu=x86-64-v3 -o %t.s && FileCheck %s --check-prefix=INLINE < %t.s
// RUN: weirc %s --cpu=x86-64-v4 -o %t.s && FileCheck %s --check-prefix=INLINE < %t.s
// INLINE-NOT: __trunc
// RUN: weirc %s --cpu=sapphirerapids -o %t.s && FileCheck %s --check-prefix=INSTRUCTION < %t.s
// INSTRUCTION: vcvtneps2bf16

module {
  func.func @main(%x: tensor<64xf32> {weir.name = "x"}) -> (tensor<64xbf16> {weir.name = "y"}) attributes {weir.entry = "main"} {
    %0 = weir.cast %x {saturate = true} : (tensor<64xf32>) -> tensor<64xbf16>
    %1 = weir.add %0, %0 : (tensor<64xbf16>, tensor<64xbf16>) -> tensor<64xbf16>
    return %1 : tensor<64xbf16>
  }
}
