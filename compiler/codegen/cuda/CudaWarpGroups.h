//===- CudaWarpGroups.h - kernels of groups of warps ------ -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// What kernels for sm_90a share in which one thread asks the copy engine for slices and
// groups of four warps multiply them (wgmma): registers, barriers, descriptors, tiles that
// blocks go along, and sums on their way to vectors.
//
// NVIDIA, PTX ISA: wgmma.mma_async, its matrix descriptors and canonical layouts;
// cp.async.bulk.tensor; mbarrier; setmaxnreg.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_CODEGEN_CUDA_CUDAWARPGROUPS_H
#define WEIR_COMPILER_CODEGEN_CUDA_CUDAWARPGROUPS_H

#include "compiler/codegen/cuda/CudaKernel.h"
#include "compiler/codegen/cuda/InlinePtx.h"

namespace weir::warp_groups {

/// A line of a slice, which 128-byte swizzle turns; lines whose sums a group has; groups that
/// multiply, beside the one that copies.
inline constexpr int64_t lineBytes = 128, groupRows = 64, groups = 2, tileRows = groups * groupRows,
                         groupThreads = 4 * warpThreads, threads = (groups + 1) * groupThreads;
/// 64 lines.
inline constexpr int64_t boxBytes = 64 * lineBytes;
/// What a block of sm_90 may have, of the driver's reserve apart.
inline constexpr int64_t mostShared = 227 << 10;
/// Columns whose sums a warp has in shared memory at once, and floats of such a line.
inline constexpr int64_t stagedColumns = 64, stagedLine = stagedColumns + 4,
                         stagedBytes = tensorCoreRows * stagedLine * 4;

/// A block of `threads` for each multiprocessor; the function's last `maps` parameters are
/// descriptions of tensors.
void shapeLaunch(const CudaKernel &k, int64_t maps);

/// Divides the block: one thread of the first group, which gives registers away, runs `copy`;
/// each other group takes them and runs `multiply` with its number among those, from 0.
void inRoles(CudaReader &r, mlir::Value thread, llvm::function_ref<void()> copy,
             llvm::function_ref<void(mlir::Value own)> multiply);

mlir::Value word(CudaReader &r, int64_t value);
mlir::Value toWord(CudaReader &r, mlir::Value value);
/// An address of shared memory, i64, `bytes` (of type index) behind `base`.
mlir::Value sharedAt(CudaReader &r, mlir::Value base, mlir::Value bytes);
mlir::Value sharedAt(CudaReader &r, mlir::Value base, int64_t bytes);

/// Makes barriers at `base` + offset, each of which counts so many arrivals, and makes them
/// known to all threads and to the engine.
void makeBarriers(CudaReader &r, mlir::Value thread, mlir::Value base,
                  llvm::ArrayRef<std::pair<int64_t, int64_t>> offsetsAndCounts);

/// Waits in the text until the phase of a parity of the barrier at an address is over;
/// `name`: of the place to wait at, once in a text. Writes predicate w_p.
void waitForPhase(InlinePtx &ptx, llvm::StringRef name, const std::string &address,
                  const std::string &parity);

/// Makes register `name` a descriptor of an operand at address `at` with 128-byte swizzle:
/// 1,024 bytes from eight lines to the next eight; of one that lies across the depth,
/// `acrossBytes` from 64 rows (columns) to the next 64, else 0.
void describeOperand(InlinePtx &ptx, const std::string &name, const std::string &at,
                     int64_t acrossBytes);

/// Runs `step` for the number of each of the block's tiles, of which there are `tiles`, with
/// what it carries from one to the next, `carried` words that are 0 at first.
void alongTiles(CudaReader &r, mlir::Value tiles, int64_t carried,
                llvm::function_ref<void(mlir::Value, llvm::SmallVector<mlir::Value> &)> step);

/// All lanes of a warp come here; what they wrote to shared memory is seen by all.
void meetWarp(CudaReader &r);

/// Where a warp has the sum of one of its 16 rows and a column of `stagedColumns`, as a
/// pointer; `staging`: address of its memory.
mlir::Value stagedPlace(CudaReader &r, mlir::Value staging, mlir::Value row, mlir::Value column);

/// In a module that was lowered to LLVM: descriptions of tensors are parameters by value.
void passMapsByValue(mlir::gpu::GPUModuleOp module);

} // namespace weir::warp_groups

#endif // WEIR_COMPILER_CODEGEN_CUDA_CUDAWARPGROUPS_H
