// Functions behind a convolution over an open image, whose blocks of columns are a loop that waits
// for its end: their loop over a tile's rows is emitted within it, and what waits for that on the
// stack is reserved once for the kernel.
//
// REQUIRES: weir-run
// RUN: rm -rf %t && mkdir %t && cd %t
// RUN: weirc %s --cpu=x86-64-v4 --stop-after=codegen -o m.ll
// RUN: %python -c "import array, sys; sys.path.append('%S/Inputs'); from floats import npy; open('x.npy', 'wb').write(npy((1, 61, 512), array.array('f', [1] * 61 * 512)))"
// RUN: weir-run %s --input=x=x.npy | FileCheck %s
// CHECK: y: f32 1x30x512 [0.905148, 0.905148,

module {
  func.func @main(%x: tensor<1x?x512xf32> {weir.name = "x", weir.dims = ["", "n", ""], weir.upper = [1, 61, 512]})
      -> (tensor<1x?x512xf32> {weir.name = "y"}) attributes {weir.entry = "main"} {
    %w = weir.constant dense<0.0009765625> : tensor<3x512x512xf32>
    %0 = weir.conv %x, %w {accumulator = f32, channels_last = true, dilations = array<i64: 1>, groups = 1 : i64, pads = array<i64: 0, 0>, strides = array<i64: 2>} : (tensor<1x?x512xf32>, tensor<3x512x512xf32>) -> tensor<1x?x512xf32>
    %1 = weir.tanh %0 : (tensor<1x?x512xf32>) -> tensor<1x?x512xf32>
    return %1 : tensor<1x?x512xf32>
  }
}
