//===- background.cpp - elements made before they are asked for -----------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// On threads of the session (session/async.h). None of them waits: one that has filled
// its buffer ends, and who takes an element out starts the next.
//
//===----------------------------------------------------------------------===//

#include "datasets/state.h"
#include "session/async.h"

namespace weir::rt {

namespace {

//===----------------------------------------------------------------------===//
// Prefetch
//===----------------------------------------------------------------------===//

/// A ring that nothing is in yet.
template <typename T> bool enlarge(T *&ring, int64_t &capacity, int64_t wanted) {
  auto *larger = static_cast<T *>(calloc(size_t(wanted), sizeof(T)));
  if (!larger)
    return false;
  free(ring);
  ring = larger;
  capacity = wanted;
  return true;
}

struct Prefetch : OverInput, AsyncWork {
  Mutex mutex;
  Condition changed;
  Outcome *ring = nullptr;
  int64_t capacity = 0, first = 0, count = 0;
  bool isWorking = false, isOver = false, gaveUp = false;
  bool isAsked = false; ///< somebody waits for an element

  ~Prefetch() {
    {
      Lock lock(mutex);
      gaveUp = true;
      changed.wait(mutex, [&] { return !isWorking; });
    }
    for (; count > 0; --count, first = (first + 1) % capacity)
      release(ring[first].element);
    free(ring);
  }

  bool ready() {
    Lock lock(mutex);
    return count > 0;
  }

  /// While the state is saved nothing is made ahead, but what is asked for is: who asks then is
  /// another thread of the pipeline, which must come to the end of its own element.
  bool wantsMore() const {
    bool isNeeded = isAsked && count == 0;
    return !gaveUp && !isOver && count < capacity &&
           (isNeeded || !pipeline->isPaused.load(std::memory_order_relaxed));
  }

  /// Fills the buffer. The mutex is held, and given up meanwhile.
  void work() {
    while (wantsMore() && !pipeline->stops.load(std::memory_order_relaxed)) {
      mutex.unlock();
      Outcome made;
      made.element = nullptr;
      made.kind = pull(input, &made.element, made.failure);
      mutex.lock();
      ring[(first + count++) % capacity] = made;
      // An end that is taken ends here; what comes behind a failure is asked for.
      isOver = made.kind == Next::End;
      changed.notifyAll();
      if (made.kind == Next::Failed)
        break;
    }
    isWorking = false;
    changed.notifyAll();
  }

  /// The mutex is held. Where there is no thread the caller does it.
  void start() {
    if (isWorking || !wantsMore())
      return;
    isWorking = true;
    perform = [](AsyncWork *work) {
      auto *self = static_cast<Prefetch *>(work);
      Lock lock(self->mutex);
      self->work();
    };
    if (startWork(pipeline->session, this, nullptr) != WEIR_OK)
      work();
  }

  Next give(Element **element, Failure &failure) {
    Lock lock(mutex);
    isAsked = true;
    start();
    changed.wait(mutex, [&] { return count > 0 || !isWorking; });
    isAsked = false;
    if (count == 0) {
      if (isOver)
        return Next::End;
      failure.fail(WEIR_CANCELLED) << "the session ends";
      return Next::Failed;
    }
    Outcome &oldest = ring[first];
    Next kind = oldest.kind;
    *element = oldest.element;
    if (kind == Next::Failed)
      failure = oldest.failure;
    // The end stays.
    if (kind != Next::End) {
      first = (first + 1) % capacity;
      --count;
      start();
    }
    return kind;
  }

  void settle() {
    {
      Lock lock(mutex);
      // The pipeline is paused: who works ends with what it is at.
      changed.wait(mutex, [&] { return !isWorking; });
    }
    OverInput::settle();
  }
  void keep(StateWriter &out) {
    Lock lock(mutex);
    changed.wait(mutex, [&] { return !isWorking; });
    out.number(count);
    for (int64_t i = 0; i < count; ++i)
      writeOutcome(out, ring[(first + i) % capacity]);
    OverInput::keep(out);
  }
  bool resume(StateReader &in, Failure &failure) {
    Lock lock(mutex);
    // A session with more threads may have been further ahead.
    int64_t wanted = in.count();
    if (wanted > capacity && !enlarge(ring, capacity, wanted))
      return failure.noMemory(), false;
    for (; count < wanted; ++count) {
      if (!readOutcome(in, ring[count]))
        return in.fail(), false;
      isOver = ring[count].kind == Next::End;
    }
    return OverInput::resume(in, failure);
  }
};

//===----------------------------------------------------------------------===//
// Calls of a function beside each other
//===----------------------------------------------------------------------===//

/// As many calls as are asked for run at a time. The ring has room for as many elements again: who
/// is done with one goes on with the next that was pulled, while the oldest is still computed.
struct ParallelMap : OverInput {
  struct Slot : AsyncWork {
    ParallelMap *map;
    Element *given;
    Outcome outcome;
    bool isDone;
  };

  Mutex mutex;
  Condition changed;
  Slot *slots = nullptr; ///< a ring
  int64_t capacity = 0, calls = 0, first = 0, count = 0;
  /// How many elements have been pulled, and begun or found to be none, since the first; the ring
  /// has number n at n % capacity.
  int64_t pulled = 0, begun = 0;
  int64_t working = 0;
  bool gaveUp = false;

  ~ParallelMap() {
    {
      Lock lock(mutex);
      gaveUp = true;
      changed.wait(mutex, [&] { return working == 0; });
    }
    for (; count > 0; --count, first = (first + 1) % capacity) {
      release(slots[first].outcome.element);
      release(slots[first].given);
    }
    free(slots);
  }

  bool ready() {
    Lock lock(mutex);
    return count == capacity && slots[first].isDone;
  }

  static void call(Slot &slot) {
    ParallelMap &map = *slot.map;
    Outcome &outcome = slot.outcome;
    outcome.element = callFunction(map, *slot.given, /*threads=*/1, outcome.failure);
    outcome.kind =
        outcome.element ? Next::Element : endInside(map.dataset->option & 1, outcome.failure);
    release(slot.given);
    slot.given = nullptr;
  }

  /// The oldest element that no call has begun for; null: there is none. Needs the mutex.
  Slot *takePending() {
    while (begun < pulled) {
      Slot &slot = slots[begun++ % capacity];
      if (!slot.isDone)
        return &slot;
    }
    return nullptr;
  }

  /// Calls for `slot`, and for what has been pulled meanwhile.
  void run(Slot *slot) {
    while (slot) {
      call(*slot);
      Lock lock(mutex);
      slot->isDone = true;
      slot = gaveUp ? nullptr : takePending();
      if (!slot)
        --working;
      changed.notifyAll();
    }
  }

  /// Pulls as many elements as there is room for, and has calls begun. The input is pulled by who
  /// asks for an element: in order.
  void fill() {
    while (count < capacity) {
      Slot &slot = slots[(first + count) % capacity];
      slot.map = this;
      slot.given = nullptr;
      slot.outcome.element = nullptr;
      slot.outcome.failure = Failure();
      const Next kind = pull(input, &slot.given, slot.outcome.failure);
      slot.outcome.kind = kind;
      slot.AsyncWork::perform = [](AsyncWork *work) {
        auto *own = static_cast<Slot *>(work);
        own->map->run(own);
      };
      ++count;
      Slot *next = nullptr;
      {
        Lock lock(mutex);
        slot.isDone = kind != Next::Element;
        ++pulled;
        if (working < calls)
          next = takePending();
        if (next)
          ++working;
      }
      if (next && startWork(pipeline->session, next, nullptr) != WEIR_OK)
        run(next);
      if (kind != Next::Element)
        return;
    }
  }

  bool endsInRing() const {
    if (count == 0)
      return false;
    const Slot &latest = slots[(first + count - 1) % capacity];
    return latest.isDone && latest.outcome.kind == Next::End;
  }

  Next give(Element **element, Failure &failure) {
    bool mayFill = true;
    {
      Lock lock(mutex);
      mayFill = !endsInRing();
    }
    if (mayFill)
      fill();
    Slot &oldest = slots[first];
    {
      Lock lock(mutex);
      changed.wait(mutex, [&] { return oldest.isDone; });
    }
    Next kind = oldest.outcome.kind;
    *element = oldest.outcome.element;
    if (kind == Next::Failed)
      failure = oldest.outcome.failure;
    if (kind != Next::End) {
      oldest.outcome.element = nullptr;
      first = (first + 1) % capacity;
      --count;
    }
    return kind;
  }

  void settle() {
    {
      Lock lock(mutex);
      changed.wait(mutex, [&] { return working == 0; });
    }
    OverInput::settle();
  }
  void keep(StateWriter &out) {
    Lock lock(mutex);
    changed.wait(mutex, [&] { return working == 0; });
    out.number(count);
    for (int64_t i = 0; i < count; ++i)
      writeOutcome(out, slots[(first + i) % capacity].outcome);
    OverInput::keep(out);
  }
  bool resume(StateReader &in, Failure &failure) {
    int64_t wanted = in.count();
    if (wanted > capacity && !enlarge(slots, capacity, wanted))
      return failure.noMemory(), false;
    for (; count < wanted; ++count) {
      slots[count].map = this;
      slots[count].isDone = true;
      if (!readOutcome(in, slots[count].outcome))
        return in.fail(), false;
    }
    pulled = begun = count;
    return OverInput::resume(in, failure);
  }
};

} // namespace

Source *prefetchOver(Pipeline &pipeline, Dataset &dataset, Source *input, int64_t depth,
                     Failure &failure) {
  auto *made = newSource<Prefetch>(pipeline, dataset, failure);
  if (!made) {
    destroySource(input);
    return nullptr;
  }
  made->input = input;
  made->ring = static_cast<Outcome *>(calloc(size_t(depth), sizeof(Outcome)));
  made->capacity = depth;
  if (made->ring)
    return made;
  failure.noMemory();
  destroySource(made);
  return nullptr;
}

Source *makePrefetch(Pipeline &pipeline, Dataset &dataset, Failure &failure) {
  Source *input = makeSource(pipeline, *dataset.inputs[0], failure);
  int64_t depth = dataset.number(0);
  if (!input || depth == 0)
    return input;
  if (depth < 0)
    depth = pipeline.session->executor->threads() + 1;
  return prefetchOver(pipeline, dataset, input, depth, failure);
}

Source *makeParallelMap(Pipeline &pipeline, Dataset &dataset, int64_t calls, Failure &failure) {
  Source *source = newOverInput<ParallelMap>(pipeline, dataset, failure);
  if (!source)
    return nullptr;
  auto *map = static_cast<ParallelMap *>(source);
  map->calls = calls;
  map->capacity = 2 * calls;
  map->slots =
      static_cast<ParallelMap::Slot *>(calloc(size_t(map->capacity), sizeof(ParallelMap::Slot)));
  if (map->slots)
    return source;
  failure.noMemory();
  destroySource(source);
  return nullptr;
}

} // namespace weir::rt
