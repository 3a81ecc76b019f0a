//===- CheckpointTarget.cpp - libFuzzer: checkpoints to restore -----------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A session restores its variables from the input: the index of a checkpoint in the format that
// Saver writes now, or with the first bit set a whole one in its older format. Values change all
// or not at all.
//
//===----------------------------------------------------------------------===//

#include "test/fuzz/runtime/Scratch.h"
#include "test/unit/runtime/test_program.h"

using namespace weir::rt::test;

static std::vector<float> valueOf(weir_session *session) {
  std::vector<float> value(6);
  weir_status status = WEIR_STATUS_INIT;
  weir_tensor tensor = {value.data(), 24, WEIR_F32, 2, {2, 3}};
  if (weir_session_get_variable(session, "w", &tensor, &status))
    std::abort();
  return value;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 1)
    return 0;
  static auto *program = [] {
    auto *made = new TestProgram;
    made->blobs(std::vector<float>{1, 2, 3, 4, 5, 6});
    made->slot("w", WEIR_F32, {2, 3}, 0, 24);
    made->slot("b", WEIR_F32, {3}, 0, 12);
    return made;
  }();
  const bool isOld = data[0] & 1;
  const std::string prefix = weir::fuzz::scratchPath(".checkpoint");
  weir::fuzz::writeScratch(prefix + (isOld ? "" : ".index"), data + 1, size - 1);
  // Of the older format there is no data beside the file; of the newer it is what it is.
  weir::fuzz::writeScratch(prefix + ".data-00000-of-00001", data, size);
  unlink((prefix + (isOld ? ".index" : "")).c_str());
  TestSession session(program->get(), TestSession::defaults(1));
  const std::vector<float> before = valueOf(session);
  weir_status status = WEIR_STATUS_INIT;
  weir_checkpoint_options options = WEIR_CHECKPOINT_OPTIONS_INIT;
  options.partial = data[0] >> 1 & 1;
  if (weir_session_restore(session, prefix.c_str(), &options, &status)) {
    if (!*status.message || valueOf(session) != before)
      std::abort();
  }
  return 0;
}
