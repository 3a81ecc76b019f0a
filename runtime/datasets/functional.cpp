//===- functional.cpp - what functions of the program do with elements ----===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "datasets/state.h"
#include "session/run.h"

#include <string.h>

namespace weir::rt {

namespace {

/// Feeds and fetches of a call.
struct Call {
  const weir_entry_desc &entry;
  weir_tensor *feeds = nullptr, *fetches = nullptr;
  weir_tensor_ref *boxes = nullptr; ///< the tensors of feeds that are sequences of one
  weir_tensor *boxed = nullptr;

  explicit Call(const weir_entry_desc &entry) : entry(entry) {
    size_t feedCount = size_t(entry.feed_count) + 1;
    feeds = static_cast<weir_tensor *>(calloc(feedCount, sizeof(weir_tensor)));
    boxed = static_cast<weir_tensor *>(calloc(feedCount, sizeof(weir_tensor)));
    boxes = static_cast<weir_tensor_ref *>(calloc(feedCount, sizeof(weir_tensor_ref)));
    fetches =
        static_cast<weir_tensor *>(calloc(size_t(entry.fetch_count) + 1, sizeof(weir_tensor)));
  }
  ~Call() {
    free(feeds);
    free(fetches);
    free(boxes);
    free(boxed);
  }
  bool hasMemory() const { return feeds && fetches && boxes && boxed; }

  void feed(int32_t i, const weir_tensor &tensor) {
    feeds[i] = tensor;
    if (entry.feeds[i].dtype != WEIR_TENSOR || tensor.dtype == WEIR_TENSOR)
      return;
    // What has a rank only now is a sequence of one tensor.
    boxed[i] = tensor;
    boxes[i] = &boxed[i];
    feeds[i] = {};
    feeds[i].data = &boxes[i];
    feeds[i].dtype = WEIR_TENSOR;
    feeds[i].rank = 1;
    feeds[i].dims[0] = 1;
    feeds[i].bytes = int64_t(sizeof(weir_tensor_ref));
  }
};

} // namespace

Element *callFunction(Pipeline &pipeline, int32_t function, int64_t boxed,
                      const weir_tensor *arguments, int32_t argumentCount, const Element *captures,
                      int32_t threads, Failure &failure) {
  const weir_entry_desc &entry = pipeline.session->program->entries[function];
  int32_t captured = captures ? captures->count : 0;
  if (argumentCount + captured != entry.feed_count) {
    failure.fail(WEIR_INVALID_ARGUMENT) << "a function of " << entry.feed_count
                                        << " arguments is called with " << argumentCount + captured;
    return nullptr;
  }
  Call call(entry);
  if (!call.hasMemory())
    return failure.noMemory(), nullptr;
  for (int32_t i = 0; i < argumentCount; ++i)
    call.feed(i, arguments[i]);
  for (int32_t i = 0; i < captured; ++i)
    call.feed(argumentCount + i, captures->components[i]);
  weir_status status = WEIR_STATUS_INIT;
  weir_run_options options = {};
  options.size = sizeof(options);
  options.threads = threads;
  if (int32_t code = runSession(pipeline.session, function, call.feeds, entry.feed_count,
                                call.fetches, options, nullptr, &status)) {
    failure.fail(code) << status.message;
    return nullptr;
  }
  Element *made = newElement(entry.fetch_count, 0);
  for (int32_t i = 0; i < entry.fetch_count; ++i) {
    weir_tensor &result = call.fetches[i];
    Counted *owner = ownResult(pipeline.session, result);
    bool isBoxed = i < 64 && (boxed >> i & 1) && result.rank == 1 && result.dims[0] == 1;
    if (made && owner)
      made->share(i, isBoxed ? **static_cast<weir_tensor_ref *>(result.data) : result, owner);
    else if (made)
      release(made), made = nullptr;
    release(owner);
  }
  if (!made)
    failure.noMemory();
  return made;
}

Next endInside(bool preserves, Failure &failure) {
  if (failure.code != WEIR_OUT_OF_RANGE)
    return Next::Failed;
  if (!preserves)
    return Next::End;
  Failure inner = failure;
  failure.fail(WEIR_INVALID_ARGUMENT)
      << "Function invocation produced OutOfRangeError: " << inner.text;
  return Next::Failed;
}

namespace {

/// What a function says is true; false: it has failed.
bool truthOf(const Source &source, const Element &element, bool *truth, Failure &failure) {
  Element *answer = callFunction(source, element, /*threads=*/0, failure);
  if (!answer)
    return false;
  const weir_tensor *first = answer->count == 1 ? answer->components : nullptr;
  bool isTruth = first && first->dtype == WEIR_BOOL && first->bytes == 1;
  if (isTruth)
    *truth = *static_cast<const uint8_t *>(first->data) != 0;
  else
    failure.fail(WEIR_INVALID_ARGUMENT) << "a predicate gives something else than one bool";
  release(answer);
  return isTruth;
}

struct Map : OverInput {
  /// What a session with more threads had made ahead, the latest first.
  HeapList<Outcome> ahead;

  ~Map() {
    for (int64_t i = 0; i < ahead.size(); ++i)
      release(ahead[i].element);
  }
  bool ready() { return false; }
  Next give(Element **element, Failure &failure) {
    if (ahead.size() > 0) {
      Outcome oldest = ahead[ahead.size() - 1];
      *element = oldest.element;
      failure = oldest.failure;
      // The end stays.
      if (oldest.kind != Next::End)
        ahead.resize(ahead.size() - 1);
      return oldest.kind;
    }
    Element *given = nullptr;
    if (Next got = pull(input, &given, failure); got != Next::Element)
      return got;
    *element = callFunction(*this, *given, /*threads=*/0, failure);
    release(given);
    return *element ? Next::Element : endInside(dataset->option & 1, failure);
  }
  void keep(StateWriter &out) {
    out.number(ahead.size());
    for (int64_t i = ahead.size(); i-- > 0;)
      writeOutcome(out, ahead[i]);
    OverInput::keep(out);
  }
  bool resume(StateReader &in, Failure &failure) {
    int64_t count = in.count();
    if (!ahead.reserve(count))
      return failure.noMemory(), false;
    for (int64_t i = 0; i < count; ++i) {
      Outcome outcome;
      if (!readOutcome(in, outcome))
        return in.fail(), false;
      ahead.push(outcome);
    }
    for (int64_t i = 0; i < count / 2; ++i) {
      Outcome first = ahead[i];
      ahead[i] = ahead[count - 1 - i];
      ahead[count - 1 - i] = first;
    }
    return OverInput::resume(in, failure);
  }
};

struct Filter : OverInput {
  bool isOver = false;
  bool ready() { return false; }

  Next give(Element **element, Failure &failure) {
    while (!isOver) {
      if (pipeline->stops.load(std::memory_order_relaxed))
        return failure.fail(WEIR_CANCELLED) << "the session ends", Next::Failed;
      Element *given = nullptr;
      if (Next got = pull(input, &given, failure); got != Next::Element)
        return got;
      bool truth = false;
      if (!truthOf(*this, *given, &truth, failure)) {
        release(given);
        return endInside(/*preserves=*/true, failure);
      }
      if (truth) {
        *element = given;
        return Next::Element;
      }
      release(given);
      isOver = dataset->kind == WEIR_DATASET_TAKE_WHILE;
    }
    return Next::End;
  }
  void keep(StateWriter &out) {
    out.number(isOver);
    OverInput::keep(out);
  }
  bool resume(StateReader &in, Failure &failure) {
    isOver = in.number() != 0;
    return OverInput::resume(in, failure);
  }
};

struct Scan : OverInput {
  Element *state = nullptr; ///< null: the first one

  ~Scan() { release(state); }
  bool ready() { return false; }

  Next give(Element **element, Failure &failure) {
    Element *given = nullptr;
    if (Next got = pull(input, &given, failure); got != Next::Element)
      return got;
    Element &before = state ? *state : *dataset->parameters;
    int32_t states = before.count;
    Element *joined = newElement(states + given->count, 0);
    for (int32_t i = 0; joined && i < joined->count; ++i)
      shareComponent(*joined, i, i < states ? before : *given, i < states ? i : i - states);
    release(given);
    Element *made = joined ? callFunction(*this, *joined, /*threads=*/0, failure) : nullptr;
    if (!joined)
      failure.noMemory();
    release(joined);
    if (!made)
      return joined ? endInside(dataset->option & 1, failure) : Next::Failed;
    Element *after = newElement(states, 0);
    Element *result = newElement(made->count > states ? made->count - states : 0, 0);
    bool isWhole = after && result && made->count >= states;
    for (int32_t i = 0; isWhole && i < made->count; ++i)
      shareComponent(i < states ? *after : *result, i < states ? i : i - states, *made, i);
    release(made);
    if (!isWhole) {
      release(after);
      release(result);
      return failure.noMemory(), Next::Failed;
    }
    release(state);
    state = after;
    *element = result;
    return Next::Element;
  }
  void keep(StateWriter &out) {
    writeElement(out, state);
    OverInput::keep(out);
  }
  bool resume(StateReader &in, Failure &failure) {
    state = readElement(in);
    return OverInput::resume(in, failure);
  }
};

} // namespace

Source *makeMap(Pipeline &pipeline, Dataset &dataset, Failure &failure) {
  int64_t calls = dataset.number(0);
  int64_t threads = pipeline.session->executor->threads();
  if (calls == -1)
    calls = threads;
  // More than that would only wait for each other.
  constexpr int64_t mostCalls = 64;
  if (calls > 1)
    return makeParallelMap(pipeline, dataset, calls < mostCalls ? calls : mostCalls, failure);
  return newOverInput<Map>(pipeline, dataset, failure);
}

Source *makeFunctional(Pipeline &pipeline, Dataset &dataset, Failure &failure) {
  return dataset.kind == WEIR_DATASET_SCAN ? newOverInput<Scan>(pipeline, dataset, failure)
                                           : newOverInput<Filter>(pipeline, dataset, failure);
}

} // namespace weir::rt
