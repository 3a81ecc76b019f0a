//===- dataset.h - data sets, and who iterates over them --------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A data set's value (weir/datasets.h) is copied into a tree of Dataset once something
// iterates over it. A Source gives its elements one after the other; a Source of a
// data set pulls from those of the data sets below.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_DATASETS_DATASET_H
#define WEIR_RUNTIME_DATASETS_DATASET_H

#include "datasets/element.h"
#include "kernels/philox.h"
#include "session/state_bytes.h"
#include "support/sync.h"
#include "weir/datasets.h"

#include <new>
#include <stdlib.h>

namespace weir::rt {

/// Seeds of shuffles, one pair an iteration. Thread-safe.
struct SeedGenerator : Counted {
  Mutex mutex;
  uint64_t seed, seed2;
  bool redraws;
  PhiloxWords words{Philox(0, 0, 0)};

  void draw(uint64_t *first, uint64_t *second);
};
/// Seeds that are both 0 become others. Null: no memory.
SeedGenerator *makeSeedGenerator(int64_t seed, int64_t seed2, bool redraws);
/// One that goes on where `seeds` is. Null: no memory.
SeedGenerator *copySeeds(SeedGenerator &seeds);
/// The one that the session has under a name now, held; null: none.
SeedGenerator *seedGeneratorOf(weir_session *session, const weir_string &name);

/// Elements that a pass over a data set left behind for the next ones.
struct Cache {
  Mutex mutex;
  Element **elements = nullptr;
  int64_t count = 0, capacity = 0;
  bool isWhole = false;

  /// Takes over the element. False: no memory.
  bool add(Element *element);
  void clear();
};

/// Where the elements of a pipeline are made.
struct Pipeline {
  weir_session *session;
  /// Whoever works for it gives up soon.
  std::atomic<bool> stops{false};
  /// Nobody begins to make elements ahead, until somebody asks for one.
  std::atomic<bool> isPaused{false};
};

/// Never changes, but for what guards itself.
struct Dataset : Counted {
  weir_dataset_kind kind;
  int64_t option;
  int64_t boxed;    ///< bits of the function's results
  int32_t function; ///< an entry; -1: none
  int32_t inputCount;
  Dataset **inputs; ///< held
  Element *parameters;
  Element *captures;
  SeedGenerator *seeds; ///< of a shuffle
  Cache cache;          ///< of a cache

  int64_t number(int32_t parameter) const;
  bool truth(int32_t parameter) const;
  weir_string text(int32_t parameter) const;
};

/// The tree of a data set's value. Null: `failure` tells.
Dataset *makeDataset(weir_session *session, const weir_tensor &value, Failure &failure);
/// The same tree, with a cache that is empty, and seeds of its own that go on where those of
/// `dataset` are. Null: `failure` tells.
Dataset *copyDataset(const Dataset &dataset, Failure &failure);
/// Gives `origin`, which `copy` was copied from, the copy's seeds; both draw from the same then.
/// Nobody uses the copy meanwhile.
void shareSeeds(Dataset &copy, Dataset &origin);
/// As in weir_kernel_dataset_cardinality.
int64_t cardinalityOf(const Dataset &dataset);
/// The function of that name; -1: none.
int32_t findFunction(const weir_session *session, const weir_string &name);

enum class Next : uint8_t { Element, End, Failed };

/// Gives the elements of a data set. Not thread-safe; made by `newSource`.
struct Source {
  Pipeline *pipeline;
  Dataset *dataset; ///< which outlives it
  Next (*next)(Source *self, Element **element, Failure &failure);
  void (*destroy)(Source *self);
  /// Whether `next` neither waits nor calls a function.
  bool (*isReady)(Source *self);
  /// Where it stands, of a pipeline that is paused; and goes there (datasets/state.h).
  void (*save)(Source *self, StateWriter &out);
  bool (*load)(Source *self, StateReader &in, Failure &failure);
  /// Waits for those who make elements ahead, of a pipeline that is paused.
  void (*waitForWork)(Source *self);

  void settle() {} ///< of one that has nobody who does, nor data sets below
};
inline void settleSource(Source *source) {
  if (source)
    source->waitForWork(source);
}

/// Null: `failure` tells.
Source *makeSource(Pipeline &pipeline, Dataset &dataset, Failure &failure);
inline void destroySource(Source *source) {
  if (source)
    source->destroy(source);
}
inline Next pull(Source *source, Element **element, Failure &failure) {
  return source->next(source, element, failure);
}

/// A source of type T, which has `Next give(Element **, Failure &)`, `bool ready()`,
/// `void settle()`, `void keep(StateWriter &)` and `bool resume(StateReader &, Failure &)`.
template <typename T> T *newSource(Pipeline &pipeline, Dataset &dataset, Failure &failure) {
  void *memory = malloc(sizeof(T));
  if (!memory) {
    failure.noMemory();
    return nullptr;
  }
  auto *source = new (memory) T();
  Source *base = source;
  base->pipeline = &pipeline;
  base->dataset = &dataset;
  base->next = [](Source *self, Element **element, Failure &failure) {
    return static_cast<T *>(self)->give(element, failure);
  };
  base->isReady = [](Source *self) { return static_cast<T *>(self)->ready(); };
  base->save = [](Source *self, StateWriter &out) { static_cast<T *>(self)->keep(out); };
  base->waitForWork = [](Source *self) { static_cast<T *>(self)->settle(); };
  base->load = [](Source *self, StateReader &in, Failure &failure) {
    return static_cast<T *>(self)->resume(in, failure);
  };
  base->destroy = [](Source *self) {
    static_cast<T *>(self)->~T();
    free(self);
  };
  return source;
}

/// One with a single data set below, and nothing else that changes.
struct OverInput : Source {
  Source *input = nullptr;
  ~OverInput() { destroySource(input); }
  bool ready() { return input->isReady(input); }
  void settle() { settleSource(input); }
  void keep(StateWriter &out);
  bool resume(StateReader &in, Failure &failure);
};

template <typename T> Source *newOverInput(Pipeline &pipeline, Dataset &dataset, Failure &failure) {
  T *source = newSource<T>(pipeline, dataset, failure);
  if (!source)
    return nullptr;
  source->input = makeSource(pipeline, *dataset.inputs[0], failure);
  if (source->input)
    return source;
  destroySource(source);
  return nullptr;
}

/// Calls a function of the program: with `argumentCount` tensors, and the captured
/// ones. Its results are an element; null: `failure` tells. `threads`: 0: as many as
/// there are.
Element *callFunction(Pipeline &pipeline, int32_t function, int64_t boxed,
                      const weir_tensor *arguments, int32_t argumentCount, const Element *captures,
                      int32_t threads, Failure &failure);
/// The same of a data set's function, and an element.
inline Element *callFunction(const Source &source, const Element &argument, int32_t threads,
                             Failure &failure) {
  return callFunction(*source.pipeline, source.dataset->function, source.dataset->boxed,
                      argument.components, argument.count, source.dataset->captures, threads,
                      failure);
}
/// What the end of a sequence is that a function has come to: of its own data set, or
/// with `preserves` an error.
Next endInside(bool preserves, Failure &failure);

// By kind; null: `failure` tells.
Source *makeFileSource(Pipeline &pipeline, Dataset &dataset, Failure &failure);
Source *makeShuffle(Pipeline &pipeline, Dataset &dataset, Failure &failure);
Source *makeBatch(Pipeline &pipeline, Dataset &dataset, Failure &failure);
Source *makePrefetch(Pipeline &pipeline, Dataset &dataset, Failure &failure);
/// Elements of `input`, which it takes over, `depth` of them ahead.
Source *prefetchOver(Pipeline &pipeline, Dataset &dataset, Source *input, int64_t depth,
                     Failure &failure);
Source *makeMap(Pipeline &pipeline, Dataset &dataset, Failure &failure);
Source *makeParallelMap(Pipeline &pipeline, Dataset &dataset, int64_t calls, Failure &failure);
Source *makeFunctional(Pipeline &pipeline, Dataset &dataset, Failure &failure);
Source *makeInterleave(Pipeline &pipeline, Dataset &dataset, Failure &failure);
Source *makeSelection(Pipeline &pipeline, Dataset &dataset, Failure &failure);
Source *makeTensors(Pipeline &pipeline, Dataset &dataset, Failure &failure);

} // namespace weir::rt

#endif // WEIR_RUNTIME_DATASETS_DATASET_H
