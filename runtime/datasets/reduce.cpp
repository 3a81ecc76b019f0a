//===- reduce.cpp - what a whole data set comes to ------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "datasets/iterator.h"

#include "kernels/string_support.h"

using namespace weir::rt;

namespace {

/// Goes through a data set, on a thread of the session.
struct Reduction : Counted, AsyncWork {
  Pipeline pipeline;
  Dataset *dataset = nullptr;  ///< held
  Element *state = nullptr;    ///< held
  Element *captures = nullptr; ///< held
  int32_t function = -1;       ///< -1: the only element is wanted
  int64_t boxed = 0;
  Mutex mutex; ///< guards what follows
  Attempt *attempt = nullptr;

  /// Element and state become the next state. False: it has failed.
  bool step(Element &element, Failure &failure) {
    Element *joined = newElement(state->count + element.count, 0);
    if (!joined) {
      failure.noMemory();
      return false;
    }
    for (int32_t i = 0; i < joined->count; ++i)
      shareComponent(*joined, i, i < state->count ? *state : element,
                     i < state->count ? i : i - state->count);
    Element *made = callFunction(pipeline, function, boxed, joined->components, joined->count,
                                 captures, /*threads=*/0, failure);
    release(joined);
    if (!made) {
      (void)endInside(/*preserves=*/true, failure);
      return false;
    }
    release(state);
    state = made;
    return true;
  }

  /// Keeps the only element.
  bool keep(Element &element, Failure &failure) {
    if (state) {
      failure.fail(WEIR_INVALID_ARGUMENT) << "Dataset had more than one element.";
      return false;
    }
    element.hold();
    state = &element;
    return true;
  }

  Next run(Failure &failure) {
    Source *source = makeSource(pipeline, *dataset, failure);
    if (!source)
      return Next::Failed;
    bool goesOn = true;
    while (goesOn) {
      Element *element = nullptr;
      Next got = pull(source, &element, failure);
      if (got == Next::End)
        break;
      goesOn = got == Next::Element &&
               (function < 0 ? keep(*element, failure) : step(*element, failure));
      release(element);
      if (goesOn && pipeline.stops.load(std::memory_order_relaxed)) {
        failure.fail(WEIR_CANCELLED) << "the run has ended";
        goesOn = false;
      }
    }
    destroySource(source);
    if (goesOn && !state) {
      failure.fail(WEIR_INVALID_ARGUMENT) << "Dataset was empty.";
      goesOn = false;
    }
    return goesOn ? Next::Element : Next::Failed;
  }

  static void performRun(AsyncWork *work) {
    auto *self = static_cast<Reduction *>(work);
    Failure failure;
    Next outcome = self->run(failure);
    Task *ready = nullptr;
    {
      Lock lock(self->mutex);
      if (Attempt *attempt = self->attempt) {
        self->attempt = nullptr;
        attempt->isPending = false;
        attempt->outcome = outcome;
        if (outcome == Next::Failed)
          attempt->failure = failure;
        else
          std::swap(attempt->element, self->state);
        endWait(attempt, &ready);
      }
    }
    postTasks(ready);
    release(self);
  }
};

void destroyReduction(Counted *self) {
  auto *reduction = static_cast<Reduction *>(self);
  release(reduction->dataset);
  release(reduction->state);
  release(reduction->captures);
  reduction->~Reduction();
  free(reduction);
}

/// The run ends: whoever is at it gives up.
void dropReduction(Wait *wait) {
  auto *attempt = static_cast<Attempt *>(wait);
  auto *reduction = static_cast<Reduction *>(attempt->job);
  {
    Lock lock(reduction->mutex);
    reduction->attempt = nullptr;
    reduction->pipeline.stops.store(true, std::memory_order_relaxed);
  }
  freeAttempt(attempt);
}

/// Over a data set; null: the run has failed, with `code`.
Reduction *newReduction(weir_context *ctx, const weir_tensor &value, int32_t *code) {
  Failure failure;
  void *memory = malloc(sizeof(Reduction));
  auto *made = memory ? new (memory) Reduction() : nullptr;
  if (!made) {
    *code = failMessage(ctx, WEIR_RESOURCE_EXHAUSTED, "no memory to go through a data set");
    return nullptr;
  }
  made->destroy = destroyReduction;
  made->pipeline.session = ctx->run->session;
  made->dataset = makeDataset(made->pipeline.session, value, failure);
  if (made->dataset)
    return made;
  *code = failWith(ctx, failure);
  release(made);
  return nullptr;
}

/// Has it begin; takes it over.
int32_t start(weir_context *ctx, Reduction *reduction, weir_tensor &ticket) {
  int32_t code = WEIR_OK;
  Attempt *attempt = newAttempt(ctx, reduction, dropReduction, ticket, &code);
  if (!attempt) {
    release(reduction);
    return code;
  }
  reduction->attempt = attempt;
  reduction->perform = Reduction::performRun;
  beginWait(ctx, attempt);
  if (startWork(reduction->pipeline.session, reduction, nullptr) != WEIR_OK)
    Reduction::performRun(reduction);
  return WEIR_OK;
}

} // namespace

int32_t weir_kernel_dataset_reduce(weir_context *ctx, const weir_tensor *operands,
                                   int32_t operand_count, weir_tensor *results, int32_t,
                                   const int64_t *attributes) {
  int32_t code = WEIR_OK;
  Reduction *reduction = newReduction(ctx, operands[0], &code);
  if (!reduction)
    return code;
  weir_string name = {"", 0};
  (void)loadString(operands[1], &name);
  reduction->function = findFunction(reduction->pipeline.session, name);
  auto states = int32_t(attributes[0]);
  reduction->boxed = attributes[1];
  reduction->state = copyToElement(operands + 2, states);
  reduction->captures = copyToElement(operands + 2 + states, operand_count - 2 - states);
  if (reduction->function >= 0 && reduction->state && reduction->captures)
    return start(ctx, reduction, results[0]);
  code = reduction->function < 0
             ? failMessage(ctx, WEIR_NOT_FOUND, "the program has no function of that name")
             : failMessage(ctx, WEIR_RESOURCE_EXHAUSTED, "no memory to go through a data set");
  release(reduction);
  return code;
}

int32_t weir_kernel_dataset_single(weir_context *ctx, const weir_tensor *operands, int32_t,
                                   weir_tensor *results, int32_t, const int64_t *) {
  int32_t code = WEIR_OK;
  Reduction *reduction = newReduction(ctx, operands[0], &code);
  return reduction ? start(ctx, reduction, results[0]) : code;
}

int32_t weir_kernel_dataset_finish(weir_context *ctx, const weir_tensor *operands, int32_t,
                                   weir_tensor *results, int32_t result_count, const int64_t *) {
  int32_t code = WEIR_OK;
  Attempt *attempt = finishedAttempt(ctx, operands[0], &code);
  if (!attempt)
    return code;
  code = giveComponents(ctx, *attempt->element, results, result_count);
  freeAttempt(attempt);
  return code;
}
