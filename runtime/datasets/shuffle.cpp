//===- shuffle.cpp - elements in a random order ---------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// TensorFlow's order: its generator, its draws, its buffer. Whatever is drawn is a
// number below the elements that the buffer holds; the first one takes the place that
// becomes free.
//
//===----------------------------------------------------------------------===//

#include "datasets/state.h"
#include "kernels/string_support.h"
#include "session/resources.h"
#include "session/run.h"

#include <sys/random.h>

namespace weir::rt {

namespace {

/// Words that follow from two seeds.
PhiloxWords wordsOf(uint64_t seed, uint64_t seed2) { return PhiloxWords(Philox(seed, 0, seed2)); }

struct NamedGenerator : Resource {
  Mutex mutex;
  SeedGenerator *current = nullptr;

  void set(SeedGenerator *next) {
    SeedGenerator *before;
    {
      Lock lock(mutex);
      before = current;
      current = next;
    }
    release(before);
  }
};

Resource *makeNamed(void *) {
  void *memory = malloc(sizeof(NamedGenerator));
  if (!memory)
    return nullptr;
  auto *made = new (memory) NamedGenerator();
  made->reset = [](Resource *self) { static_cast<NamedGenerator *>(self)->set(nullptr); };
  made->destroy = [](Resource *self) {
    static_cast<NamedGenerator *>(self)->set(nullptr);
    free(self);
  };
  return made;
}

} // namespace

void SeedGenerator::draw(uint64_t *first, uint64_t *second) {
  Lock lock(mutex);
  *first = redraws ? words.next() : seed;
  *second = redraws ? words.next() : seed2;
}

static SeedGenerator *newGenerator() {
  void *memory = malloc(sizeof(SeedGenerator));
  if (!memory)
    return nullptr;
  auto *made = new (memory) SeedGenerator();
  made->destroy = [](Counted *self) { free(static_cast<SeedGenerator *>(self)); };
  return made;
}

SeedGenerator *copySeeds(SeedGenerator &seeds) {
  SeedGenerator *made = newGenerator();
  if (!made)
    return nullptr;
  Lock lock(seeds.mutex);
  made->seed = seeds.seed;
  made->seed2 = seeds.seed2;
  made->redraws = seeds.redraws;
  made->words = seeds.words;
  return made;
}

SeedGenerator *makeSeedGenerator(int64_t seed, int64_t seed2, bool redraws) {
  SeedGenerator *made = newGenerator();
  if (!made)
    return nullptr;
  uint64_t seeds[2] = {uint64_t(seed), uint64_t(seed2)};
  if (seed == 0 && seed2 == 0 && getrandom(seeds, sizeof(seeds), 0) != ssize_t(sizeof(seeds)))
    seeds[0] = uint64_t(now());
  made->seed = seeds[0];
  made->seed2 = seeds[1];
  made->redraws = redraws;
  made->words = wordsOf(seeds[0], seeds[1]);
  return made;
}

SeedGenerator *seedGeneratorOf(weir_session *session, const weir_string &name) {
  auto *named = static_cast<NamedGenerator *>(findResource(session, name.data, name.size));
  if (!named)
    return nullptr;
  Lock lock(named->mutex);
  if (named->current)
    named->current->hold();
  return named->current;
}

namespace {

/// The elements of the data set below: at most as many as the buffer holds.
struct Shuffle : OverInput {
  int64_t limit = 0; ///< -1: none
  Element **buffer = nullptr;
  int64_t capacity = 0, first = 0, count = 0; ///< a ring
  bool isOver = false;
  PhiloxWords words{Philox(0, 0, 0)};

  ~Shuffle() {
    for (; count > 0; --count)
      release(at(count - 1));
    free(buffer);
  }
  Element *&at(int64_t i) { return buffer[(first + i) % capacity]; }

  bool grow() {
    int64_t wanted = capacity ? capacity * 2 : 16;
    if (limit >= 0 && wanted > limit)
      wanted = limit;
    auto *grown = static_cast<Element **>(malloc(size_t(wanted) * sizeof(Element *)));
    if (!grown)
      return false;
    for (int64_t i = 0; i < count; ++i)
      grown[i] = at(i);
    free(buffer);
    buffer = grown;
    capacity = wanted;
    first = 0;
    return true;
  }

  Next fill(Failure &failure) {
    while (!isOver && (limit < 0 || count < limit)) {
      if (pipeline->stops.load(std::memory_order_relaxed))
        return failure.fail(WEIR_CANCELLED) << "the session ends", Next::Failed;
      if (count == capacity && !grow())
        return failure.noMemory(), Next::Failed;
      Element *element = nullptr;
      Next got = pull(input, &element, failure);
      if (got == Next::Failed)
        return got;
      if (got == Next::End)
        isOver = true;
      else
        at(count++) = element;
    }
    return Next::Element;
  }

  Next give(Element **element, Failure &failure) {
    if (Next filled = fill(failure); filled == Next::Failed)
      return filled;
    if (count == 0)
      return Next::End;
    int64_t drawn = int64_t(words.next()) % count;
    *element = at(drawn);
    at(drawn) = at(0);
    first = (first + 1) % capacity;
    --count;
    return Next::Element;
  }

  void keep(StateWriter &out) {
    out.number(isOver);
    writeWords(out, words);
    writeElements(out, count, [&](int64_t i) { return at(i); });
    OverInput::keep(out);
  }
  bool resume(StateReader &in, Failure &failure) {
    isOver = in.number() != 0;
    readWords(in, words);
    bool isWhole = readElements(in, [&](Element *element) {
      if (count == capacity && (count == limit || !grow()))
        return release(element), false;
      at(count++) = element;
      return true;
    });
    return isWhole ? OverInput::resume(in, failure) : (in.fail(), false);
  }
};

} // namespace

Source *makeShuffle(Pipeline &pipeline, Dataset &dataset, Failure &failure) {
  Source *source = newOverInput<Shuffle>(pipeline, dataset, failure);
  if (!source)
    return nullptr;
  auto *shuffle = static_cast<Shuffle *>(source);
  uint64_t seed, seed2;
  dataset.seeds->draw(&seed, &seed2);
  shuffle->words = wordsOf(seed, seed2);
  shuffle->limit = dataset.number(0);
  return source;
}

} // namespace weir::rt

using namespace weir::rt;

int32_t weir_kernel_seed_generator(weir_context *ctx, const weir_tensor *operands, int32_t,
                                   weir_tensor *, int32_t, const int64_t *attributes) {
  weir_string name;
  int64_t seed = 0, seed2 = 0;
  if (!loadString(operands[0], &name) || !loadInteger(operands[1], &seed) ||
      !loadInteger(operands[2], &seed2))
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, "seeds must be scalars");
  auto *named =
      static_cast<NamedGenerator *>(resourceOf(ctx, name.data, name.size, makeNamed, nullptr));
  SeedGenerator *made = named ? makeSeedGenerator(seed, seed2, attributes[0] != 0) : nullptr;
  if (!made)
    return failMessage(ctx, WEIR_RESOURCE_EXHAUSTED, "no memory for a seed generator");
  named->set(made);
  return WEIR_OK;
}
