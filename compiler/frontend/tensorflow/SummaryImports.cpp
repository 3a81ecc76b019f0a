//===- SummaryImports.cpp - what is written for TensorBoard ---------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A writer is state of the session that the runtime's kernels keep under a name
// (runtime/include/weir/summaries.h), as readers are.
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/InputImports.h"
#include "compiler/frontend/tensorflow/Queues.h"

using namespace mlir;
using namespace weir;
using namespace weir::tf;

/// weir::rt::EventField; 0: the message is an event.
enum class Event : int64_t { Whole = 0, Graph = 4, Summary = 5 };

static RankedTensorType stringScalar(NodeImport &n) {
  return RankedTensorType::get({}, StringType::get(n.b.getContext()));
}

static LogicalResult makeWriter(NodeImport &n) {
  return n.result(n.stringScalar(resourceName(n, 'w')));
}

/// Whether input 0 is a writer; reports.
static bool isWriter(NodeImport &n) {
  Value handle = n.in(0);
  std::optional<std::string> name = handle ? knownString(handle) : std::nullopt;
  if (name && name->starts_with('w'))
    return true;
  if (handle)
    (void)n.unsupported("found an input 0 that is no summary writer known when compiling");
  return false;
}

/// The queue's length and the time between flushes do not matter: what is written is in
/// the file.
static LogicalResult openFile(NodeImport &n) {
  Value folder = n.in(1), suffix = n.in(4);
  if (!isWriter(n) || !folder || !suffix)
    return failure();
  n.kernelCall("weir_kernel_summary_open", {}, {n.in(0), folder, suffix}, {}, /*isPure=*/false);
  return success();
}

static LogicalResult write(NodeImport &n, Value step, Value message, Event event) {
  if (!isWriter(n) || !step || !message)
    return failure();
  n.kernelCall("weir_kernel_summary_write", {}, {n.in(0), step, message},
               {static_cast<int64_t>(event)}, /*isPure=*/false);
  return success();
}

/// Of a tag and a tensor.
static LogicalResult writeMade(NodeImport &n, StringRef kernel) {
  Value tag = n.in(2), tensor = n.in(3);
  if (!tag || !tensor)
    return failure();
  Operation *made = n.kernelCall(kernel, {stringScalar(n)}, {tag, tensor}, {});
  return made ? write(n, n.in(1), made->getResult(0), Event::Summary) : failure();
}
static LogicalResult writeScalar(NodeImport &n) {
  return writeMade(n, "weir_kernel_scalar_summary");
}
static LogicalResult writeHistogram(NodeImport &n) {
  return writeMade(n, "weir_kernel_histogram_summary");
}

/// `keepsEmpty`: metadata that say nothing are a field, too.
static Value tensorSummary(NodeImport &n, Value tag, Value tensor, Value metadata,
                           bool keepsEmpty) {
  if (!tensor || !tag || !metadata)
    return {};
  Operation *stored = n.kernelCall("weir_kernel_serialize_tensor", {stringScalar(n)}, {tensor},
                                   {static_cast<int64_t>(toDataType(n.i("T")))});
  if (!stored)
    return {};
  return n
      .kernelCall("weir_kernel_tensor_summary", {stringScalar(n)},
                  {tag, stored->getResult(0), metadata}, {keepsEmpty})
      ->getResult(0);
}

/// What tf.summary writes: any tensor, with metadata that say what it is.
static LogicalResult writeTensor(NodeImport &n) {
  Value made = tensorSummary(n, n.in(3), n.in(2), n.in(4), /*keepsEmpty=*/false);
  return made ? write(n, n.in(1), made, Event::Summary) : failure();
}
static LogicalResult makeTensorSummary(NodeImport &n) {
  if (!n.hasRank(n.in(0), 0) || !n.hasRank(n.in(2), 0))
    return failure();
  return n.result(tensorSummary(n, n.in(0), n.in(1), n.in(2), /*keepsEmpty=*/true));
}

template <Event event> static LogicalResult writeMessage(NodeImport &n) {
  return write(n, n.in(1), n.in(2), event);
}

static LogicalResult importEvent(NodeImport &n) {
  return write(n, n.intScalar(0), n.in(1), Event::Whole);
}

static LogicalResult flush(NodeImport &n) { return success(isWriter(n)); }

static LogicalResult closeFile(NodeImport &n) {
  if (!isWriter(n))
    return failure();
  n.kernelCall("weir_kernel_summary_close", {}, {n.in(0)}, {}, /*isPure=*/false);
  return success();
}

ArrayRef<OpImport> weir::tf::summaryImports() {
  static const OpImport rows[] = {
      {"CloseSummaryWriter", closeFile},
      {"CreateSummaryFileWriter", openFile},
      {"FlushSummaryWriter", flush},
      {"ImportEvent", importEvent},
      {"SummaryWriter", makeWriter},
      {"TensorSummaryV2", makeTensorSummary},
      {"WriteGraphSummary", writeMessage<Event::Graph>},
      {"WriteHistogramSummary", writeHistogram},
      {"WriteRawProtoSummary", writeMessage<Event::Summary>},
      {"WriteScalarSummary", writeScalar},
      {"WriteSummary", writeTensor},
  };
  return rows;
}
