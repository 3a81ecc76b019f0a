//===- reader.h - records of files whose names come from a queue -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A reader takes names out of a queue, one after the other, and reads records
// out of the file of that name (its work) until it ends. Formats and statuses
// are TensorFlow's (core/framework/reader_base, core/kernels/*_reader_op).
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_INPUT_READER_H
#define WEIR_RUNTIME_INPUT_READER_H

#include "input/input_stream.h"
#include "kernels/queue.h"
#include "kernels/string_support.h"
#include "weir/input.h"

namespace weir::rt {

class Reader;

/// A run's turn at a reader. Who has it may take names out of the queue; the
/// others wait in the order they came.
struct ReaderAttempt : Wait {
  Reader *reader;
  ReaderAttempt *following;
  QueueAttempt *question; ///< a name that is being waited for
};

/// Thread-safe where nothing else is said.
class Reader : public Resource {
public:
  struct Parameters {
    weir_reader_kind kind;
    Encoding encoding;
    int64_t recordBytes, headerBytes, footerBytes, hopBytes;
    int64_t skippedLines;
  };
  static Reader *create(const Parameters &parameters);

  void begin(ReaderAttempt *attempt);
  /// Gives up the turn, or the place in the line.
  void end(ReaderAttempt *attempt);

  /// Guards all that is below; not held while someone waits for a name.
  Mutex mutex;

  bool hasWork() const { return started > finished; }
  /// Begins with the file called `name`. WEIR_OK, or the run has failed.
  int32_t startWork(weir_context *ctx, const weir_string &name);
  void endWork();
  /// Reads the next record; `isProduced`: there was one; `isLast`: the work has
  /// no more. WEIR_OK, or the run has failed.
  int32_t read(weir_context *ctx, Growing &key, Growing &value, bool *isProduced, bool *isLast);

  int64_t produced, started, finished;

  int32_t serialize(weir_context *ctx, weir_tensor &result);
  int32_t restore(weir_context *ctx, const weir_string &state);
  void resetState();

private:
  explicit Reader(const Parameters &parameters);
  static void resetReader(Resource *resource);
  static void destroyReader(Resource *resource);

  bool setName(const weir_string &name);
  int32_t openFile(weir_context *ctx);
  int32_t failStream(weir_context *ctx);
  int32_t failRecord(weir_context *ctx, const char *what, int64_t place, const char *more = "");
  void writeKey(Growing &key, int64_t place);
  int32_t readWhole(weir_context *ctx, Growing &value);
  int32_t readLine(weir_context *ctx, Growing &value, bool *isFound);
  int32_t readFixed(weir_context *ctx, Growing &value, bool *isFound);
  int32_t readChecked(weir_context *ctx, Growing &value, bool *isFound);

  const Parameters parameters;
  Mutex lineMutex;
  ReaderAttempt *first = nullptr, *last = nullptr; ///< the line; the first has the turn
  char *work = nullptr;                            ///< the file's name, ends with a zero
  int64_t workSize = 0;
  InputStream stream;
  int64_t number = 0;       ///< of the line or the record
  int64_t offset = 0;       ///< of the next checked record
  uint8_t *ahead = nullptr; ///< read of a file of records of one size: one, and the footer
  int64_t aheadSize = 0;
};

} // namespace weir::rt

#endif // WEIR_RUNTIME_INPUT_READER_H
