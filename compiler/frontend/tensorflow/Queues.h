//===- Queues.h - queues that nodes name ------------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_TENSORFLOW_QUEUES_H
#define WEIR_COMPILER_FRONTEND_TENSORFLOW_QUEUES_H

#include "compiler/frontend/tensorflow/GraphImporter.h"

namespace weir::tf {

/// How many elements a call is about; the first attribute of the kernels.
enum class QueueMode : int64_t { Single, Batch, UpTo };

struct QueueAt {
  Value handle;
  const QueueInfo *info;
};

/// The name under which a session keeps what a node makes: a letter of its kind,
/// its container, and the shared name or the node's.
std::string resourceName(NodeImport &n, char letter);

/// The queue that an input names; none after a report.
std::optional<QueueAt> queueAt(NodeImport &n, size_t input);

/// Whether a node waits for as long as it takes; reports where it says for how long, which
/// TensorFlow does not do either.
bool waitsForever(NodeImport &n);

/// A wait of the step, whose results are those of the node: `kernel` gives a ticket,
/// `finish` what was waited for.
LogicalResult waitWith(NodeImport &n, llvm::StringRef kernel, llvm::StringRef finish,
                       mlir::ValueRange operands, llvm::ArrayRef<int64_t> attributes,
                       llvm::ArrayRef<int64_t> finishAttributes, llvm::ArrayRef<Type> types);

/// Attributes of the runtime's kernels of queues.
llvm::SmallVector<int64_t> queueAttributes(const QueueInfo &info, QueueMode mode);

} // namespace weir::tf

#endif // WEIR_COMPILER_FRONTEND_TENSORFLOW_QUEUES_H
