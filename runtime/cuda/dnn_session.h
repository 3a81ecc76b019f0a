//===- dnn_session.h - cuDNN in a session ------------------ -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// What a session keeps of the library for one GPU: a handle, and the file of what
// was chosen. A plan comes from the object, where weirc made one for this very GPU,
// driver and library; else from the file of choices; else the library is asked.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_CUDA_DNN_SESSION_H
#define WEIR_RUNTIME_CUDA_DNN_SESSION_H

#include "cuda/dnn_graph.h"
#include "cuda/library.h"
#include "cuda/trials.h"

namespace weir::rt::cuda {

struct DnnSession {
  const CudaDevice *device;
  int32_t trials; ///< of the library's ways, how many are timed
  const Dnn *dnn; ///< null: kernels do the work
  DnnHandle handle;
  ChoiceFile *file; ///< null: choices are not kept
  Mutex mutex;      ///< guards plans, file, and the handle
};

/// Loads the library if the program has something for it. Null: out of host memory
/// alone; a missing library is none of it. The device's context is current, as
/// below.
DnnSession *openDnn(const CudaDevice &device);
/// Writes new choices to the file.
void closeDnn(DnnSession *session);

/// Pointers of a plan's tensors, by number.
class DnnOperands {
public:
  /// 0: there is no such tensor. A number that the host gives lies in its memory.
  void add(int64_t id, Pointer pointer) {
    if (pointer == 0)
      return;
    ids[count] = id;
    pointers[count++] = pointer;
  }

private:
  friend struct DnnPut;
  int64_t ids[8];
  Pointer pointers[8];
  int64_t count = 0;
};

/// Times plans of one problem on memory of its own.
class DnnTrial {
public:
  explicit DnnTrial(DnnSession &session);
  /// A tensor of `bytes` bytes; 0: there is none.
  void add(int64_t id, int64_t bytes) { operands.add(id, trials.take(bytes)); }
  /// A number that the host gives.
  void addNumber(int64_t id, const void *number) { operands.add(id, Pointer(number)); }
  bool isUsable() const { return trials.isUsable(); }

private:
  friend float timePlan(DnnTrial &, DnnDescriptor);
  friend int32_t mostTimed(const DnnTrial &);
  DnnSession &session;
  Trials trials;
  DnnOperands operands;
  Pointer workspace;
};

/// A problem of the library's, for which it may have a plan.
struct DnnProblem {
  const char *const *plans; ///< that weirc made
  int64_t planCount;
  const char *name; ///< in the file of choices
};

/// The plan that was timed once for the problem, made ready; null: there is none. The
/// mutex is held, or nobody else has the session yet; so in the next.
DnnDescriptor loadTimed(const DnnSession &session, const DnnProblem &problem, int64_t *workspace);
/// The same for what is known without a trial.
DnnDescriptor loadKnown(const DnnSession &session, const DnnProblem &problem, int64_t *workspace);
/// Makes what the library answered ready, keeps it in the file, and frees the text.
/// Null: it is no plan.
DnnDescriptor adoptPlan(const DnnSession &session, const DnnProblem &problem, bool isTimed,
                        PlanText text, int64_t *workspace);

/// The plan for a problem, made ready: what was timed, now or once, goes first. `ask`
/// asks the library for a place, `fill` gives a trial its tensors. Null: the library
/// knows none.
template <typename Ask, typename Fill>
DnnDescriptor findPlan(DnnSession &session, const DnnProblem &problem, int64_t *workspace, Ask ask,
                       Fill fill) {
  DnnDescriptor plan = loadTimed(session, problem, workspace);
  if (!plan && session.trials > 0) {
    DnnTrial trial(session);
    fill(trial);
    if (trial.isUsable())
      plan = adoptPlan(session, problem, /*isTimed=*/true,
                       ask(DnnPlace{session.handle, nullptr, &trial}), workspace);
  }
  if (!plan)
    plan = loadKnown(session, problem, workspace);
  if (!plan)
    plan = adoptPlan(session, problem, /*isTimed=*/false, ask(DnnPlace{session.handle, nullptr}),
                     workspace);
  return plan;
}

/// Puts a plan's work into `stream`. Returns a cudnnStatus_t.
int32_t putPlan(DnnSession &session, DnnDescriptor plan, const DnnOperands &operands,
                Pointer workspace, Stream stream);

} // namespace weir::rt::cuda

#endif // WEIR_RUNTIME_CUDA_DNN_SESSION_H
