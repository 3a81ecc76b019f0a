//===- interleave.cpp - elements of data sets that a function gives -------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "datasets/dataset.h"

namespace weir::rt {

namespace {

/// A data set that a function gave, and who iterates over it.
struct Inner {
  Dataset *dataset = nullptr;
  Source *source = nullptr;

  void close() {
    destroySource(source);
    release(dataset);
    source = nullptr;
    dataset = nullptr;
  }
};

/// `cycle` of the inner data sets at a time, `block` elements of each in turn.
struct Interleave : OverInput {
  Inner *inner = nullptr;
  int64_t cycle = 1, block = 1, current = 0, taken = 0, open = 0;
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
    Element *made = callFunction(*this, *given, /*threads=*/0, failure);
    release(given);
    if (!made)
      return endInside(/*preserves=*/true, failure);
    Inner &place = inner[current];
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
      return ++open, Next::Element;
    place.close();
    return Next::Failed;
  }

  Next give(Element **element, Failure &failure) {
    while (!isOver || open > 0) {
      if (pipeline->stops.load(std::memory_order_relaxed))
        return failure.fail(WEIR_CANCELLED) << "the session ends", Next::Failed;
      if (inner[current].source) {
        Next got = pull(inner[current].source, element, failure);
        if (got == Next::Element && ++taken == block)
          advance();
        if (got != Next::End)
          return got;
        inner[current].close();
        --open;
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
