//===- iterator.cpp - iterators that a session keeps ----------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "datasets/iterator.h"

#include "kernels/sequence_support.h"
#include "kernels/string_support.h"
#include "session/resources.h"
#include "session/status.h"

#include <string.h>

using namespace weir::rt;

namespace {

struct Iterator : Resource {
  /// Held by who has an iteration begin, or restores one: what a checkpoint had is for one of them.
  Mutex beginning;
  Mutex mutex;                   ///< guards what follows
  Iteration *current = nullptr;  ///< held; null: there is nothing to iterate over
  Iteration *prepared = nullptr; ///< held: what a checkpoint makes of `current`
  Dataset *origin = nullptr;     ///< held: what `prepared` iterates over a copy of
  HeapText awaiting;             ///< of a checkpoint, what the first iteration begins with
  HeapText preparedState;        ///< what `awaiting` is to be

  void set(Iteration *next) {
    Iteration *before;
    {
      Lock lock(mutex);
      before = current;
      current = next;
    }
    release(before);
  }
  void forget() {
    set(nullptr);
    Lock lock(mutex);
    awaiting.reset();
  }
  void readAwaiting(StateWriter &state) {
    Lock lock(mutex);
    state.raw(awaiting.view());
  }
  /// The first one since a checkpoint has taken what that had: who saves meanwhile finds one of
  /// the two.
  void start(Iteration *next) {
    Iteration *before;
    {
      Lock lock(mutex);
      before = current;
      current = next;
      awaiting.reset();
    }
    release(before);
  }
  /// Held; null: none.
  Iteration *get() {
    Lock lock(mutex);
    if (current)
      current->hold();
    return current;
  }
};

/// What a checkpoint has of an iterator: over the data set that it iterates over now, or
/// over the first one that it is given. `beginning` is held until it is settled.
int32_t prepareIterator(Resource *self, weir_session *session, const weir_string &state,
                        weir_status *status) {
  auto *iterator = static_cast<Iterator *>(self);
  iterator->beginning.lock();
  Iteration *current = iterator->get();
  if (!current) {
    iterator->preparedState.reset();
    iterator->preparedState << state;
    if (!iterator->preparedState.failed())
      return WEIR_OK;
    iterator->beginning.unlock();
    return refuseMemory(status, "an iterator");
  }
  Failure failure;
  Dataset *origin = current->dataset;
  origin->hold();
  release(current);
  // Who iterates now goes on over the data set, whose cache and seeds are as they are.
  Dataset *copy = copyDataset(*origin, failure);
  Iteration *made = copy ? newIteration(session, copy, failure) : nullptr;
  if (made && made->load(state, failure)) {
    iterator->prepared = made;
    iterator->origin = origin;
    return WEIR_OK;
  }
  release(made);
  release(origin);
  iterator->beginning.unlock();
  StatusText(status, failure.code).quoted(self->key, self->keySize) << ": " << failure.text;
  return failure.code;
}

void settleIterator(Resource *self, bool takes) {
  auto *iterator = static_cast<Iterator *>(self);
  Iteration *next = iterator->prepared;
  if (next && takes) {
    shareSeeds(*next->dataset, *iterator->origin);
    iterator->start(next);
  } else if (next) {
    release(next);
  } else if (takes) {
    Lock lock(iterator->mutex);
    iterator->awaiting.swap(iterator->preparedState);
  }
  release(iterator->origin);
  iterator->prepared = nullptr;
  iterator->origin = nullptr;
  iterator->preparedState.reset();
  iterator->beginning.unlock();
}

Resource *makeIterator(void *) {
  void *memory = malloc(sizeof(Iterator));
  if (!memory)
    return nullptr;
  auto *made = new (memory) Iterator();
  made->reset = [](Resource *self) { static_cast<Iterator *>(self)->forget(); };
  made->pause = [](Resource *self) -> void * {
    Iteration *iteration = static_cast<Iterator *>(self)->get();
    if (iteration)
      iteration->pause();
    return iteration;
  };
  made->settleDown = [](void *paused) { static_cast<Iteration *>(paused)->settle(); };
  made->await = [](void *paused) { static_cast<Iteration *>(paused)->stand(); };
  made->resume = [](void *paused, bool stands) {
    auto *iteration = static_cast<Iteration *>(paused);
    iteration->goOn(stands);
    release(iteration);
  };
  made->save = [](Resource *self, void *paused, StateWriter &out) {
    auto *iterator = static_cast<Iterator *>(self);
    if (paused)
      return static_cast<Iteration *>(paused)->save(out);
    Lock lock(iterator->mutex);
    if (iterator->awaiting.size() > 0)
      out.raw(iterator->awaiting.view());
  };
  made->prepare = prepareIterator;
  made->settle = settleIterator;
  made->stop = [](Resource *self) {
    auto *iterator = static_cast<Iterator *>(self);
    Lock lock(iterator->mutex);
    if (iterator->current)
      iterator->current->pipeline.stops.store(true, std::memory_order_relaxed);
  };
  made->destroy = [](Resource *self) {
    static_cast<Iterator *>(self)->set(nullptr);
    static_cast<Iterator *>(self)->~Iterator();
    free(self);
  };
  return made;
}

/// The iterator that an operand names; null: the run has failed, with `code`.
Iterator *iteratorOf(weir_context *ctx, const weir_tensor &handle, bool makes, int32_t *code) {
  weir_string name;
  if (!loadString(handle, &name)) {
    *code = failMessage(ctx, WEIR_INVALID_ARGUMENT, "a handle is not one");
    return nullptr;
  }
  Resource *known = resourceOf(ctx, name.data, name.size, makes ? makeIterator : nullptr, nullptr);
  if (!known)
    *code = makes ? failMessage(ctx, WEIR_RESOURCE_EXHAUSTED, "no memory for an iterator")
                  : failMessage(ctx, WEIR_NOT_FOUND, "there is no iterator of that name");
  return static_cast<Iterator *>(known);
}

/// Has it begin with the first element, or where the checkpoint was. `beginning` is held.
int32_t begin(weir_context *ctx, Iterator &iterator, const weir_tensor &value) {
  weir_session *session = ctx->run->session;
  Failure failure;
  Dataset *dataset = makeDataset(session, value, failure);
  Iteration *made = dataset ? newIteration(session, dataset, failure) : nullptr;
  bool isReady = made != nullptr;
  StateWriter state;
  iterator.readAwaiting(state);
  if (isReady && state.failed())
    isReady = (failure.noMemory(), false);
  if (isReady && state.view().size > 0)
    isReady = made->load(state.view(), failure);
  if (isReady)
    iterator.start(made);
  else
    release(made);
  return isReady ? int32_t(WEIR_OK) : failWith(ctx, failure);
}

/// Ends an iterator with the run that has made it.
struct Tie : Wait {
  weir_session *session;
  Resource *iterator;
};

} // namespace

int32_t weir_kernel_iterator_make(weir_context *ctx, const weir_tensor *operands, int32_t,
                                  weir_tensor *, int32_t, const int64_t *) {
  int32_t code = WEIR_OK;
  Iterator *iterator = iteratorOf(ctx, operands[0], /*makes=*/true, &code);
  if (!iterator)
    return code;
  Lock lock(iterator->beginning);
  return begin(ctx, *iterator, operands[1]);
}

int32_t weir_kernel_iterator_make_once(weir_context *ctx, const weir_tensor *operands, int32_t,
                                       weir_tensor *, int32_t, const int64_t *) {
  int32_t code = WEIR_OK;
  Iterator *iterator = iteratorOf(ctx, operands[0], /*makes=*/true, &code);
  if (!iterator)
    return code;
  // Of runs that come together one makes it, and the others wait for that.
  Lock lock(iterator->beginning);
  if (Iteration *known = iterator->get()) {
    release(known);
    return WEIR_OK;
  }
  Failure failure;
  Pipeline pipeline;
  pipeline.session = ctx->run->session;
  weir_string name = {"", 0};
  (void)loadString(operands[1], &name);
  int32_t function = findFunction(pipeline.session, name);
  if (function < 0)
    return failMessage(ctx, WEIR_NOT_FOUND, "the program has no function that makes the data set");
  Element *made = callFunction(pipeline, function, 0, nullptr, 0, nullptr, 0, failure);
  if (!made)
    return failWith(ctx, failure);
  code = begin(ctx, *iterator, made->components[0]);
  release(made);
  return code;
}

int32_t weir_kernel_iterator_anonymous(weir_context *ctx, const weir_tensor *, int32_t,
                                       weir_tensor *results, int32_t, const int64_t *) {
  weir_session *session = ctx->run->session;
  char name[40];
  Text text(name, sizeof(name));
  text << "@iterator " << session->nextName.fetch_add(1, std::memory_order_relaxed);
  Contents contents(ctx);
  if (!shapeResult(ctx, results[0], 0, nullptr) ||
      !contents.copy(name, text.size(), stringResult(results[0])))
    return WEIR_RESOURCE_EXHAUSTED;
  auto *tie = static_cast<Tie *>(calloc(1, sizeof(Tie)));
  Resource *made = tie ? resourceOf(ctx, name, text.size(), makeIterator, nullptr) : nullptr;
  if (!made) {
    free(tie);
    return failMessage(ctx, WEIR_RESOURCE_EXHAUSTED, "no memory for an iterator");
  }
  tie->session = session;
  tie->iterator = made;
  tie->drop = [](Wait *wait) {
    auto *tie = static_cast<Tie *>(wait);
    removeResource(tie->session, tie->iterator);
    free(tie);
  };
  beginWait(ctx, tie);
  Task *ready = nullptr;
  endWait(tie, &ready);
  postTasks(ready);
  return WEIR_OK;
}

int32_t weir_kernel_iterator_next(weir_context *ctx, const weir_tensor *operands, int32_t,
                                  weir_tensor *results, int32_t, const int64_t *) {
  int32_t code = WEIR_OK;
  Iterator *iterator = iteratorOf(ctx, operands[0], /*makes=*/true, &code);
  if (!iterator)
    return code;
  Iteration *current = iterator->get();
  if (!current)
    return failMessage(ctx, WEIR_FAILED_PRECONDITION,
                       "GetNext() failed because the iterator has not been initialized. Ensure "
                       "that you have run the initializer operation for this iterator before "
                       "getting the next element.");
  auto drop = [](Wait *wait) {
    auto *attempt = static_cast<Attempt *>(wait);
    static_cast<Iteration *>(attempt->job)->withdraw(attempt);
    freeAttempt(attempt);
  };
  if (Attempt *attempt = newAttempt(ctx, current, drop, results[0], &code))
    current->begin(ctx, attempt);
  release(current);
  return code;
}

/// What was waited for as a sequence: all components, or nothing at the end.
static int32_t giveSequence(weir_context *ctx, const Element *element, weir_tensor &result) {
  int64_t count = element ? element->count : 0;
  if (!shapeResult(ctx, result, 1, &count))
    return WEIR_RESOURCE_EXHAUSTED;
  for (int64_t i = 0; i < count; ++i) {
    const weir_tensor &value = element->components[i];
    weir_tensor *made = newElement(ctx, value, copyBytes(value));
    if (!made)
      return WEIR_RESOURCE_EXHAUSTED;
    copyElements(value, made->data);
    made->bytes = value.bytes;
    static_cast<weir_tensor_ref *>(result.data)[i] = made;
  }
  return WEIR_OK;
}

int32_t weir_kernel_iterator_finish(weir_context *ctx, const weir_tensor *operands, int32_t,
                                    weir_tensor *results, int32_t result_count,
                                    const int64_t *attributes) {
  int32_t code = WEIR_OK;
  Attempt *attempt = finishedAttempt(ctx, operands[0], &code);
  if (!attempt)
    return code;
  if (attributes[0])
    code = giveSequence(ctx, attempt->element, results[0]);
  else if (attempt->outcome == Next::End)
    code = failMessage(ctx, WEIR_OUT_OF_RANGE, "End of sequence");
  else
    code = giveComponents(ctx, *attempt->element, results, result_count);
  freeAttempt(attempt);
  return code;
}

int32_t weir_kernel_iterator_drop(weir_context *ctx, const weir_tensor *operands, int32_t,
                                  weir_tensor *, int32_t, const int64_t *) {
  int32_t code = WEIR_OK;
  Iterator *iterator = iteratorOf(ctx, operands[0], /*makes=*/true, &code);
  if (iterator)
    iterator->set(nullptr);
  return code;
}

int32_t weir_kernel_optional_values(weir_context *ctx, const weir_tensor *operands, int32_t,
                                    weir_tensor *results, int32_t result_count, const int64_t *) {
  const weir_tensor &sequence = operands[0];
  if (sequence.dims[0] == 0)
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, "The given optional does not have a value.");
  if (sequence.dims[0] != result_count)
    return failMessage(ctx, WEIR_INVALID_ARGUMENT,
                       "an optional has another number of components than the graph says");
  int32_t code = WEIR_OK;
  for (int32_t i = 0; code == WEIR_OK && i < result_count; ++i)
    code =
        giveComponent(ctx, *static_cast<const weir_tensor_ref *>(sequence.data)[i], i, results[i]);
  return code;
}
