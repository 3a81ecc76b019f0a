//===- DeviceKind.h - kinds of devices ----------------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What placement and plans ask of a kind of device, and the table of those that
// are known. A kind is registered once, at the program's begin, with what the
// compiler asks of it (compiler/codegen/device/DeviceBackend.h).
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_ANALYSIS_DEVICEKIND_H
#define WEIR_PASSES_ANALYSIS_DEVICEKIND_H

#include "mlir/IR/Types.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace mlir {
class Operation;
} // namespace mlir

namespace weir {

class KernelSchedules;

/// When a reduction is worth several kernels (weir-split-reductions), in elements, lines and
/// results: as devices have it that compute tens of thousands of results at once.
struct ReductionLimits {
  /// Fewer elements than these are one kernel's however they are reduced.
  int64_t fewElements = 1 << 15;
  /// Lines: what is at least to do for a result, up to what a kernel keeps of a line in
  /// registers; and how many of them large devices have room for at once.
  int64_t shortestLine = 32, shortestPart = 1024, longestLine = 8192, manyLines = 512;
  /// Columns: results that keep memory busy, what each adds up at least, and what is not
  /// worth another kernel.
  int64_t manyResults = 1 << 16, shortestColumn = 16, fewRows = 64;
  /// What is kept of a column in registers, or what is too little for a kernel.
  int64_t longestAcross = 32, shortestAcross = 8;
  /// To read and write so many elements once more takes longer than to launch a kernel.
  int64_t manyElements = 1 << 20;
};

/// Which forms of attention a kind of device computes (matchAttention,
/// passes/analysis/Attention.h).
enum class AttentionForm {
  Plain,   ///< f32, whose lines along keys and values lie in memory as they are read
  General, ///< elements of any float type, wherever they lie: slices, repeated heads, any order
};

/// Which attentions are worth one kernel (passes/analysis/Attention.h).
struct AttentionLimits {
  AttentionForm form = AttentionForm::General;
  /// Rows of a head's operands are kept while they are worked on.
  int64_t mostHeadSize = 256;
  /// Fewer keys leave little to save.
  int64_t fewestKeys = 16;
  /// Fewer queries do not pay for what the kernel does first, and where there are as many
  /// queries as keys.
  int64_t fewestQueries = 1, fewestSquareQueries = 1;
};

/// Which products of the device are computed along lines of their operands.
struct GemmLimits {
  /// Where one side has at most so many lines, a product is as fast as the other side is read.
  int64_t mostSkinnyRows = 4;
  /// Bytes are read so many at a time, along the depth.
  int64_t bytesAtOnce = 16;
};

class DeviceKind {
public:
  virtual ~DeviceKind() = default;
  /// The type in devices' names, in upper case.
  virtual llvm::StringRef type() const = 0;
  /// Whether such devices run the steps themselves. Of one kind alone: others have memory of
  /// their own, and are fed.
  virtual bool isHost() const { return false; }
  /// How such a device computes kernels; null: passes need not know.
  virtual const KernelSchedules *schedules() const { return nullptr; }
  /// Why such a device cannot compute `op`, of which the host reads nothing
  /// (whyNotOn in DeviceTraits.h), as what follows "it" in a sentence; empty: it
  /// can. From any thread.
  virtual std::string whyNot(mlir::Operation *op) const = 0;
  /// Whether plans may let values wait in the host's memory (weir_plan.swap_out,
  /// swap_in, await_swap in steps of such a device).
  virtual bool canSwap() const { return false; }
  /// Whether an attention is one kernel for such a device, as matchAttention
  /// (passes/analysis/Attention.h) has it in the form that attentionLimits says.
  virtual bool takesAttention() const { return false; }
  /// Whether such a device computes f16 and bf16 itself; where not, weir-widen-halves makes
  /// what it computes f32.
  virtual bool computesHalves() const { return !isHost(); }
  /// When reductions of such a device are split.
  virtual ReductionLimits reductionLimits() const { return {}; }
  /// Which attentions are kernels of such a device.
  virtual AttentionLimits attentionLimits() const { return {}; }
  /// How products of such a device read their operands (weir-gemm-operand-layout).
  virtual GemmLimits gemmLimits() const { return {}; }
  /// Whether such a device sorts, as kernels: of which operations, whyNot says.
  virtual bool takesSorts() const { return false; }
  /// Whether several devices of a task may reduce tensors of such elements together
  /// (weir_plan.has_collective, all_reduce in steps of such a device).
  virtual bool reducesTogether(mlir::Type element) const { return false; }
  /// Whether such a device keeps the values of variables (weir_plan.variable_read,
  /// variable_assign in steps of such a device).
  virtual bool keepsVariables() const { return false; }
  /// Whether such a device decides itself how often a loop comes by and which side of a
  /// conditional does, from what its kernels have left in its memory (loads of conditions,
  /// weir_plan.condition, in steps of such a device).
  virtual bool decidesControl() const { return false; }
};

/// Makes `kind`, which lives as long as the process, known; false: its type is
/// known already, and nothing was done. Thread-safe, as what follows.
bool registerDeviceKind(const DeviceKind &kind);
/// Null: there is none of that type.
const DeviceKind *findDeviceKind(llvm::StringRef type);
/// The kind that is the host; null: none is known.
const DeviceKind *hostKind();
/// In the order in which they were registered.
llvm::SmallVector<const DeviceKind *> deviceKinds();

} // namespace weir

#endif // WEIR_PASSES_ANALYSIS_DEVICEKIND_H
