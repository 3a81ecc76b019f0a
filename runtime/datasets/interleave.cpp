//===- interleave.cpp - elements of data sets that a function gives -------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "datasets/state.h"

namespace weir::rt {

namespace {

/// A data set that a function gave, and who iterates over it.
struct Inner {
  Element *given = nullptr; ///< to the function
  Dataset *dataset = nullptr;
  Source *source = nullptr;

  void close() {
    destroySource(source);
    release(dataset);
    release(given);
    source = nullptr;
    dataset = nullptr;
    given = nullptr;
  }
};

/// `cycle` of the inner data sets at a time, `block` elements of each in turn.
struct Interleave : OverInput {
  Inner *inner = nullptr;
  int64_t cycle = 1, block = 1, current = 0, taken = 0, opened = 0;
  int64_t ahead = 0; ///< elements of each inner data set that are made before they are asked for
  bool isOver = false;

  ~Interleave() {
    for (int64_t i = 0; inner && i < cycle; ++i)
      inner[i].close();
    free(inner);
  }
  bool ready() { return false; }

  void advance() {
    current = (current + 1) % cycle;
    taken = 0;
  }

  /// Opens the data set that the next element leads to, at the current place.
  Next openNext(Failure &failure) {
    Element *given = nullptr;
    if (Next got = pull(input, &given, failure); got != Next::Element)
      return got;
    return open(inner[current], given, failure);
  }

  /// The one that `given` leads to, which is taken over.
  Next open(Inner &place, Element *given, Failure &failure) {
    Element *made = callFunction(*this, *given, /*threads=*/0, failure);
    place.given = given;
    if (!made) {
      place.close();
      return endInside(/*preserves=*/true, failure);
    }
    if (made->count == 1)
      place.dataset = makeDataset(pipeline->session, made->components[0], failure);
    else
      failure.fail(WEIR_INVALID_ARGUMENT) << "a function gives something else than one data set";
    release(made);
    if (place.dataset)
      place.source = makeSource(*pipeline, *place.dataset, failure);
    if (place.source && ahead > 0)
      place.source = prefetchOver(*pipeline, *place.dataset, place.source, ahead, failure);
    if (place.source)
      return ++opened, Next::Element;
    place.close();
    return Next::Failed;
  }

  Next give(Element **element, Failure &failure) {
    while (!isOver || opened > 0) {
      if (pipeline->stops.load(std::memory_order_relaxed))
        return failure.fail(WEIR_CANCELLED) << "the session ends", Next::Failed;
      if (inner[current].source) {
        Next got = pull(inner[current].source, element, failure);
        if (got == Next::Element && ++taken == block)
          advance();
        if (got != Next::End)
          return got;
        inner[current].close();
        --opened;
        advance();
      } else if (!isOver) {
        Next got = openNext(failure);
        if (got == Next::Failed)
          return got;
        isOver = got == Next::End;
      } else {
        advance();
      }
    }
    return Next::End;
  }

  void settle() {
    for (int64_t i = 0; i < cycle; ++i)
      settleSource(inner[i].source);
    OverInput::settle();
  }
  void keep(StateWriter &out) {
    out.number(isOver);
    out.number(current);
    out.number(taken);
    out.number(cycle);
    for (int64_t i = 0; i < cycle; ++i) {
      writeElement(out, inner[i].given);
      if (!inner[i].given)
        continue;
      saveSource(inner[i].source, out);
      writeShared(out, *inner[i].dataset);
    }
    OverInput::keep(out);
  }
  bool resume(StateReader &in, Failure &failure) {
    isOver = in.number() != 0;
    current = in.number();
    taken = in.number();
    if (int64_t wanted = in.number(); wanted != cycle) {
      // As many as there are threads, where the data set leaves it open.
      failure.fail(WEIR_FAILED_PRECONDITION)
          << "elements of " << wanted << " data sets at a time were interleaved, now of " << cycle
          << ", which follows from the number of threads";
      return false;
    }
    if (current < 0 || current >= cycle || taken < 0 || taken >= block)
      return in.fail(), false;
    for (int64_t i = 0; i < cycle && !in.failed(); ++i) {
      Element *given = readElement(in);
      if (!given)
        continue;
      Inner &place = inner[i];
      if (open(place, given, failure) != Next::Element || !loadSource(place.source, in, failure) ||
          !readShared(in, *place.dataset))
        return false;
    }
    return !in.failed() && OverInput::resume(in, failure);
  }
};

} // namespace

Source *makeInterleave(Pipeline &pipeline, Dataset &dataset, Failure &failure) {
  Source *source = newOverInput<Interleave>(pipeline, dataset, failure);
  if (!source)
    return nullptr;
  auto *made = static_cast<Interleave *>(source);
  int64_t threads = pipeline.session->executor->threads(), calls = dataset.number(2);
  made->cycle = dataset.number(0) > 0 ? dataset.number(0) : threads;
  made->block = dataset.number(1);
  made->ahead = calls == 1 ? 0 : made->block < 16 ? made->block + 1 : 16;
  made->inner = static_cast<Inner *>(calloc(size_t(made->cycle), sizeof(Inner)));
  if (made->inner)
    return source;
  failure.noMemory();
  destroySource(source);
  return nullptr;
}

} // namespace weir::rt
