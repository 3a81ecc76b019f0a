//===- selection.cpp - tensors, and which of them -------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "datasets/state.h"
#include "kernels/string_support.h"

#include <string.h>

namespace weir::rt {

namespace {

/// One element of all components, or one a slice.
struct Tensors : Source {
  int64_t place = 0;

  Next give(Element **element, Failure &failure) {
    Element &all = *dataset->parameters;
    bool slices = dataset->kind == WEIR_DATASET_SLICES;
    if (place >= (slices ? all.components[0].dims[0] : 1))
      return Next::End;
    Element *made = newElement(all.count, 0);
    if (!made)
      return failure.noMemory(), Next::Failed;
    for (int32_t i = 0; i < all.count; ++i)
      made->share(i, slices ? sliceOf(all.components[i], place) : all.components[i], &all);
    ++place;
    *element = made;
    return Next::Element;
  }
  bool ready() { return true; }
  void keep(StateWriter &out) { out.number(place); }
  bool resume(StateReader &in, Failure &) {
    place = in.number();
    if (place < 0)
      in.fail();
    return !in.failed();
  }
};

struct Range : Source {
  int64_t at = 0, stop = 0, step = 1;

  Next give(Element **element, Failure &failure) {
    if (step > 0 ? at >= stop : at <= stop)
      return Next::End;
    Element *made = newElement(1, elementAlignment);
    if (!made)
      return failure.noMemory(), Next::Failed;
    weir_tensor &number = made->components[0];
    number.data = made->room;
    number.dtype = dataset->parameters->components[3].dtype;
    number.bytes = weir_dtype_size(number.dtype);
    if (number.dtype == WEIR_F32) {
      float value = float(at);
      memcpy(number.data, &value, sizeof(value));
    } else if (number.dtype == WEIR_F64) {
      double value = double(at);
      memcpy(number.data, &value, sizeof(value));
    } else {
      // Little-endian: the low bytes are the narrower integer.
      memcpy(number.data, &at, size_t(number.bytes));
    }
    // The last step may lead out of what numbers there are.
    if (__builtin_add_overflow(at, step, &at))
      at = stop;
    *element = made;
    return Next::Element;
  }
  bool ready() { return true; }
  void keep(StateWriter &out) { out.number(at); }
  bool resume(StateReader &in, Failure &) {
    at = in.number();
    return !in.failed();
  }
};

struct Take : OverInput {
  int64_t left = 0;
  Next give(Element **element, Failure &failure) {
    if (left == 0)
      return Next::End;
    Next got = pull(input, element, failure);
    left -= left > 0 && got != Next::Failed;
    return got;
  }
  void keep(StateWriter &out) {
    out.number(left);
    OverInput::keep(out);
  }
  bool resume(StateReader &in, Failure &failure) {
    left = in.number();
    return OverInput::resume(in, failure);
  }
};

/// All but the first ones; with `every`, one of as many.
struct Skip : OverInput {
  int64_t before = 0, every = 1;
  bool isEven = false; ///< an incomplete round is an error

  Next give(Element **element, Failure &failure) {
    for (; before > 0; --before) {
      if (pipeline->stops.load(std::memory_order_relaxed))
        return failure.fail(WEIR_CANCELLED) << "the session ends", Next::Failed;
      Next got = pull(input, element, failure);
      if (got != Next::Element)
        return got;
      release(*element);
    }
    before = every - 1;
    return pull(input, element, failure);
  }
  void keep(StateWriter &out) {
    out.number(before);
    OverInput::keep(out);
  }
  bool resume(StateReader &in, Failure &failure) {
    before = in.number();
    return OverInput::resume(in, failure);
  }
};

struct Repeat : OverInput {
  int64_t left = 0; ///< passes, this one included; below 0: without end
  bool isFirst = true;

  Next give(Element **element, Failure &failure) {
    while (left != 0) {
      if (pipeline->stops.load(std::memory_order_relaxed))
        return failure.fail(WEIR_CANCELLED) << "the session ends", Next::Failed;
      if (!input && !(input = makeSource(*pipeline, *dataset->inputs[0], failure)))
        return Next::Failed;
      Next got = pull(input, element, failure);
      if (got == Next::Element)
        isFirst = false;
      if (got != Next::End)
        return got;
      destroySource(input);
      input = nullptr;
      // Nothing, however often.
      if (left < 0 && isFirst)
        left = 0;
      left -= left > 0;
      isFirst = true;
    }
    return Next::End;
  }
  bool ready() { return left == 0 || (input && input->isReady(input)); }
  void keep(StateWriter &out) {
    out.number(left);
    out.number(isFirst);
    out.number(input != nullptr);
    if (input)
      OverInput::keep(out);
  }
  bool resume(StateReader &in, Failure &failure) {
    left = in.number();
    isFirst = in.number() != 0;
    if (in.number() != 0)
      return OverInput::resume(in, failure);
    destroySource(input);
    input = nullptr;
    return !in.failed();
  }
};

/// Those of all inputs side by side, or one after the other.
struct Joined : Source {
  Source **inputs = nullptr;
  int32_t count = 0, current = 0;

  ~Joined() {
    for (int32_t i = 0; i < count; ++i)
      destroySource(inputs[i]);
    free(inputs);
  }

  Next zip(Element **element, Failure &failure) {
    auto **parts = static_cast<Element **>(calloc(size_t(count | !count), sizeof(Element *)));
    if (!parts)
      return failure.noMemory(), Next::Failed;
    Next result = Next::Element;
    int32_t components = 0, given = 0;
    // All are asked, also behind one that has failed; the first that ends ends all.
    for (; given < count && result != Next::End; ++given) {
      Failure own;
      Next got = pull(inputs[given], &parts[given], own);
      if (got == Next::Element)
        components += parts[given]->count;
      else if (got == Next::End)
        result = got;
      else if (result == Next::Element)
        failure = own, result = got;
    }
    Element *made = result == Next::Element ? newElement(components, 0) : nullptr;
    if (made) {
      for (int32_t i = 0, at = 0; i < count; ++i)
        for (int32_t c = 0; c < parts[i]->count; ++c)
          shareComponent(*made, at++, *parts[i], c);
      *element = made;
    } else if (result == Next::Element) {
      failure.noMemory();
      result = Next::Failed;
    }
    for (int32_t i = 0; i < given; ++i)
      release(parts[i]);
    free(parts);
    return result;
  }

  Next give(Element **element, Failure &failure) {
    if (dataset->kind == WEIR_DATASET_ZIP)
      return count == 0 ? Next::End : zip(element, failure);
    for (; current < count; ++current) {
      Next got = pull(inputs[current], element, failure);
      if (got != Next::End)
        return got;
    }
    return Next::End;
  }
  bool ready() {
    for (int32_t i = current; i < count; ++i)
      if (!inputs[i]->isReady(inputs[i]))
        return false;
    return true;
  }
  void settle() {
    for (int32_t i = 0; i < count; ++i)
      settleSource(inputs[i]);
  }
  void keep(StateWriter &out) {
    out.number(current);
    for (int32_t i = 0; i < count; ++i)
      saveSource(inputs[i], out);
  }
  bool resume(StateReader &in, Failure &failure) {
    int64_t number = in.number();
    if (number < 0 || number > count)
      in.fail();
    current = int32_t(number);
    for (int32_t i = 0; i < count && !in.failed(); ++i)
      if (!loadSource(inputs[i], in, failure))
        return false;
    return !in.failed();
  }
};

/// The elements of the first pass that came to its end, again.
struct Cached : OverInput {
  int64_t place = 0;
  bool isReading = false;
  Cache own; ///< what this pass has had so far

  ~Cached() { own.clear(); }
  Next give(Element **element, Failure &failure) {
    Cache &shared = dataset->cache;
    if (!isReading && !own.isWhole && place == 0) {
      Lock lock(shared.mutex);
      isReading = shared.isWhole;
    }
    if (isReading) {
      // It never changes once it is whole.
      if (place >= shared.count)
        return Next::End;
      *element = shared.elements[place++];
      (*element)->hold();
      return Next::Element;
    }
    if (own.isWhole)
      return Next::End;
    Next got = pull(input, element, failure);
    if (got == Next::Element) {
      ++place;
      (*element)->hold();
      if (!own.add(*element)) {
        release(*element);
        return failure.noMemory(), Next::Failed;
      }
    } else if (got == Next::End) {
      Lock lock(shared.mutex);
      if (!shared.isWhole) {
        shared.elements = own.elements;
        shared.count = own.count;
        shared.capacity = own.capacity;
        shared.isWhole = true;
        own.elements = nullptr;
        own.count = own.capacity = 0;
      }
      own.isWhole = true;
    }
    return got;
  }
  bool ready() { return isReading || input->isReady(input); }
  void keep(StateWriter &out) {
    out.number(place);
    out.number(isReading);
    out.number(own.isWhole);
    writeElements(out, own.count, [&](int64_t i) { return own.elements[i]; });
    OverInput::keep(out);
  }
  bool resume(StateReader &in, Failure &failure) {
    place = in.number();
    isReading = in.number() != 0;
    own.isWhole = in.number() != 0;
    if (place < 0 || !readElements(in, [&](Element *element) { return own.add(element); }))
      return in.fail(), false;
    return OverInput::resume(in, failure);
  }
};

/// The slices of each element, one after the other.
struct Unbatch : OverInput {
  Element *whole = nullptr;
  int64_t place = 0;

  ~Unbatch() { release(whole); }
  /// Whether all components have as many slices.
  static bool hasRows(const Element &element) {
    for (int32_t i = 0; i < element.count; ++i)
      if (element.components[i].rank < 1 ||
          element.components[i].dims[0] != element.components[0].dims[0])
        return false;
    return true;
  }
  Next give(Element **element, Failure &failure) {
    while (!whole || place >= whole->components[0].dims[0]) {
      release(whole);
      whole = nullptr;
      place = 0;
      if (Next got = pull(input, &whole, failure); got != Next::Element)
        return got;
      if (!hasRows(*whole)) {
        release(whole);
        whole = nullptr;
        failure.fail(WEIR_INVALID_ARGUMENT)
            << "Input element must have the same batch size in each component.";
        return Next::Failed;
      }
      if (whole->count == 0)
        return release(whole), whole = nullptr, Next::End;
    }
    Element *made = newElement(whole->count, 0);
    if (!made)
      return failure.noMemory(), Next::Failed;
    for (int32_t i = 0; i < whole->count; ++i)
      made->share(i, sliceOf(whole->components[i], place), whole);
    ++place;
    *element = made;
    return Next::Element;
  }
  void keep(StateWriter &out) {
    writeElement(out, whole);
    out.number(place);
    OverInput::keep(out);
  }
  bool resume(StateReader &in, Failure &failure) {
    whole = readElement(in);
    place = in.number();
    if (place < 0 || (whole && !hasRows(*whole)))
      return in.fail(), false;
    return OverInput::resume(in, failure);
  }
};

Source *makeJoined(Pipeline &pipeline, Dataset &dataset, Failure &failure) {
  auto *joined = newSource<Joined>(pipeline, dataset, failure);
  if (!joined)
    return nullptr;
  joined->inputs = static_cast<Source **>(
      calloc(size_t(dataset.inputCount | !dataset.inputCount), sizeof(Source *)));
  if (!joined->inputs)
    failure.noMemory();
  for (; joined->inputs && joined->count < dataset.inputCount; ++joined->count)
    if (!(joined->inputs[joined->count] =
              makeSource(pipeline, *dataset.inputs[joined->count], failure)))
      break;
  if (joined->count == dataset.inputCount && joined->inputs)
    return joined;
  destroySource(joined);
  return nullptr;
}

} // namespace

Source *makeTensors(Pipeline &pipeline, Dataset &dataset, Failure &failure) {
  if (dataset.kind != WEIR_DATASET_RANGE)
    return newSource<Tensors>(pipeline, dataset, failure);
  auto *range = newSource<Range>(pipeline, dataset, failure);
  if (range) {
    range->at = dataset.number(0);
    range->stop = dataset.number(1);
    range->step = dataset.number(2);
  }
  return range;
}

Source *makeSelection(Pipeline &pipeline, Dataset &dataset, Failure &failure) {
  int64_t number = dataset.number(0);
  Source *made = nullptr;
  switch (dataset.kind) {
  case WEIR_DATASET_TAKE:
    if ((made = newOverInput<Take>(pipeline, dataset, failure)))
      static_cast<Take *>(made)->left = number;
    return made;
  case WEIR_DATASET_SKIP:
    if ((made = newOverInput<Skip>(pipeline, dataset, failure)))
      static_cast<Skip *>(made)->before = number < 0 ? INT64_MAX : number;
    return made;
  case WEIR_DATASET_SHARD:
    if ((made = newOverInput<Skip>(pipeline, dataset, failure))) {
      static_cast<Skip *>(made)->before = dataset.number(1);
      static_cast<Skip *>(made)->every = number;
    }
    return made;
  case WEIR_DATASET_REPEAT:
    if ((made = newOverInput<Repeat>(pipeline, dataset, failure)))
      static_cast<Repeat *>(made)->left = number;
    return made;
  case WEIR_DATASET_ZIP:
  case WEIR_DATASET_CONCATENATE:
    return makeJoined(pipeline, dataset, failure);
  case WEIR_DATASET_CACHE:
    return newOverInput<Cached>(pipeline, dataset, failure);
  case WEIR_DATASET_UNBATCH:
    return newOverInput<Unbatch>(pipeline, dataset, failure);
  default:
    failure.fail(WEIR_UNIMPLEMENTED) << "a data set is of a kind that the runtime does not have";
    return nullptr;
  }
}

} // namespace weir::rt
