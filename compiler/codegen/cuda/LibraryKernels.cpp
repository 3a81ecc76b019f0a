//===- LibraryKernels.cpp - what libraries may do of a GPU's work -----===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cuda/LibraryKernels.h"
#include "compiler/codegen/cuda/CudaBlasGemm.h"
#include "compiler/codegen/cuda/CudaConvolution.h"
#include "compiler/codegen/cuda/CudaDnnAttention.h"
#include "compiler/codegen/cuda/CudaPooling.h"
#include "dialects/weir/Pch.h"
#include <cstddef>

using namespace mlir;
using namespace weir;

LibraryKernels::LibraryKernels(gpu::GPUModuleOp module, SiteTable &sites,
                               const CudaOptions &options)
    : module(module), sites(sites), options(options) {
  for (const DeviceProfile &profile : options.profiles) {
    const char *why;
    weir_cuda_plan_convolution(nullptr, profile.text.c_str(), &why);
    if (!why)
      profiles.push_back(profile);
    else
      emitWarning(UnknownLoc::get(module.getContext()))
          << "W0624: found no plans for " << profile.file << ": " << why
          << "; possible: plans that are made where the program runs";
  }
}

//===----------------------------------------------------------------------===//
// Collecting
//===----------------------------------------------------------------------===//

static bool isFixed(const weir_extent &extent) { return extent.open[0] < 0; }

static bool isFixed(const weir_cuda_convolution &desc) {
  auto isOne = [](const weir_extent &extent) { return isFixed(extent); };
  return isFixed(desc.batch) && isFixed(desc.channels) && isFixed(desc.outputs) &&
         llvm::all_of(desc.sizes, isOne) && llvm::all_of(desc.window, isOne);
}

void LibraryKernels::add(plan::KernelOp kernel, int32_t number, const std::string &symbol,
                         bool onlyWhole) {
  if (auto product = matchGemm(kernel, options.tf32)) {
    if (product->hasRest && onlyWhole)
      return;
    product->desc.kernel = number;
    ProductForm entry = {product->desc, ""};
    addRest(kernel, *product, symbol + "_rest", entry);
    products.push_back(entry);
    return;
  }
  if (auto convolution = matchConvolution(kernel, options.tf32)) {
    ConvolutionForm entry = {convolution->desc, "", "", {}};
    entry.desc.kernel = number;
    addRest(kernel, *convolution, symbol + "_rest", entry);
    if (convolution->filter) {
      const Arrangement &arrangement = arrangementOf(kernel, convolution->filter);
      entry.arrange = arrangement.name;
      entry.desc.arrange_blocks = arrangement.blocks;
      entry.desc.arrange_threads = arrangement.threads;
    }
    if (isFixed(entry.desc))
      addPlans(entry, weir_cuda_plan_convolution);
    convolutions.push_back(entry);
    return;
  }
  if (auto pooling = matchPooling(kernel)) {
    PoolingForm entry = {*pooling, {}};
    entry.desc.kernel = number;
    addPlans(entry, weir_cuda_plan_pooling);
    poolings.push_back(entry);
    return;
  }
  if (auto attention = matchDnnAttention(kernel)) {
    AttentionForm entry = {*attention, {}};
    entry.desc.kernel = number;
    addPlans(entry, weir_cuda_plan_attention);
    attentions.push_back(entry);
  }
}

template <typename Match, typename Entry>
void LibraryKernels::addRest(plan::KernelOp kernel, const Match &match, const std::string &name,
                             Entry &entry) {
  if (!match.hasRest)
    return;
  entry.rest = name;
  LaunchShape shape = emitCudaKernel(kernel, name, module, sites, match.end);
  // Elements have one axis, all dimensions of the first result.
  assert(shape.axes.size() == 1 && "elements are in one line");
  entry.desc.rest_elements = int32_t(shape.axes[0].divisor);
  entry.desc.rest_threads = int32_t(shape.threads);
}

template <typename Entry, typename Make>
void LibraryKernels::addPlans(Entry &entry, Make make) const {
  for (const DeviceProfile &profile : profiles) {
    const char *why;
    // Without a plan the target makes one.
    if (char *text = make(&entry.desc, profile.text.c_str(), &why)) {
      entry.plans.push_back(text);
      std::free(text);
    }
  }
}

const LibraryKernels::Arrangement &LibraryKernels::arrangementOf(plan::KernelOp kernel,
                                                                 RankedTensorType filter) {
  auto [it, isNew] = arrangements.try_emplace(filter);
  Arrangement &arrangement = it->second;
  if (isNew) {
    arrangement.name = "arrange_" + std::to_string(arrangements.size());
    OwningOpRef<plan::KernelOp> made = arrangeKernel(filter, kernel.getLoc());
    LaunchShape shape = emitCudaKernel(*made, arrangement.name, module, sites);
    auto arranged =
        cast<RankedTensorType>(made->getBody().front().getTerminator()->getOperand(0).getType());
    arrangement.threads = int32_t(shape.threads);
    for (const LaunchShape::Axis &axis : shape.axes) {
      int64_t count = 1;
      for (int64_t dim : axis.dims)
        count *= arranged.getDimSize(dim);
      arrangement.blocks *= int32_t(llvm::divideCeil(count, axis.divisor));
    }
  }
  return arrangement;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

void LibraryKernels::addRecords(Records &productRecords, Records &convolutionRecords,
                                Records &poolingRecords, Records &attentionRecords) const {
  static_assert(offsetof(weir_cuda_product, rest) + 8 == sizeof(weir_cuda_product));
  for (const ProductForm &form : products) {
    productRecords.push_back(numbersOf(form.desc, offsetof(weir_cuda_product, rest)));
    productRecords.back().pointers = {form.rest};
  }
  static_assert(offsetof(weir_cuda_convolution, rest) + 32 == sizeof(weir_cuda_convolution));
  for (const ConvolutionForm &form : convolutions) {
    convolutionRecords.push_back(numbersOf(form.desc, offsetof(weir_cuda_convolution, rest)));
    convolutionRecords.back().pointers = {form.rest, form.arrange, form.plans};
  }
  static_assert(offsetof(weir_cuda_pooling, plans) + 16 == sizeof(weir_cuda_pooling));
  for (const PoolingForm &form : poolings) {
    poolingRecords.push_back(numbersOf(form.desc, offsetof(weir_cuda_pooling, plans)));
    poolingRecords.back().pointers = {form.plans};
  }
  static_assert(offsetof(weir_cuda_attention, plans) + 16 == sizeof(weir_cuda_attention));
  for (const AttentionForm &form : attentions) {
    attentionRecords.push_back(numbersOf(form.desc, offsetof(weir_cuda_attention, plans)));
    attentionRecords.back().pointers = {form.plans};
  }
}

/// What comes behind an operation that a library computes.
template <typename Entry>
static void listEpilogue(llvm::raw_ostream &os, const Entry &entry, bool hasAddend) {
  if (hasAddend)
    os << " + addend";
  if (entry.desc.bias >= 0)
    os << " + bias";
  if (entry.desc.bias == WEIR_CUDA_ZEROS)
    os << " + zeros";
  if (entry.desc.activation == WEIR_CUDA_RELU)
    os << ", relu";
  if (entry.desc.activation == WEIR_CUDA_GELU)
    os << ", gelu";
  if (entry.desc.flags & WEIR_CUDA_TF32)
    os << ", tf32";
  os << (entry.desc.dtype == entry.desc.result_dtype ? "" : ", wide result");
  if (!entry.rest.empty())
    os << "; then " << entry.rest
       << (entry.desc.result < 0 ? " from memory of its own" : " in place");
}

static void listPlans(llvm::raw_ostream &os, const std::vector<std::string> &plans) {
  if (!plans.empty())
    os << "; plans " << plans.size();
  os << '\n';
}

void LibraryKernels::list(llvm::raw_ostream &os, int32_t number) const {
  for (const ProductForm &product : products) {
    if (product.desc.kernel != number)
      continue;
    os << "  or cuBLASLt:" << (product.desc.scale != 1 ? " scaled" : "");
    listEpilogue(os, product, product.desc.addend.buffer >= 0);
    os << '\n';
  }
  for (const ConvolutionForm &convolution : convolutions) {
    if (convolution.desc.kernel != number)
      continue;
    os << "  or cuDNN:";
    listEpilogue(os, convolution, convolution.desc.addend >= 0);
    if (!convolution.arrange.empty())
      os << "; filter by " << convolution.arrange;
    listPlans(os, convolution.plans);
  }
  for (const PoolingForm &pooling : poolings) {
    if (pooling.desc.kernel != number)
      continue;
    os << "  or cuDNN: "
       << (pooling.desc.kind == WEIR_CUDA_MAX_POOLING      ? "maximum"
           : pooling.desc.kind == WEIR_CUDA_AVERAGE_INSIDE ? "average inside"
                                                           : "average of the window");
    listPlans(os, pooling.plans);
  }
  for (const AttentionForm &attention : attentions) {
    if (attention.desc.kernel != number)
      continue;
    os << "  or cuDNN: attention" << (attention.desc.scale != 1 ? ", scaled" : "")
       << (attention.desc.mask >= 0 ? " + mask" : "") << (attention.desc.causal ? ", causal" : "")
       << (attention.desc.dtype == attention.desc.result_dtype ? "" : ", wide result");
    listPlans(os, attention.plans);
  }
}
