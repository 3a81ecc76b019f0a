//===- dnn_session.cpp - cuDNN in a session -------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/dnn_session.h"
#include "cuda/cuda_device.h"

#include <new>
#include <stdlib.h>

namespace weir::rt::cuda {

//===----------------------------------------------------------------------===//
// A session's library
//===----------------------------------------------------------------------===//

DnnSession *openDnn(const CudaDevice &device) {
  void *memory = calloc(1, sizeof(DnnSession));
  if (!memory)
    return nullptr;
  auto *session = new (memory) DnnSession();
  session->device = &device;
  session->trials = wantedTrials();
  const weir_cuda_record &record = *device.record;
  if (!record.convolution_count && !record.pooling_count && !record.attention_count)
    return session;
  const Dnn *dnn = loadDnn();
  if (!dnn || dnn->create(&session->handle) != 0)
    return session;
  session->dnn = dnn;
  session->file = openChoices(device, "cudnn", int64_t(dnn->version()));
  return session;
}

void closeDnn(DnnSession *session) {
  if (!session)
    return;
  if (session->dnn)
    session->dnn->destroy(session->handle);
  ChoiceFile::close(session->file);
  free(session);
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

/// Loads what the file has: bytes of the text, and the text.
static DnnDescriptor loadChoice(const DnnSession &session, const char *problem,
                                int64_t *workspace) {
  int64_t count = 0;
  const uint64_t *words = session.file ? session.file->findAny(problem, &count) : nullptr;
  if (!words || count < 2 || words[0] == 0 || words[0] > uint64_t(count - 1) * 8)
    return nullptr;
  return loadPlan(*session.dnn, {session.handle, nullptr},
                  reinterpret_cast<const char *>(words + 1), int64_t(words[0]), workspace);
}

static void keepChoice(const DnnSession &session, const char *problem, const PlanText &text) {
  int64_t count = 1 + (text.bytes + 7) / 8;
  auto *words = static_cast<uint64_t *>(calloc(size_t(count), 8));
  if (!words)
    return;
  words[0] = uint64_t(text.bytes);
  memcpy(words + 1, text.data, size_t(text.bytes));
  session.file->add(problem, words, count);
  free(words);
}

namespace {
/// The name of a problem whose ways were timed.
struct TimedName {
  char text[560];
  explicit TimedName(const DnnProblem &problem) {
    Text(text, sizeof(text)) << timedPrefix << problem.name;
  }
};
} // namespace

DnnDescriptor loadTimed(const DnnSession &session, const DnnProblem &problem, int64_t *workspace) {
  return loadChoice(session, TimedName(problem).text, workspace);
}

DnnDescriptor loadKnown(const DnnSession &session, const DnnProblem &problem, int64_t *workspace) {
  for (int64_t i = 0; i < problem.planCount; ++i)
    if (DnnDescriptor plan = loadPlan(*session.dnn, {session.handle, nullptr}, problem.plans[i],
                                      int64_t(strlen(problem.plans[i])), workspace))
      return plan;
  return loadChoice(session, problem.name, workspace);
}

DnnDescriptor adoptPlan(const DnnSession &session, const DnnProblem &problem, bool isTimed,
                        PlanText text, int64_t *workspace) {
  if (!text.data)
    return nullptr;
  DnnDescriptor plan =
      loadPlan(*session.dnn, {session.handle, nullptr}, text.data, text.bytes, workspace);
  if (plan && session.file)
    keepChoice(session, isTimed ? TimedName(problem).text : problem.name, text);
  free(text.data);
  return plan;
}

//===----------------------------------------------------------------------===//
// Execution
//===----------------------------------------------------------------------===//

/// A plan, and all that it is executed with.
struct DnnPut {
  const DnnSession &session;
  DnnDescriptor plan;
  const DnnOperands &operands;
  Pointer workspace;

  /// The session's mutex is held.
  int32_t into(Stream stream) const {
    const Dnn &dnn = *session.dnn;
    DnnDescriptor pack = nullptr;
    if (int32_t error = dnn.describe(dnn::variantPack, &pack))
      return error;
    int32_t error = dnn.set(pack, dnn::packIds, dnn::typeInt64, operands.count, operands.ids);
    if (!error)
      error = dnn.set(pack, dnn::packPointers, dnn::typePointer, operands.count, operands.pointers);
    if (!error)
      error = dnn.set(pack, dnn::packWorkspace, dnn::typePointer, 1, &workspace);
    if (!error)
      error = dnn.finalize(pack);
    if (!error)
      error = dnn.setStream(session.handle, stream);
    if (!error)
      error = dnn.execute(session.handle, plan, pack);
    dnn.forget(pack);
    return error;
  }
};

DnnTrial::DnnTrial(DnnSession &session)
    : session(session), trials(*session.device), workspace(trials.take(planWorkspace)) {}

float timePlan(DnnTrial &trial, DnnDescriptor plan) {
  DnnPut put = {trial.session, plan, trial.operands, trial.workspace};
  return trial.trials.time(
      [](void *data, Stream stream) { return static_cast<DnnPut *>(data)->into(stream); }, &put);
}

int32_t mostTimed(const DnnTrial &trial) { return trial.session.trials; }

int32_t putPlan(DnnSession &session, DnnDescriptor plan, const DnnOperands &operands,
                Pointer workspace, Stream stream) {
  Lock lock(session.mutex);
  return DnnPut{session, plan, operands, workspace}.into(stream);
}

} // namespace weir::rt::cuda
