//===- LibraryKernels.h - what libraries may do of a GPU's work -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Collects descriptions of what libraries may do in place of kernels, emits kernels
// for what they leave to compute, and has their plans made for GPUs that are known.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_CODEGEN_CUDA_LIBRARYKERNELS_H
#define WEIR_COMPILER_CODEGEN_CUDA_LIBRARYKERNELS_H

#include "compiler/codegen/cuda/CudaCodegen.h"
#include "compiler/codegen/cuda/CudaStep.h"
#include "weir/cuda.h"
#include <cstring>

namespace weir {

/// What of `desc` is numbers: all before the pointers, which begin behind `bytes`.
template <typename Desc> AcceleratorInfo::Record numbersOf(const Desc &desc, size_t bytes) {
  assert(bytes % 8 == 0 && "pointers are aligned");
  AcceleratorInfo::Record record = {std::vector<uint64_t>(bytes / 8), {}};
  std::memcpy(record.words.data(), &desc, bytes);
  return record;
}

class LibraryKernels {
public:
  LibraryKernels(mlir::gpu::GPUModuleOp module, SiteTable &sites, const CudaOptions &options);

  /// `number`: the program's of the kernel; `symbol`: of its generated form. `onlyWhole`: no
  /// product that leaves something to a kernel behind it.
  void add(plan::KernelOp kernel, int32_t number, const std::string &symbol, bool onlyWhole);
  /// A kernel that brings a filter from S… I O to O S… I.
  struct Arrangement {
    std::string name;
    int32_t blocks = 1, threads = 0;
  };
  /// Filters of one type share one. `kernel` is one that reads such a filter.
  const Arrangement &arrangementOf(plan::KernelOp kernel, mlir::RankedTensorType filter);
  /// The fields of a weir_cuda_record that are what libraries may do.
  using Records = std::vector<AcceleratorInfo::Record>;
  void addRecords(Records &products, Records &convolutions, Records &poolings,
                  Records &attentions) const;
  /// What libraries may do in place of the kernel of that number, a line or nothing.
  void list(llvm::raw_ostream &os, int32_t number) const;

private:
  // Descriptions, and the names that are pointers in them.
  struct ProductForm {
    weir_cuda_product desc;
    std::string rest; ///< "": none
  };
  struct ConvolutionForm {
    weir_cuda_convolution desc;
    std::string rest, arrange;      ///< "": none
    std::vector<std::string> plans; ///< made for GPUs that are known
  };
  struct PoolingForm {
    weir_cuda_pooling desc;
    std::vector<std::string> plans;
  };
  struct AttentionForm {
    weir_cuda_attention desc;
    std::vector<std::string> plans;
  };

  template <typename Match, typename Entry>
  void addRest(plan::KernelOp kernel, const Match &match, const std::string &name, Entry &entry);
  /// Plans that the library of this machine makes for GPUs that it is told of.
  template <typename Entry, typename Make> void addPlans(Entry &entry, Make make) const;

  mlir::gpu::GPUModuleOp module;
  SiteTable &sites;
  const CudaOptions &options;
  std::vector<DeviceProfile> profiles; ///< that plans can be made for
  llvm::DenseMap<mlir::Type, Arrangement> arrangements;
  // Ascending by kernel.
  std::vector<ProductForm> products;
  std::vector<ConvolutionForm> convolutions;
  std::vector<PoolingForm> poolings;
  std::vector<AttentionForm> attentions;
};

} // namespace weir

#endif // WEIR_COMPILER_CODEGEN_CUDA_LIBRARYKERNELS_H
