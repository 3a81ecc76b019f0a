//===- cuda_launch.h - launches that are noted -------------- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// What the files share that note what a step launches.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_CUDA_CUDA_LAUNCH_H
#define WEIR_RUNTIME_CUDA_CUDA_LAUNCH_H

#include "cuda/cuda_device.h"

namespace weir::rt::cuda {

inline const char *nodesOf(weir_context *ctx, int32_t kernel) {
  return ctx->run->session->program->kernels[kernel].nodes;
}

inline int32_t outOfHostMemory(weir_context *ctx) {
  return abortRun(ctx->run, WEIR_RESOURCE_EXHAUSTED, "no memory for a step's work");
}

/// What a kernel is launched with.
struct Arguments {
  int32_t kernel;
  void *const *buffers;
  int32_t bufferCount;
  const int64_t *sizes;
  int32_t sizeCount;

  Pointer buffer(int32_t number) const { return number < 0 ? 0 : Pointer(buffers[number]); }
};

/// Parameters behind a kernel's own.
struct MoreParameters {
  uint64_t values[6];
  int32_t count;
  const uint8_t *maps = nullptr; ///< WEIR_CUDA_MAP_BYTES each
  int32_t mapCount = 0;
  uint32_t shared = 0; ///< bytes of a block's memory

  static MoreParameters pointer(Pointer data) { return {{data}, data ? 1 : 0}; }
};

/// Notes a launch; its parameters are a record for errors, the buffers, the sizes
/// and `more`. `number`: of the function among weir_accelerator_desc::kernels; -1: it has none.
/// False: there is no memory.
bool noteLaunch(weir_context *ctx, Function function, int32_t number, const Arguments &arguments,
                const MoreParameters &more, int64_t blocks, int32_t threads);

/// Memory of the GPU in the order of the step: when the call is noted, it is free
/// for what is put behind it.
class Scratch {
public:
  explicit Scratch(weir_context *ctx) : ctx(ctx) {}
  ~Scratch() {
    for (int32_t i = 0; i < count; ++i)
      weir_cuda_free(ctx, taken[i]);
  }
  Scratch(const Scratch &) = delete;
  Scratch &operator=(const Scratch &) = delete;

  /// 0: there is none.
  Pointer take(int64_t bytes, const char *nodes) {
    bool used;
    void *data = takePiece(ctx, bytes, nodes, true, &used, PieceKind::Scratch);
    if (data)
      taken[count++] = data;
    return Pointer(data);
  }

private:
  weir_context *ctx;
  void *taken[3];
  int32_t count = 0;
};

/// Function `number` of weir_accelerator_desc::kernels. Null: the driver does not find it.
Function functionOf(CudaDevice &device, int32_t number);

/// How a launch may be another than that of the kernel alone; one of them, or none.
struct Ways {
  const weir_cuda_parts *parts;
  const weir_cuda_split *split;
  const weir_cuda_sort *sort;
};
/// Whether one block for each tile of queries, as libraries have it, leaves most of a
/// large GPU idle.
bool leavesIdle(const weir_cuda_parts *parts);
/// An attention by parts of its keys; a kernel of few long lines in parts. False: the kernel is to
/// do it all; null descriptions are none. `code`: 0, or the run was aborted.
bool noteParts(weir_context *ctx, const Arguments &arguments, const weir_cuda_parts *parts,
               int32_t *code);
bool noteSplit(weir_context *ctx, const Arguments &arguments, const weir_cuda_split *split,
               int32_t *code);
/// The launches of a sort, of which `take` is the last. Returns 0, or the run was aborted.
int32_t noteSort(weir_context *ctx, const Arguments &arguments, const weir_cuda_sort &sort,
                 Function take, int64_t takeBlocks, int32_t takeThreads);

} // namespace weir::rt::cuda

#endif // WEIR_RUNTIME_CUDA_CUDA_LAUNCH_H
