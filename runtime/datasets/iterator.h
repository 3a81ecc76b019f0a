//===- iterator.h - who iterates over a data set ----------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_DATASETS_ITERATOR_H
#define WEIR_RUNTIME_DATASETS_ITERATOR_H

#include "datasets/state.h"
#include "session/async.h"
#include "session/run.h"

namespace weir::rt {

/// A run that waits for elements.
struct Attempt : Wait {
  Counted *job; ///< held: what is to end the wait
  Attempt *following;
  /// With the job's lock: it is still to be ended; else who ends it has forgotten it.
  bool isPending;
  bool isOfFunction; ///< the run is a function that a pipeline calls
  Next outcome;
  Element *element; ///< held
  Failure failure;
};

/// A pipeline, a data set and its source. One thread at a time pulls.
struct Iteration : Counted, AsyncWork {
  Pipeline pipeline;
  Dataset *dataset = nullptr; ///< held
  Source *source = nullptr;
  Mutex mutex; ///< guards what follows
  Attempt *first = nullptr, *last = nullptr;
  bool isBusy = false;
  Attempt *serving = nullptr; ///< that something is being pulled for; null: it has ended
  int32_t pausing = 0;        ///< how many want a pause, or have one
  bool hasLeft = false;       ///< `left` was pulled for a run that has ended meanwhile
  Outcome left = {};          ///< an element, or why there is none
  Condition idle;             ///< with the mutex: nobody is busy

  /// Puts an attempt in line, which may be over at once.
  void begin(weir_context *ctx, Attempt *attempt);
  void withdraw(Attempt *attempt);

  /// Nobody begins to pull until `goOn`, but for functions of other pipelines; who does has one
  /// element more to make.
  void pause();
  /// Waits for that, and for what is made ahead.
  void settle();
  /// The same, and nobody pulls from here on.
  void stand();
  /// `stands`: it does.
  void goOn(bool stands);
  /// Where it stands, of one that is paused.
  void save(StateWriter &out);
  /// Of one that nobody has pulled from. False: `failure` tells.
  bool load(const weir_string &state, Failure &failure);

private:
  /// Who waits and may have an element; null: nobody. The mutex is held.
  Attempt *servable() const;
  void remove(Attempt *attempt);
  /// Whoever has come meanwhile is served.
  void stopBeingBusy();
  void startServing();
  void serve();
  static void performServe(AsyncWork *work);
};

/// Over a data set, which it takes over. Null: `failure` tells.
Iteration *newIteration(weir_session *session, Dataset *dataset, Failure &failure);

/// An attempt whose ticket is given already, with a hold on `job`; `withdraw` takes it
/// out of it when its run ends too early. Null: the run has failed, with `code`.
Attempt *newAttempt(weir_context *ctx, Counted *job, void (*drop)(Wait *), weir_tensor &ticket,
                    int32_t *code);
/// Frees an attempt that nobody else knows any more.
void freeAttempt(Attempt *attempt);
/// The attempt of a ticket, which is over; null: the run has failed, with `code`.
Attempt *finishedAttempt(weir_context *ctx, const weir_tensor &ticket, int32_t *code);

/// Makes a result of component `i`, of its type and sizes. WEIR_OK, or the run has failed.
int32_t giveComponent(weir_context *ctx, const weir_tensor &value, int32_t i, weir_tensor &result);
/// The same of all.
int32_t giveComponents(weir_context *ctx, const Element &element, weir_tensor *results,
                       int32_t count);

inline int32_t failWith(weir_context *ctx, const Failure &failure) {
  return failMessage(ctx, failure.code, failure.text);
}

} // namespace weir::rt

#endif // WEIR_RUNTIME_DATASETS_ITERATOR_H
