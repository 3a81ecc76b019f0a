//===- products.cpp - products by cuBLASLt ------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/products.h"
#include "cuda/cuda_device.h"
#include "cuda/trials.h"

#include <new>
#include <stdlib.h>

//
// The library's matrices are column-major. A row-major matrix is its transposed
// one there, so that the product is asked for as result' = right' * left': what
// are columns here are rows there, and a number for each column is what its bias
// is.
//

namespace weir::rt::cuda {

int64_t extentOf(const weir_extent &extent, const int64_t *sizes) {
  int64_t value = extent.factor;
  for (int32_t number : extent.open) {
    if (number < 0)
      break;
    value *= sizes[number];
  }
  return value;
}

static bool isFixed(const weir_cuda_product &desc) {
  for (const weir_extent *extent : {&desc.rows, &desc.columns, &desc.depth, &desc.batches})
    if (extent->open[0] >= 0)
      return false;
  return true;
}

static int64_t atLeast(int64_t value, int64_t bound) { return value < bound ? bound : value; }

static ProductShape shapeOf(const weir_cuda_product &desc, const int64_t *sizes) {
  ProductShape shape;
  shape.rows = extentOf(desc.rows, sizes);
  shape.columns = extentOf(desc.columns, sizes);
  shape.depth = extentOf(desc.depth, sizes);
  shape.batches = extentOf(desc.batches, sizes);
  // A matrix of one line has no distance between lines, but the library wants one
  // that is long enough.
  shape.leftLine =
      atLeast(extentOf(desc.left.line, sizes), desc.left.transposed ? shape.rows : shape.depth);
  shape.rightLine = atLeast(extentOf(desc.right.line, sizes),
                            desc.right.transposed ? shape.depth : shape.columns);
  shape.leftBatch = extentOf(desc.left.batch, sizes);
  shape.rightBatch = extentOf(desc.right.batch, sizes);
  return shape;
}

int64_t resultBytes(const ProductPlan &plan) {
  return plan.shape.rows * plan.shape.columns * plan.shape.batches *
         weir_dtype_size(plan.product->result_dtype);
}

static int typeOf(int32_t dtype) {
  return dtype == WEIR_F32    ? blas::r32f
         : dtype == WEIR_F64  ? blas::r64f
         : dtype == WEIR_BF16 ? blas::r16bf
                              : blas::r16f;
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

static bool makeLayout(const Products &products, BlasLayout *layout, int32_t dtype, int64_t rows,
                       int64_t columns, int64_t line, int64_t batches, int64_t distance) {
  const Blas &blas = *products.blas;
  if (blas.layoutCreate(layout, typeOf(dtype), uint64_t(rows), uint64_t(columns), line) != 0)
    return false;
  if (batches == 1)
    return true;
  auto count = int32_t(batches);
  return blas.layoutSet(*layout, blas::batchCount, &count, sizeof(count)) == 0 &&
         blas.layoutSet(*layout, blas::batchOffset, &distance, sizeof(distance)) == 0;
}

static bool describe(const Products &products, ProductPlan &plan) {
  const Blas &blas = *products.blas;
  const weir_cuda_product &desc = *plan.product;
  const ProductShape &s = plan.shape;
  bool isDouble = desc.dtype == WEIR_F64;
  int compute = isDouble                        ? blas::compute64f
                : (desc.flags & WEIR_CUDA_TF32) ? blas::computeTf32
                                                : blas::compute32f;
  if (blas.matmulCreate(&plan.matmul, compute, isDouble ? blas::r64f : blas::r32f) != 0)
    return false;
  int32_t transA = desc.right.transposed ? blas::transposed : blas::plain,
          transB = desc.left.transposed ? blas::transposed : blas::plain;
  uint32_t epilogue = (desc.activation == WEIR_CUDA_RELU   ? blas::epilogueRelu
                       : desc.activation == WEIR_CUDA_GELU ? blas::epilogueGelu
                                                           : 0) |
                      (desc.bias >= 0 ? blas::epilogueBias : 0);
  if (epilogue == 0)
    epilogue = blas::epilogueNone;
  if (blas.matmulSet(plan.matmul, blas::transA, &transA, sizeof(transA)) != 0 ||
      blas.matmulSet(plan.matmul, blas::transB, &transB, sizeof(transB)) != 0 ||
      blas.matmulSet(plan.matmul, blas::epilogue, &epilogue, sizeof(epilogue)) != 0)
    return false;
  if (desc.bias >= 0) {
    // The choice may look at how it is aligned.
    Pointer anywhere = 256;
    if (blas.matmulSet(plan.matmul, blas::biasPointer, &anywhere, sizeof(anywhere)) != 0)
      return false;
  }
  bool right = desc.right.transposed, left = desc.left.transposed;
  return makeLayout(products, &plan.right, desc.dtype, right ? s.depth : s.columns,
                    right ? s.columns : s.depth, s.rightLine, s.batches, s.rightBatch) &&
         makeLayout(products, &plan.left, desc.dtype, left ? s.rows : s.depth,
                    left ? s.depth : s.rows, s.leftLine, s.batches, s.leftBatch) &&
         makeLayout(products, &plan.result, desc.result_dtype, s.columns, s.rows, s.columns,
                    s.batches, s.rows * s.columns);
}

/// The problem as the file of choices names it.
static void nameProblem(const ProductPlan &plan, char *buffer, int64_t capacity) {
  const weir_cuda_product &d = *plan.product;
  const ProductShape &s = plan.shape;
  Text text(buffer, capacity);
  text << d.dtype << ' ' << d.result_dtype << ' ' << d.activation << ' ' << d.flags << ' '
       << int32_t(d.bias >= 0) << ' ' << int32_t(d.addend.buffer >= 0) << ' ' << d.left.transposed
       << ' ' << d.right.transposed;
  for (int64_t size :
       {s.rows, s.columns, s.depth, s.batches, s.leftLine, s.rightLine, s.leftBatch, s.rightBatch})
    text << ' ' << size;
}

/// Words of a choice in the file: the algorithm, and bytes of workspace.
static constexpr int32_t choiceWords = 9;

/// What the library proposes, the likeliest first; those whose state is not 0 do not work.
static int32_t askHeuristics(const Products &products, const ProductPlan &plan, BlasChoice *choices,
                             int32_t most) {
  const Blas &blas = *products.blas;
  BlasPreference preference;
  if (blas.preferenceCreate(&preference) != 0)
    return 0;
  auto workspace = uint64_t(products.workspaceLimit);
  // Buffers begin at multiples of 16 at least. Sums of parts meet in the type of sums.
  uint32_t alignment = 16, reductions = blas::reduceInComputeType;
  bool ok =
      blas.preferenceSet(preference, blas::maxWorkspace, &workspace, sizeof(workspace)) == 0 &&
      blas.preferenceSet(preference, blas::reductionSchemes, &reductions, sizeof(reductions)) == 0;
  for (int which : {blas::alignmentA, blas::alignmentB, blas::alignmentC, blas::alignmentD})
    ok = ok && blas.preferenceSet(preference, which, &alignment, sizeof(alignment)) == 0;
  int count = 0;
  ok = ok && blas.choose(products.handle, plan.matmul, plan.right, plan.left, plan.result,
                         plan.result, preference, most, choices, &count) == 0;
  blas.preferenceDestroy(preference);
  return ok ? count : 0;
}

static void take(ProductPlan &plan, const BlasChoice &choice) {
  plan.algorithm = choice.algorithm;
  plan.workspace = int64_t(choice.workspace);
}

/// Bytes from a matrix' first to its last element, for all batches.
static int64_t spanOf(int64_t lines, int64_t across, int64_t line, int64_t batches, int64_t batch,
                      int32_t dtype) {
  return ((lines - 1) * line + across + (batches - 1) * batch) * weir_dtype_size(dtype);
}

/// A product whose ways are timed.
struct ProductTrial {
  const Products *products;
  ProductPlan *plan;
  LibraryOperands operands;

  static int32_t put(void *data, Stream stream) {
    auto *trial = static_cast<ProductTrial *>(data);
    return putProduct(*trial->products, *trial->plan, trial->operands, stream);
  }
};

/// Takes the fastest of the ways that work. False: none could be timed.
static bool chooseByTrial(const Products &products, ProductPlan &plan, const BlasChoice *choices,
                          int32_t count) {
  const weir_cuda_product &desc = *plan.product;
  const ProductShape &s = plan.shape;
  Trials trials(*products.device);
  ProductTrial trial = {&products, &plan, {}};
  LibraryOperands &operands = trial.operands;
  bool left = desc.left.transposed, right = desc.right.transposed;
  operands.left = trials.take(spanOf(left ? s.depth : s.rows, left ? s.rows : s.depth, s.leftLine,
                                     s.batches, s.leftBatch, desc.dtype));
  operands.right = trials.take(spanOf(right ? s.columns : s.depth, right ? s.depth : s.columns,
                                      s.rightLine, s.batches, s.rightBatch, desc.dtype));
  operands.result = trials.take(resultBytes(plan));
  if (desc.addend.buffer >= 0)
    operands.addend = trials.take(resultBytes(plan));
  if (desc.bias >= 0)
    operands.bias = trials.take(s.columns * weir_dtype_size(desc.result_dtype));
  int64_t workspace = 0;
  for (int32_t i = 0; i < count; ++i)
    if (choices[i].state == 0 && int64_t(choices[i].workspace) > workspace)
      workspace = int64_t(choices[i].workspace);
  operands.workspace = trials.take(workspace);
  if (!trials.isUsable())
    return false;
  int32_t chosen = -1;
  float best = -1;
  for (int32_t i = 0; i < count; ++i) {
    if (choices[i].state != 0)
      continue;
    take(plan, choices[i]);
    float time = trials.time(ProductTrial::put, &trial);
    if (!Trials::isFaster(time, best))
      continue;
    best = time;
    chosen = i;
  }
  if (chosen < 0)
    return false;
  take(plan, choices[chosen]);
  return true;
}

static bool chooseAnew(const Products &products, ProductPlan &plan, bool byTrial) {
  constexpr int32_t most = 8 > mostTrials ? 8 : mostTrials;
  BlasChoice choices[most];
  int32_t count = askHeuristics(products, plan, choices, products.trials > 8 ? products.trials : 8);
  if (byTrial)
    return chooseByTrial(products, plan, choices,
                         count < products.trials ? count : products.trials);
  for (int32_t i = 0; i < count; ++i) {
    if (choices[i].state != 0)
      continue;
    take(plan, choices[i]);
    return true;
  }
  return false;
}

/// Takes what the file has for the problem, if it still works.
static bool takeKnown(const Products &products, ProductPlan &plan, const char *problem) {
  const uint64_t *words = products.file ? products.file->find(problem, choiceWords) : nullptr;
  if (!words)
    return false;
  BlasChoice checked;
  memcpy(plan.algorithm.data, words, sizeof(plan.algorithm.data));
  if (products.blas->check(products.handle, plan.matmul, plan.right, plan.left, plan.result,
                           plan.result, &plan.algorithm, &checked) != 0 ||
      int64_t(checked.workspace) > products.workspaceLimit)
    return false;
  plan.workspace = int64_t(checked.workspace);
  return true;
}

static void keep(const Products &products, const ProductPlan &plan, const char *problem) {
  if (!products.file)
    return;
  uint64_t words[choiceWords];
  memcpy(words, plan.algorithm.data, sizeof(plan.algorithm.data));
  words[choiceWords - 1] = uint64_t(plan.workspace);
  products.file->add(problem, words, choiceWords);
}

/// What was timed once goes before heuristics, also where nothing is timed now. The
/// products' mutex is held, or nobody else has them yet.
static bool choose(const Products &products, ProductPlan &plan) {
  char problem[256], timed[sizeof(problem) + sizeof(timedPrefix)];
  nameProblem(plan, problem, sizeof(problem));
  Text(timed, sizeof(timed)) << timedPrefix << problem;
  if (takeKnown(products, plan, timed))
    return true;
  if (products.trials > 0 && chooseAnew(products, plan, /*byTrial=*/true)) {
    keep(products, plan, timed);
    return true;
  }
  if (takeKnown(products, plan, problem))
    return true;
  if (!chooseAnew(products, plan, /*byTrial=*/false))
    return false;
  keep(products, plan, problem);
  return true;
}

static void destroy(const Products &products, ProductPlan *plan) {
  const Blas &blas = *products.blas;
  if (plan->matmul)
    blas.matmulDestroy(plan->matmul);
  for (BlasLayout layout : {plan->left, plan->right, plan->result})
    if (layout)
      blas.layoutDestroy(layout);
  free(plan);
}

ProductPlan *planProduct(Products *products, Product &entry, const int64_t *sizes) {
  ProductShape shape = shapeOf(*entry.desc, sizes);
  constexpr int64_t most = INT32_MAX; // of its layouts
  for (int64_t size : {shape.rows, shape.columns, shape.depth, shape.batches})
    if (size <= 0 || size > most)
      return nullptr;
  Lock lock(products->mutex);
  for (ProductPlan *plan = entry.plans; plan; plan = plan->next)
    if (memcmp(&plan->shape, &shape, sizeof(shape)) == 0)
      return plan->usable ? plan : nullptr;
  void *memory = calloc(1, sizeof(ProductPlan));
  if (!memory)
    return nullptr;
  auto *plan = new (memory) ProductPlan();
  plan->product = entry.desc;
  plan->shape = shape;
  Current current(*products->device);
  // What does not work is remembered as well.
  plan->usable = describe(*products, *plan) && choose(*products, *plan);
  plan->next = entry.plans;
  entry.plans = plan;
  return plan->usable ? plan : nullptr;
}

//===----------------------------------------------------------------------===//
// A session's products
//===----------------------------------------------------------------------===//

static bool fill(Products *products, const CudaDevice &device, int32_t kernelCount) {
  products->entries = static_cast<Product *>(calloc(size_t(products->count), sizeof(Product)));
  products->byKernel = static_cast<int32_t *>(malloc(sizeof(int32_t) * size_t(kernelCount + 1)));
  if (!products->entries || !products->byKernel)
    return false;
  for (int32_t i = 0; i < kernelCount; ++i)
    products->byKernel[i] = -1;
  for (int64_t i = 0; i < products->count; ++i) {
    const weir_cuda_product &product = device.record->products[i];
    Product &entry = products->entries[i];
    entry.desc = &product;
    if (product.rest &&
        device.driver->moduleFunction(&entry.rest, device.module, product.rest) != 0)
      continue; // never, in an image that weirc made: then the kernel does it
    products->byKernel[product.kernel] = int32_t(i);
  }
  return true;
}

Products *openProducts(const CudaDevice &device, int32_t kernelCount) {
  void *memory = calloc(1, sizeof(Products));
  if (!memory)
    return nullptr;
  auto *products = new (memory) Products();
  products->device = &device;
  products->trials = wantedTrials();
  if (device.record->product_count == 0)
    return products;
  const Blas *blas = loadBlas();
  if (!blas || blas->create(&products->handle) != 0)
    return products;
  products->count = device.record->product_count;
  if (!fill(products, device, kernelCount)) {
    blas->destroy(products->handle);
    free(products->entries);
    free(products->byKernel);
    free(products);
    return nullptr;
  }
  products->blas = blas;
  int major = 0;
  device.driver->deviceAttribute(&major, capabilityMajor, device.device);
  // What NVIDIA recommends: 32 MiB from Hopper on, 4 MiB before.
  products->workspaceLimit = int64_t(major >= 9 ? 32 : 4) << 20;
  products->file = openChoices(device, "cublaslt", int64_t(blas->version()));
  for (int64_t i = 0; i < products->count; ++i)
    if (isFixed(device.record->products[i]))
      planProduct(products, products->entries[i], nullptr);
  return products;
}

void closeProducts(Products *products) {
  if (!products)
    return;
  if (products->blas) {
    for (int64_t i = 0; i < products->count; ++i)
      while (ProductPlan *plan = products->entries[i].plans) {
        products->entries[i].plans = plan->next;
        destroy(*products, plan);
      }
    products->blas->destroy(products->handle);
  }
  ChoiceFile::close(products->file);
  free(products->entries);
  free(products->byKernel);
  free(products);
}

int32_t putProduct(const Products &products, ProductPlan &plan, const LibraryOperands &operands,
                   Stream stream) {
  const Blas &blas = *products.blas;
  const weir_cuda_product &desc = *plan.product;
  float scale = float(desc.scale), keep = operands.addend ? 1 : 0;
  double wideScale = desc.scale, wideKeep = keep;
  bool isDouble = desc.dtype == WEIR_F64;
  Lock lock(plan.mutex);
  if (operands.bias)
    if (int32_t error =
            blas.matmulSet(plan.matmul, blas::biasPointer, &operands.bias, sizeof(operands.bias)))
      return error;
  auto *result = reinterpret_cast<void *>(operands.result);
  return blas.matmul(
      products.handle, plan.matmul, isDouble ? static_cast<void *>(&wideScale) : &scale,
      reinterpret_cast<void *>(operands.right), plan.right, reinterpret_cast<void *>(operands.left),
      plan.left, isDouble ? static_cast<void *>(&wideKeep) : &keep,
      operands.addend ? reinterpret_cast<void *>(operands.addend) : result, plan.result, result,
      plan.result, &plan.algorithm, reinterpret_cast<void *>(operands.workspace),
      size_t(plan.workspace), stream);
}

} // namespace weir::rt::cuda
