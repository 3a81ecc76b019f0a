//===- errors.cpp - how errors travel out of generated code ---------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "session/run.h"

#include <stdlib.h>

namespace weir::rt {

/// Writes a message with {0} and {1} replaced by the values.
static void appendFilled(Text &out, const char *message, int64_t value0, int64_t value1) {
  const char *begin = message;
  for (const char *c = message; *c; ++c) {
    if (c[0] != '{' || (c[1] != '0' && c[1] != '1') || c[2] != '}')
      continue;
    out.append(begin, c - begin) << (c[1] == '0' ? value0 : value1);
    c += 2;
    begin = c + 1;
  }
  out << begin;
}

const char *nodeOf(const weir_run *run, int32_t site) {
  const weir_program_desc *program = run->session->program;
  bool exists = site >= 0 && site < program->site_count;
  return exists ? program->sites[site].node : "";
}

int32_t recordError(weir_run *run, const ErrorRecord &error) {
  ErrorRecord record = error;
  if ((record.code & 0xff) == 0)
    record.code = WEIR_UNKNOWN;
  record.text = error.text ? strdup(error.text) : nullptr;
  Lock lock(run->mutex);
  // Each error ends its kernel, so that there are as many as threads. Code that
  // goes on in spite of errors loses the last ones' messages, not the failure.
  if (run->errorCount == weir_run::errorCapacity) {
    free(record.text);
    return encodeError(weir_run::errorCapacity - 1, record.code);
  }
  run->errors[run->errorCount] = record;
  return encodeError(run->errorCount++, record.code);
}

int32_t recordError(weir_run *run, int32_t code, int32_t site, const char *text) {
  return recordError(run, {code, site, 0, 0, const_cast<char *>(text), false});
}

int32_t recordedError(weir_run *run, int32_t code, int32_t site) {
  Lock lock(run->mutex);
  for (int32_t i = run->errorCount; i-- > 0;)
    if (run->errors[i].code == code && run->errors[i].site == site)
      return encodeError(i, code);
  return 0;
}

int32_t abortRun(weir_run *run, int32_t code, const char *text) {
  // Not worth a record when another has won already.
  if (uint32_t aborted = run->aborted.load(std::memory_order_acquire))
    return int32_t(aborted);
  return abortRun(run, recordError(run, code, -1, text));
}

int32_t describeError(weir_run *run, weir_status *status) {
  auto encoded = int32_t(run->aborted.load(std::memory_order_acquire));
  int32_t index = (encoded >> 8) - 1;
  Lock lock(run->mutex);
  if (encoded < 0 || index < 0 || index >= run->errorCount) {
    // Not one of ours: a library function's own number.
    int32_t code = encoded > 0 && encoded <= WEIR_UNAUTHENTICATED ? encoded : int32_t(WEIR_UNKNOWN);
    StatusText(status, code) << "a step ended with code " << encoded << ", and without a message";
    return code;
  }
  const ErrorRecord &error = run->errors[index];
  const weir_program_desc *program = run->session->program;
  StatusText out(status, error.code);
  const char *message = error.text;
  if (error.site >= 0 && error.site < program->site_count) {
    const weir_error_site &site = program->sites[error.site];
    out << "node \"" << site.node << '"';
    if (site.operation && *site.operation)
      out << " (" << site.operation << ')';
    out << ": ";
    if (!message)
      message = site.message;
  }
  if (error.fill)
    appendFilled(out, message ? message : "failed", error.value0, error.value1);
  else
    out << (message ? message : "failed");
  return error.code;
}

int32_t checkStop(weir_run *run) {
  if (uint32_t code = run->aborted.load(std::memory_order_relaxed))
    return int32_t(code);
  if (run->deadline != noDeadline && now() >= run->deadline)
    return abortRun(run, WEIR_DEADLINE_EXCEEDED, "the time that the run was given is over");
  return WEIR_OK;
}

} // namespace weir::rt

using namespace weir::rt;

int32_t weir_rt_error(weir_context *ctx, int32_t site, int64_t value0, int64_t value1) {
  const weir_program_desc *program = ctx->run->session->program;
  bool exists = site >= 0 && site < program->site_count;
  int32_t code = exists ? program->sites[site].code : int32_t(WEIR_INTERNAL);
  return recordError(ctx->run, {code, site, value0, value1, nullptr, true});
}

int32_t weir_rt_error_text(weir_context *ctx, int32_t site, int32_t code, const char *message,
                           int64_t value0, int64_t value1) {
  // A library function need not know whose it is.
  if (site < 0)
    site = ctx->run->devices[ctx->device].librarySite;
  return recordError(ctx->run, {code, site, value0, value1, const_cast<char *>(message), true});
}
