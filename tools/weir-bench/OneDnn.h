//===- OneDnn.h - convolutions in oneDNN ------------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TOOLS_WEIR_BENCH_ONEDNN_H
#define WEIR_TOOLS_WEIR_BENCH_ONEDNN_H

#include "tools/common/HostTensor.h"

#include <memory>
#include <string>
#include <vector>

namespace weir::tools {

/// A convolution of one image with a square window, "same" padding (window / 2 on
/// each side), bias and ReLU.
struct ConvolutionShape {
  int64_t channels, size, filters, window, stride;
  int64_t results() const { return (size - 1) / stride + 1; }
  double flops() const {
    return 2.0 * static_cast<double>(results() * results() * filters) *
           static_cast<double>(channels * window * window);
  }
};

/// That convolution in oneDNN, of the layouts that oneDNN prefers: weights and
/// operands are brought into them beforehand. One thread of the program at a time.
class OneDnnConvolution {
public:
  /// Null, with the reason in `error`: this program was built without it.
  /// `image` is channels last, `filter` [filters, channels, window, window].
  static std::unique_ptr<OneDnnConvolution>
  create(const ConvolutionShape &shape, int threads, const HostTensor &image,
         const std::vector<float> &filter, const std::vector<float> &bias, std::string &error);
  virtual ~OneDnnConvolution() = default;

  virtual void run() = 0;
  /// Of the last run, channels last.
  virtual HostTensor result() = 0;
  static std::string version();
};

} // namespace weir::tools

#endif // WEIR_TOOLS_WEIR_BENCH_ONEDNN_H
