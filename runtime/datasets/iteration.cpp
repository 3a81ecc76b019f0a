//===- iteration.cpp - runs that wait for elements ------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "datasets/iterator.h"
#include "datasets/state.h"

#include "kernels/sequence_support.h"
#include "session/status.h"

#include <string.h>
#include <utility>

namespace weir::rt {

//===----------------------------------------------------------------------===//
// Attempts
//===----------------------------------------------------------------------===//

Attempt *newAttempt(weir_context *ctx, Counted *job, void (*drop)(Wait *), weir_tensor &ticket,
                    int32_t *code) {
  *code = WEIR_RESOURCE_EXHAUSTED;
  if (!shapeResult(ctx, ticket, 0, nullptr))
    return nullptr;
  auto *attempt = static_cast<Attempt *>(calloc(1, sizeof(Attempt)));
  if (!attempt) {
    *code = failMessage(ctx, WEIR_RESOURCE_EXHAUSTED, "no memory to wait for a data set");
    return nullptr;
  }
  attempt->job = job;
  attempt->drop = drop;
  attempt->isPending = true;
  const weir_program_desc *program = ctx->run->session->program;
  attempt->isOfFunction = ctx->run->entry - program->entries >= program->entry_count;
  job->hold();
  *static_cast<int64_t *>(ticket.data) = int64_t(uintptr_t(attempt));
  *code = WEIR_OK;
  return attempt;
}

void freeAttempt(Attempt *attempt) {
  release(attempt->element);
  release(attempt->job);
  free(attempt);
}

Attempt *finishedAttempt(weir_context *ctx, const weir_tensor &ticket, int32_t *code) {
  auto *attempt =
      reinterpret_cast<Attempt *>(uintptr_t(*static_cast<const int64_t *>(ticket.data)));
  // Resumed because the run was aborted: its end drops the attempt.
  if (!hasEnded(attempt)) {
    *code = failMessage(ctx, WEIR_CANCELLED, "the run ended while it waited");
    return nullptr;
  }
  removeWait(attempt);
  if (attempt->outcome != Next::Failed)
    return attempt;
  *code = failWith(ctx, attempt->failure);
  freeAttempt(attempt);
  return nullptr;
}

static int32_t failType(weir_context *ctx, const weir_tensor &value, const weir_tensor &result,
                        int32_t component) {
  char message[256];
  Text out(message, sizeof(message));
  out << "component " << component << " of an element is " << weir_dtype_name(value.dtype) << ' ';
  appendShape(out, value.rank, value.dims);
  out << ", and the graph says " << weir_dtype_name(result.dtype) << ' ';
  appendShape(out, result.rank, result.dims);
  return failMessage(ctx, WEIR_INVALID_ARGUMENT, message);
}

/// A result that is a sequence of one tensor, or of what a sequence holds.
static int32_t giveBoxed(weir_context *ctx, const weir_tensor &value, weir_tensor &result) {
  int64_t one = 1;
  if (!shapeResult(ctx, result, 1, &one))
    return WEIR_RESOURCE_EXHAUSTED;
  weir_tensor *made = newElement(ctx, value, copyBytes(value));
  if (!made)
    return WEIR_RESOURCE_EXHAUSTED;
  copyElements(value, made->data);
  made->bytes = value.bytes;
  static_cast<weir_tensor_ref *>(result.data)[0] = made;
  return WEIR_OK;
}

int32_t giveComponent(weir_context *ctx, const weir_tensor &value, int32_t i, weir_tensor &result) {
  if (result.dtype == WEIR_TENSOR && value.dtype != WEIR_TENSOR)
    return giveBoxed(ctx, value, result);
  bool fits = value.dtype == result.dtype && value.rank == result.rank;
  for (int32_t d = 0; fits && d < value.rank; ++d)
    fits = result.dims[d] < 0 || result.dims[d] == value.dims[d];
  if (!fits)
    return failType(ctx, value, result, i);
  if (!shapeResult(ctx, result, value.rank, value.dims))
    return WEIR_RESOURCE_EXHAUSTED;
  if (!hasContents(value.dtype)) {
    if (value.bytes > 0)
      memcpy(result.data, value.data, size_t(value.bytes));
    return WEIR_OK;
  }
  // What elements point to stays where it is, in memory of the run.
  void *whole = weir_custom_alloc(ctx, copyBytes(value));
  if (!whole)
    return WEIR_RESOURCE_EXHAUSTED;
  copyElements(value, whole);
  if (value.bytes > 0)
    memcpy(result.data, whole, size_t(value.bytes));
  return WEIR_OK;
}

int32_t giveComponents(weir_context *ctx, const Element &element, weir_tensor *results,
                       int32_t count) {
  int32_t code = WEIR_OK;
  if (element.count != count)
    return failMessage(ctx, WEIR_INVALID_ARGUMENT,
                       "an element has another number of components than the graph says");
  for (int32_t i = 0; code == WEIR_OK && i < count; ++i)
    code = giveComponent(ctx, element.components[i], i, results[i]);
  return code;
}

//===----------------------------------------------------------------------===//
// Iterations
//===----------------------------------------------------------------------===//

static void destroyIteration(Counted *self) {
  auto *iteration = static_cast<Iteration *>(self);
  iteration->pipeline.stops.store(true, std::memory_order_relaxed);
  destroySource(iteration->source);
  release(iteration->left.element);
  release(iteration->dataset);
  iteration->~Iteration();
  free(iteration);
}

Iteration *newIteration(weir_session *session, Dataset *dataset, Failure &failure) {
  void *memory = malloc(sizeof(Iteration));
  if (!memory) {
    release(dataset);
    failure.noMemory();
    return nullptr;
  }
  auto *made = new (memory) Iteration();
  made->destroy = destroyIteration;
  made->pipeline.session = session;
  made->dataset = dataset;
  made->source = makeSource(made->pipeline, *dataset, failure);
  if (made->source)
    return made;
  release(made);
  return nullptr;
}

Attempt *Iteration::servable() const {
  Attempt *attempt = first;
  while (pausing > 0 && attempt && !attempt->isOfFunction)
    attempt = attempt->following;
  return attempt;
}

void Iteration::remove(Attempt *attempt) {
  Attempt *before = nullptr;
  for (Attempt *at = first; at != attempt; at = at->following)
    before = at;
  (before ? before->following : first) = attempt->following;
  if (last == attempt)
    last = before;
  attempt->isPending = false;
}

void Iteration::begin(weir_context *ctx, Attempt *attempt) {
  beginWait(ctx, attempt);
  bool works = false, isQuick = false;
  {
    Lock lock(mutex);
    attempt->following = nullptr;
    (first ? last->following : first) = attempt;
    last = attempt;
    works = !isBusy && servable();
    isBusy |= works;
    isQuick = works && hasLeft;
  }
  if (!works)
    return;
  if (!isQuick && !source->isReady(source))
    return startServing();
  // For who works, until `serve` is through.
  hold();
  performServe(this);
}

/// `isBusy` is set.
void Iteration::startServing() {
  hold();
  perform = performServe;
  if (startWork(pipeline.session, this, nullptr) != WEIR_OK)
    performServe(this);
}

void Iteration::performServe(AsyncWork *work) {
  auto *self = static_cast<Iteration *>(work);
  self->serve();
  release(self);
}

/// Pulls an element for each that waits, in the order they came. Whoever wants to pause comes
/// between two of them: more may come for ever.
void Iteration::serve() {
  for (;;) {
    Outcome got = {};
    bool isLeft = false;
    {
      Lock lock(mutex);
      serving = servable();
      if (!serving) {
        isBusy = false;
        idle.notifyAll();
        return;
      }
      isLeft = hasLeft;
      if (isLeft)
        std::swap(got, left);
      hasLeft = false;
    }
    if (!isLeft)
      got.kind = pull(source, &got.element, got.failure);
    Task *ready = nullptr;
    {
      Lock lock(mutex);
      if (Attempt *attempt = serving ? serving : servable()) {
        remove(attempt);
        attempt->outcome = got.kind;
        attempt->element = got.kind == Next::Element ? got.element : nullptr;
        if (got.kind == Next::Failed)
          attempt->failure = got.failure;
        endWait(attempt, &ready);
      } else if (got.kind != Next::End) {
        left = got;
        hasLeft = true;
      }
      serving = nullptr;
    }
    postTasks(ready);
  }
}

void Iteration::withdraw(Attempt *attempt) {
  Lock lock(mutex);
  if (!attempt->isPending)
    return;
  if (serving == attempt)
    serving = nullptr;
  remove(attempt);
}

//===----------------------------------------------------------------------===//
// Pauses
//===----------------------------------------------------------------------===//

void Iteration::pause() {
  Lock lock(mutex);
  ++pausing;
}

void Iteration::stand() {
  Lock lock(mutex);
  idle.wait(mutex, [&] { return !isBusy; });
  isBusy = true;
  pipeline.isPaused.store(true, std::memory_order_relaxed);
}

void Iteration::settle() {
  stand();
  settleSource(source);
  stopBeingBusy();
}

void Iteration::stopBeingBusy() {
  {
    Lock lock(mutex);
    isBusy = servable() != nullptr;
    if (!isBusy)
      return idle.notifyAll();
  }
  startServing();
}

void Iteration::goOn(bool stands) {
  {
    Lock lock(mutex);
    if (--pausing == 0)
      pipeline.isPaused.store(false, std::memory_order_relaxed);
    if (!stands && isBusy)
      return;
    isBusy = true;
  }
  stopBeingBusy();
}

/// In the place of an element's number of components, or of the -1 where there is none.
static constexpr int64_t leftFailure = -2;

void Iteration::save(StateWriter &out) {
  if (hasLeft && left.kind == Next::Failed) {
    out.number(leftFailure);
    writeOutcome(out, left);
  } else {
    writeElement(out, hasLeft ? left.element : nullptr);
  }
  saveSource(source, out);
  writeShared(out, *dataset);
}

bool Iteration::load(const weir_string &state, Failure &failure) {
  StateReader in(state), ahead = in;
  if (ahead.number() == leftFailure) {
    in = ahead;
    hasLeft = readOutcome(in, left);
  } else {
    left.element = readElement(in);
    hasLeft = left.element != nullptr;
  }
  // Sources that are made draw seeds: what data sets share comes last.
  if (loadSource(source, in, failure) && readShared(in, *dataset) && in.isAtEnd())
    return true;
  if (failure.code == WEIR_OK)
    failure.fail(WEIR_DATA_LOSS) << "the state of an iterator in the checkpoint is damaged, or of "
                                    "another pipeline";
  return false;
}

} // namespace weir::rt
