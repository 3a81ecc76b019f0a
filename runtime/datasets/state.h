//===- state.h - where iterations stand -------------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a checkpoint keeps of an iterator: of each source what it has besides its data set
// (places, buffers, elements made ahead), of each data set what its passes share (seeds, a
// cache). The pipeline itself is the program's, and is made by it again.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_DATASETS_STATE_H
#define WEIR_RUNTIME_DATASETS_STATE_H

#include "datasets/dataset.h"

namespace weir::rt {

/// Null is kept, too.
void writeElement(StateWriter &out, const Element *element);
/// Held; null: there was none, or `in` has failed.
Element *readElement(StateReader &in);

/// A list of elements; of what is read, `add` takes each over.
template <typename At> void writeElements(StateWriter &out, int64_t count, At at) {
  out.number(count);
  for (int64_t i = 0; i < count; ++i)
    writeElement(out, at(i));
}
/// False: `add` was, or `in` has failed.
template <typename Add> bool readElements(StateReader &in, Add add) {
  int64_t count = in.count();
  for (int64_t i = 0; i < count; ++i) {
    Element *element = readElement(in);
    if (!element || !add(element))
      return false;
  }
  return !in.failed();
}

/// What a pull came to.
struct Outcome {
  Next kind;
  Element *element;
  Failure failure;
};
void writeOutcome(StateWriter &out, const Outcome &outcome);
bool readOutcome(StateReader &in, Outcome &outcome);

void writeWords(StateWriter &out, const PhiloxWords &words);
void readWords(StateReader &in, PhiloxWords &words);

/// Seeds and caches of a data set and of those below it.
void writeShared(StateWriter &out, Dataset &dataset);
bool readShared(StateReader &in, Dataset &dataset);

/// A source, headed by the kind of its data set. Nobody pulls from it meanwhile, and
/// its pipeline is paused.
inline void saveSource(Source *source, StateWriter &out) {
  out.number(source->dataset->kind);
  source->save(source, out);
}
/// Into a source that nobody has pulled from. False: `failure` tells, or `in` has failed.
inline bool loadSource(Source *source, StateReader &in, Failure &failure) {
  if (in.number() != source->dataset->kind)
    in.fail();
  return !in.failed() && source->load(source, in, failure);
}

} // namespace weir::rt

#endif // WEIR_RUNTIME_DATASETS_STATE_H
