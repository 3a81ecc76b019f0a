//===- print.cpp - text that a run writes for people ----------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// TensorFlow's Print and PrintV2. How often a node has printed is state of the session,
// a store of the node's name.
//
//===----------------------------------------------------------------------===//

#include "input/stream_text.h"
#include "kernels/tensor_text.h"
#include "stores/store.h"

#include <fcntl.h>
#include <stdio.h>

using namespace weir::rt;

namespace {

class Counter : public Store {
public:
  Counter() : Store(true) {}

  int64_t count = 0;

  void startAnew() { count = 0; }
  static Resource *make(void *) { return newStore<Counter>(); }
};

/// Behind what the file has; one call, so that lines of several runs do not mix.
int32_t appendTo(weir_context *ctx, const weir_string &name, const Growing &text) {
  Growing path(ctx);
  path << name << '\0';
  if (path.failed())
    return WEIR_RESOURCE_EXHAUSTED;
  return writeFile(ctx, path.data(), O_APPEND, {text.data(), text.size()});
}

} // namespace

int32_t weir_kernel_print(weir_context *ctx, const weir_tensor *operands, int32_t operand_count,
                          weir_tensor *, int32_t, const int64_t *attributes) {
  enum { Output = 1, Errors = 2 };
  weir_string before, end, file;
  if (operand_count < 4 || !loadString(operands[1], &before) || !loadString(operands[2], &end) ||
      !loadString(operands[3], &file))
    return failOperands(ctx, operands, operand_count < 4 ? operand_count : 4);
  const int64_t where = attributes[0], shown = attributes[1], times = attributes[2];
  if (times >= 0) {
    int32_t code;
    auto *counter =
        static_cast<Counter *>(openStore(ctx, operands[0], Counter::make, nullptr, &code));
    if (!counter)
      return code;
    Lock lock(counter->mutex);
    if (counter->count >= times)
      return WEIR_OK;
    ++counter->count;
  }
  PlainLocale locale;
  Growing text(ctx);
  text << before;
  for (int32_t i = 4; i < operand_count; ++i) {
    text << '[';
    printFirst(operands[i], shown, text);
    text << ']';
  }
  text << end;
  if (text.failed())
    return WEIR_RESOURCE_EXHAUSTED;
  if (where != Output && where != Errors)
    return appendTo(ctx, file, text);
  // What cannot be shown ends no run.
  FILE *stream = where == Output ? stdout : stderr;
  (void)fwrite(text.data(), 1, size_t(text.size()), stream);
  (void)fflush(stream);
  return WEIR_OK;
}
