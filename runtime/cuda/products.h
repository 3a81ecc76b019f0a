//===- products.h - products by cuBLASLt -------------------- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The library chooses among its kernels for each shape: for fixed shapes when
// the session is made, for others when they first come. Choices are kept in a
// file, for GPU, driver and version of the library (choice_file.h). Where there
// is no library, or it knows no way, the program's own kernel does the work.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_CUDA_PRODUCTS_H
#define WEIR_RUNTIME_CUDA_PRODUCTS_H

#include "cuda/cublaslt_api.h"
#include "cuda/library.h"
#include "weir/cuda.h"

namespace weir::rt::cuda {

/// The sizes of a product.
struct ProductShape {
  int64_t rows, columns, depth, batches;
  /// Elements from line to line, and from batch to batch.
  int64_t leftLine, rightLine, leftBatch, rightBatch;
};

/// A product of one shape, made ready. Lives as long as the session; never
/// changes but for `matmul`'s pointer to the bias.
struct ProductPlan {
  ProductPlan *next;
  const weir_cuda_product *product;
  ProductShape shape;
  bool usable;
  BlasMatmul matmul;
  BlasLayout left, right, result;
  BlasAlgorithm algorithm;
  int64_t workspace; ///< bytes
  Mutex mutex;       ///< held while `matmul` has a run's bias
};

/// A kernel that a library may replace.
struct Product {
  const weir_cuda_product *desc;
  Function rest; ///< null: none
  ProductPlan *plans;
};

/// The products of a session's GPU.
struct Products {
  const CudaDevice *device;
  const Blas *blas; ///< null: kernels do the work
  BlasHandle handle;
  Product *entries;
  int64_t count;
  int32_t *byKernel; ///< number of the kernel's entry, -1: none
  ChoiceFile *file;  ///< null: choices are not kept
  int64_t workspaceLimit;
  int32_t trials; ///< of the library's ways, how many are timed
  Mutex mutex;    ///< guards plans and file
};

/// Loads the library and makes plans for fixed shapes, if the program has
/// products. Null: out of host memory alone; a missing library is none of it.
/// The device's context is current.
Products *openProducts(const CudaDevice &device, int32_t kernelCount);
/// Writes new choices to the file. The device's context is current.
void closeProducts(Products *products);

/// The plan for a launch with `sizes`; null: the kernel is to be launched.
ProductPlan *planProduct(Products *products, Product &entry, const int64_t *sizes);

int64_t extentOf(const weir_extent &extent, const int64_t *sizes);
int64_t resultBytes(const ProductPlan &plan);

/// Puts the product into `stream`. Returns a cublasStatus_t.
int32_t putProduct(const Products &products, ProductPlan &plan, const LibraryOperands &operands,
                   Stream stream);

} // namespace weir::rt::cuda

#endif // WEIR_RUNTIME_CUDA_PRODUCTS_H
