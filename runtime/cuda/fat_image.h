//===- fat_image.h - code of several architectures ---------- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The driver picks the code for its GPU out of an image itself. Machine code of a newer
// toolkit may be in a form that an older driver does not read, though; PTX is text of a
// version that all drivers from CUDA 12 on know, and is compiled when it is loaded.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_CUDA_FAT_IMAGE_H
#define WEIR_RUNTIME_CUDA_FAT_IMAGE_H

#include "cuda/driver_api.h"

namespace weir::rt::cuda {

/// Loads an image that `fatbinary` made: as it is, or else its PTX of the highest
/// architecture that `device` has. The device's context is current. A CUresult, that of
/// the first attempt where none succeeds.
Result loadImage(const Driver &driver, Device device, const void *image, Module *module);

} // namespace weir::rt::cuda

#endif // WEIR_RUNTIME_CUDA_FAT_IMAGE_H
