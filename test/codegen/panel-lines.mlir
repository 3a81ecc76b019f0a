// REQUIRES: weir-run
//
// Convolutions whose range counts lines of panels, by lines or by panels of the filter first, of several images, with rests of
// rows and columns: bits do not depend on how threads share lines, and results are near those without optimisations.
// RUN: rm -rf %t && mkdir %t
// RUN: weirc %s --cpu=x86-64-v4 --stop-after=kernelize -o %t/kernels.mlir && FileCheck %s --check-prefix=FORM < %t/kernels.mlir
// FORM-COUNT-6: block_tiles
// RUN: weir-run %s -O0 --run=panel_lines_step_k_shared_lines --input=random:7 --output=%t/shared_lines0.npz
// RUN: weir-run %s --run=panel_lines_step_k_shared_lines --input=random:7 --threads=1 --output=%t/shared_lines.npz && %python %S/Inputs/near.py %t/shared_lines.npz %t/shared_lines0.npz
// RUN: weir-run %s --run=panel_lines_step_k_shared_lines --input=random:7 --threads=2 --output=%t/shared_lines2.npz && cmp %t/shared_lines.npz %t/shared_lines2.npz
// RUN: weir-run %s --run=panel_lines_step_k_shared_lines --input=random:7 --threads=5 --output=%t/shared_lines5.npz && cmp %t/shared_lines.npz %t/shared_lines5.npz
// RUN: weir-run %s -O0 --run=panel_lines_step_k_rest --input=random:7 --output=%t/rest0.npz
// RUN: weir-run %s --run=panel_lines_step_k_rest --input=random:7 --threads=1 --output=%t/rest.npz && %python %S/Inputs/near.py %t/rest.npz %t/rest0.npz
// RUN: weir-run %s --run=panel_lines_step_k_rest --input=random:7 --threads=2 --output=%t/rest2.npz && cmp %t/rest.npz %t/rest2.npz
// RUN: weir-run %s --run=panel_lines_step_k_rest --input=random:7 --threads=5 --output=%t/rest5.npz && cmp %t/rest.npz %t/rest5.npz
// RUN: weir-run %s -O0 --run=panel_lines_step_k_panels --input=random:7 --output=%t/panels0.npz
// RUN: weir-run %s --run=panel_lines_step_k_panels --input=random:7 --threads=1 --output=%t/panels.npz && %python %S/Inputs/near.py %t/panels.npz %t/panels0.npz
// RUN: weir-run %s --run=panel_lines_step_k_panels --input=random:7 --threads=2 --output=%t/panels2.npz && cmp %t/panels.npz %t/panels2.npz
// RUN: weir-run %s --run=panel_lines_step_k_panels --input=random:7 --threads=5 --output=%t/panels5.npz && cmp %t/panels.npz %t/panels5.npz
// RUN: weir-run %s -O0 --run=panel_lines_step_k_columns --input=random:7 --output=%t/columns0.npz
// RUN: weir-run %s --run=panel_lines_step_k_columns --input=random:7 --threads=1 --output=%t/columns.npz && %python %S/Inputs/near.py %t/columns.npz %t/columns0.npz
// RUN: weir-run %s --run=panel_lines_step_k_columns --input=random:7 --threads=2 --output=%t/columns2.npz && cmp %t/columns.npz %t/columns2.npz
// RUN: weir-run %s --run=panel_lines_step_k_columns --input=random:7 --threads=5 --output=%t/columns5.npz && cmp %t/columns.npz %t/columns5.npz
// RUN: weir-run %s -O0 --run=panel_lines_step_k_windows --input=random:7 --output=%t/windows0.npz
// RUN: weir-run %s --run=panel_lines_step_k_windows --input=random:7 --threads=1 --output=%t/windows.npz && %python %S/Inputs/near.py %t/windows.npz %t/windows0.npz
// RUN: weir-run %s --run=panel_lines_step_k_windows --input=random:7 --threads=2 --output=%t/windows2.npz && cmp %t/windows.npz %t/windows2.npz
// RUN: weir-run %s --run=panel_lines_step_k_windows --input=random:7 --threads=5 --output=%t/windows5.npz && cmp %t/windows.npz %t/windows5.npz
// RUN: weir-run %s -O0 --run=panel_lines_step_k_border --input=random:7 --output=%t/border0.npz
// RUN: weir-run %s --run=panel_lines_step_k_border --input=random:7 --threads=1 --output=%t/border.npz && %python %S/Inputs/near.py %t/border.npz %t/border0.npz
// RUN: weir-run %s --run=panel_lines_step_k_border --input=random:7 --threads=2 --output=%t/border2.npz && cmp %t/border.npz %t/border2.npz
// RUN: weir-run %s --run=panel_lines_step_k_border --input=random:7 --threads=5 --output=%t/border5.npz && cmp %t/border.npz %t/border5.npz

module {
  func.func @shared_lines(%x: tensor<2x14x14x176xf32>, %w: tensor<1x1x176x96xf32>) -> tensor<2x14x14x96xf32> {
    %0 = weir.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, channels_last = true, accumulator = f32} : (tensor<2x14x14x176xf32>, tensor<1x1x176x96xf32>) -> tensor<2x14x14x96xf32>
    return %0 : tensor<2x14x14x96xf32>
  }

  func.func @rest(%x: tensor<1x15x14x200xf32>, %w: tensor<1x1x200x80xf32>) -> tensor<1x15x14x80xf32> {
    %0 = weir.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, channels_last = true, accumulator = f32} : (tensor<1x15x14x200xf32>, tensor<1x1x200x80xf32>) -> tensor<1x15x14x80xf32>
    return %0 : tensor<1x15x14x80xf32>
  }

  func.func @panels(%x: tensor<1x7x7x320xf32>, %w: tensor<1x1x320x160xf32>) -> tensor<1x7x7x160xf32> {
    %0 = weir.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, channels_last = true, accumulator = f32} : (tensor<1x7x7x320xf32>, tensor<1x1x320x160xf32>) -> tensor<1x7x7x160xf32>
    return %0 : tensor<1x7x7x160xf32>
  }

  func.func @columns(%x: tensor<2x9x7x300xf32>, %w: tensor<1x1x300x100xf32>) -> tensor<2x9x7x100xf32> {
    %0 = weir.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, channels_last = true, accumulator = f32} : (tensor<2x9x7x300xf32>, tensor<1x1x300x100xf32>) -> tensor<2x9x7x100xf32>
    return %0 : tensor<2x9x7x100xf32>
  }

  func.func @windows(%x: tensor<1x29x29x64xf32>, %w: tensor<3x3x64x96xf32>) -> tensor<1x14x14x96xf32> {
    %0 = weir.conv %x, %w {strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, channels_last = true, accumulator = f32} : (tensor<1x29x29x64xf32>, tensor<3x3x64x96xf32>) -> tensor<1x14x14x96xf32>
    return %0 : tensor<1x14x14x96xf32>
  }

  func.func @border(%x: tensor<1x28x28x64xf32>, %w: tensor<3x3x64x96xf32>) -> tensor<1x14x14x96xf32> {
    %0 = weir.conv %x, %w {strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64, channels_last = true, accumulator = f32} : (tensor<1x28x28x64xf32>, tensor<3x3x64x96xf32>) -> tensor<1x14x14x96xf32>
    return %0 : tensor<1x14x14x96xf32>
  }
}
