//===- ReaderImports.cpp - files, and readers of records ------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A reader is state of the session that the runtime's kernels keep under a name
// (runtime/include/weir/kernels.h), as queues are. Reading is a loop: a file may
// hold no record, and each name may have to be waited for.
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/Loops.h"
#include "compiler/frontend/tensorflow/InputImports.h"
#include "compiler/frontend/tensorflow/Queues.h"

using namespace mlir;
using namespace weir;
using namespace weir::tf;

/// weir_reader_kind.
enum class ReaderKind : int64_t { Files, Lines, Fixed, Records, Identity };

static Type stringType(NodeImport &n) { return StringType::get(n.b.getContext()); }

/// How files are packed, as the kernels count it; none after a report.
static std::optional<int64_t> encodingOf(NodeImport &n, std::string_view attr) {
  std::string_view name = n.s(attr);
  if (name.empty())
    return 0;
  if (name == "ZLIB")
    return 1;
  if (name == "GZIP")
    return 2;
  std::string found(name);
  if (name == "SNAPPY")
    (void)n.unsupported("expected " + Twine(std::string(attr)) +
                        " \"\", \"ZLIB\" or \"GZIP\", got \"SNAPPY\"");
  else
    (void)n.invalid("expected " + Twine(std::string(attr)) + " \"\", \"ZLIB\" or \"GZIP\", got \"" +
                    Twine(found) + "\"");
  return std::nullopt;
}

template <ReaderKind kind> static LogicalResult makeReader(NodeImport &n) {
  std::optional<int64_t> encoding = 0;
  SmallVector<int64_t> sizes(5, 0);
  if (kind == ReaderKind::Records)
    encoding = encodingOf(n, "compression_type");
  if (kind == ReaderKind::Lines)
    sizes[4] = n.i("skip_header_lines");
  if (kind == ReaderKind::Fixed) {
    encoding = encodingOf(n, "encoding");
    const char *names[] = {"record_bytes", "header_bytes", "footer_bytes", "hop_bytes"};
    for (auto [i, name] : llvm::enumerate(names)) {
      sizes[i] = n.i(name);
      if (sizes[i] < (i == 0))
        return n.invalid("expected " + Twine(name) + " of " + Twine(i == 0 ? 1 : 0) +
                         " or more, got " + Twine(sizes[i]));
    }
  }
  if (!encoding)
    return failure();
  std::string name = resourceName(n, 'r');
  // Beside the queues: their names tell which is which.
  QueueInfo &info = n.g.queues[name];
  info.attributes = {int64_t(kind), *encoding};
  info.attributes.append(sizes);
  return n.result(n.stringScalar(name));
}

/// What the kernels are to be told of the reader that input 0 names; null after
/// a report.
static const SmallVector<int64_t> *readerAt(NodeImport &n) {
  Value handle = n.in(0);
  std::optional<std::string> name = handle ? knownString(handle) : std::nullopt;
  auto it = name && name->starts_with('r') ? n.g.queues.find(*name) : n.g.queues.end();
  if (it != n.g.queues.end())
    return &it->second.attributes;
  if (handle)
    (void)n.unsupported("found an input 0 that is no reader known when compiling");
  return nullptr;
}

/// Reads one record, or up to as many as input 2 says.
template <bool isBatch> static LogicalResult read(NodeImport &n) {
  const SmallVector<int64_t> *reader = readerAt(n);
  std::optional<QueueAt> queue = reader ? queueAt(n, 1) : std::nullopt;
  if (!queue)
    return failure();
  Value handle = n.in(0), wanted = isBatch ? n.in(2) : Value();
  if (isBatch && !wanted)
    return failure();
  auto ticketType = RankedTensorType::get({}, n.b.getI64Type());
  IntVector shape;
  if (isBatch)
    shape.push_back(ShapedType::kDynamic);
  auto recordType = RankedTensorType::get(shape, stringType(n));
  Operation *turn =
      n.kernelCall("weir_kernel_reader_begin", {ticketType}, {handle}, *reader, /*isPure=*/false);
  if (!turn)
    return failure();
  Value ticket = turn->getResult(0);
  Value none = isBatch ? n.strings({}) : n.stringScalar("");
  SmallVector<int64_t> attributes = queueAttributes(*queue->info, QueueMode::Single);
  // Goes round once for each name that it needs.
  auto body = [&](Value, frontend::Values carried) -> FailureOr<frontend::Values> {
    n.kernelCall("weir_rt_wait", {}, {carried[0]}, {}, /*isPure=*/false);
    SmallVector<Value> operands{ticket, queue->handle};
    if (wanted)
      operands.push_back(wanted);
    Operation *step =
        n.kernelCall("weir_kernel_reader_advance", {ticketType, recordType, recordType}, operands,
                     attributes, /*isPure=*/false);
    Value next = step->getResult(0);
    return frontend::Values{next, step->getResult(1), step->getResult(2),
                            n.compare("ne", next, 0.0)};
  };
  FailureOr<frontend::Values> made = frontend::buildLoop(
      n, Value(), Value(), {ticket, n.generalize(none, recordType), n.generalize(none, recordType)},
      body);
  if (failed(made))
    return failure();
  return n.results({(*made)[1], (*made)[2]});
}

static LogicalResult ask(NodeImport &n, StringRef kernel, Type element, Ints more = {}) {
  const SmallVector<int64_t> *reader = readerAt(n);
  if (!reader)
    return failure();
  SmallVector<int64_t> attributes(*reader);
  attributes.append(more.begin(), more.end());
  Operation *made = n.kernelCall(kernel, {RankedTensorType::get({}, element)}, {n.in(0)},
                                 attributes, /*isPure=*/false);
  return made ? n.result(made->getResult(0)) : failure();
}

template <int64_t what> static LogicalResult count(NodeImport &n) {
  return ask(n, "weir_kernel_reader_count", n.b.getI64Type(), {what});
}

static LogicalResult serialize(NodeImport &n) {
  return ask(n, "weir_kernel_reader_serialize", stringType(n));
}

/// A kernel that changes the reader and gives nothing.
static LogicalResult change(NodeImport &n, StringRef kernel, size_t inputs) {
  const SmallVector<int64_t> *reader = readerAt(n);
  SmallVector<Value> operands = reader ? n.tensors(0, inputs) : SmallVector<Value>();
  if (operands.empty())
    return failure();
  n.kernelCall(kernel, {}, operands, *reader, /*isPure=*/false);
  return success();
}

static LogicalResult reset(NodeImport &n) { return change(n, "weir_kernel_reader_reset", 1); }
static LogicalResult restore(NodeImport &n) { return change(n, "weir_kernel_reader_restore", 2); }

//===----------------------------------------------------------------------===//
// Whole files
//===----------------------------------------------------------------------===//

static LogicalResult readFile(NodeImport &n) {
  Value name = n.in(0);
  Operation *made =
      n.kernelCall("weir_kernel_read_file", {RankedTensorType::get({}, stringType(n))}, {name}, {},
                   /*isPure=*/false);
  return made ? n.result(made->getResult(0)) : failure();
}

static LogicalResult writeFile(NodeImport &n) {
  SmallVector<Value> operands = n.tensors(0, 2);
  if (operands.empty())
    return failure();
  n.kernelCall("weir_kernel_write_file", {}, operands, {}, /*isPure=*/false);
  return success();
}

static LogicalResult matchingFiles(NodeImport &n) {
  Value patterns = n.in(0);
  auto type = RankedTensorType::get({ShapedType::kDynamic}, stringType(n));
  Operation *made =
      n.kernelCall("weir_kernel_matching_files", {type}, {patterns}, {}, /*isPure=*/false);
  return made ? n.result(made->getResult(0)) : failure();
}

static LogicalResult decodeCompressed(NodeImport &n) {
  Value x = n.in(0);
  std::optional<int64_t> encoding = encodingOf(n, "compression_type");
  if (!x || !encoding)
    return failure();
  if (*encoding == 0)
    return n.result(x);
  return n.result(
      n.kernelCall("weir_kernel_decompress", {x.getType()}, {x}, {*encoding})->getResult(0));
}

ArrayRef<OpImport> weir::tf::readerImports() {
  static const OpImport rows[] = {
      {"DecodeCompressed", decodeCompressed},
      {"FixedLengthRecordReader", makeReader<ReaderKind::Fixed>},
      {"FixedLengthRecordReaderV2", makeReader<ReaderKind::Fixed>},
      {"IdentityReader", makeReader<ReaderKind::Identity>},
      {"IdentityReaderV2", makeReader<ReaderKind::Identity>},
      {"MatchingFiles", matchingFiles},
      {"ReadFile", readFile},
      {"ReaderNumRecordsProduced", count<0>},
      {"ReaderNumRecordsProducedV2", count<0>},
      {"ReaderNumWorkUnitsCompleted", count<1>},
      {"ReaderNumWorkUnitsCompletedV2", count<1>},
      {"ReaderRead", read<false>},
      {"ReaderReadUpTo", read<true>},
      {"ReaderReadUpToV2", read<true>},
      {"ReaderReadV2", read<false>},
      {"ReaderReset", reset},
      {"ReaderResetV2", reset},
      {"ReaderRestoreState", restore},
      {"ReaderRestoreStateV2", restore},
      {"ReaderSerializeState", serialize},
      {"ReaderSerializeStateV2", serialize},
      {"TFRecordReader", makeReader<ReaderKind::Records>},
      {"TFRecordReaderV2", makeReader<ReaderKind::Records>},
      {"TextLineReader", makeReader<ReaderKind::Lines>},
      {"TextLineReaderV2", makeReader<ReaderKind::Lines>},
      {"WholeFileReader", makeReader<ReaderKind::Files>},
      {"WholeFileReaderV2", makeReader<ReaderKind::Files>},
      {"WriteFile", writeFile},
  };
  return rows;
}
