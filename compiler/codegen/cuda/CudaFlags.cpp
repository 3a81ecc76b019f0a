//===- CudaFlags.cpp - what users say of NVIDIA GPUs ----------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cuda/CudaFlags.h"

using namespace weir;

const DeviceFlag &weir::cudaFlags() {
  static const DeviceFlag made = {
      .type = "GPU",
      .flag = "--cuda",
      .value = "sm_90[,sm_80]",
      .help = "GPU architectures to make code for",
      .usualTargets = "sm_80,sm_90",
      .variable = "WEIR_CUDA",
      .profileFlag = "--cuda-profile",
      .profileHelp = "GPUs (device properties of cuDNN's, as JSON) that plans of "
                     "convolutions, poolings and attention are made for. Repeatable",
      .profileOutHelp = "writes what cuDNN says of this machine's GPU, for weirc "
                        "--cuda-profile"};
  return made;
}
