//===- summaries.h - files that TensorBoard reads ---------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_SUMMARIES_H
#define WEIR_SUMMARIES_H

#include "weir/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A writer of event files is state of the session. The first operand is its name, one
/// string.
/// open:  name, folder, suffix of the file's name. Makes the folder; a writer that is
///        open stays as it is
/// write: name, step (one i64), message. Attribute: the event's field (4: a GraphDef, 5:
///        a Summary), or 0: the message is an event. NOT_FOUND: it is not open
/// close: name. What was written is in the file before, too
WEIR_LIBRARY_FUNCTION(weir_kernel_summary_open);
WEIR_LIBRARY_FUNCTION(weir_kernel_summary_write);
WEIR_LIBRARY_FUNCTION(weir_kernel_summary_close);

/// A Summary of one tensor: tag, a serialized TensorProto, serialized
/// SummaryMetadata -> one string. Attribute: whether metadata of no bytes are a field, too.
WEIR_LIBRARY_FUNCTION(weir_kernel_tensor_summary);

#ifdef __cplusplus
}
#endif

#endif // WEIR_SUMMARIES_H
