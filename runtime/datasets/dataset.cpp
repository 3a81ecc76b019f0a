//===- dataset.cpp - data sets as trees -----------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "datasets/dataset.h"

#include "kernels/sequence_support.h"
#include "kernels/string_support.h"
#include "session/run.h"

#include <string.h>

namespace weir::rt {

/// Of the attributes, those that a value keeps.
static constexpr int64_t headerSize = 6;

int64_t Dataset::number(int32_t parameter) const {
  int64_t value = 0;
  if (parameter < parameters->count)
    (void)loadInteger(parameters->components[parameter], &value);
  return value;
}

bool Dataset::truth(int32_t parameter) const {
  return parameter < parameters->count && parameters->components[parameter].bytes > 0 &&
         *static_cast<const uint8_t *>(parameters->components[parameter].data) != 0;
}

weir_string Dataset::text(int32_t parameter) const {
  weir_string text = {"", 0};
  if (parameter < parameters->count)
    (void)loadString(parameters->components[parameter], &text);
  return text;
}

int32_t findFunction(const weir_session *session, const weir_string &name) {
  const weir_program_desc *program = session->program;
  for (int32_t i = program->entry_count; i < entriesAndFunctions(program); ++i)
    if (equalStrings(stringOf(program->entries[i].name), name))
      return i;
  return -1;
}

bool Cache::add(Element *element) {
  if (count == capacity) {
    int64_t wanted = capacity ? capacity * 2 : 64;
    auto *grown = static_cast<Element **>(realloc(elements, size_t(wanted) * sizeof(Element *)));
    if (!grown) {
      release(element);
      return false;
    }
    elements = grown;
    capacity = wanted;
  }
  elements[count++] = element;
  return true;
}

void Cache::clear() {
  for (int64_t i = 0; i < count; ++i)
    release(elements[i]);
  free(elements);
  elements = nullptr;
  count = capacity = 0;
  isWhole = false;
}

static void destroyDataset(Counted *self) {
  auto *dataset = static_cast<Dataset *>(self);
  for (int32_t i = 0; i < dataset->inputCount; ++i)
    release(dataset->inputs[i]);
  free(dataset->inputs);
  release(dataset->parameters);
  release(dataset->captures);
  release(dataset->seeds);
  dataset->cache.clear();
  dataset->~Dataset();
  free(dataset);
}

namespace {

/// Reads a data set's value.
class DatasetReader {
public:
  DatasetReader(weir_session *session, Failure &failure) : session(session), failure(failure) {}

  Dataset *read(const weir_tensor &value) {
    void *memory = calloc(1, sizeof(Dataset));
    if (!memory) {
      failure.noMemory();
      return nullptr;
    }
    auto *dataset = new (memory) Dataset();
    dataset->destroy = destroyDataset;
    if (fill(*dataset, value))
      return dataset;
    release(dataset);
    return nullptr;
  }

private:
  bool fill(Dataset &dataset, const weir_tensor &value) {
    auto *parts = static_cast<const weir_tensor_ref *>(value.data);
    int64_t count = value.dtype == WEIR_TENSOR && value.rank == 1 ? value.dims[0] : 0;
    if (count < 1 || parts[0]->dtype != WEIR_I64 || elementCountOf(*parts[0]) != headerSize)
      return broken();
    auto *header = static_cast<const int64_t *>(parts[0]->data);
    dataset.kind = weir_dataset_kind(header[0]);
    dataset.option = header[1];
    dataset.boxed = header[5];
    dataset.function = -1;
    int64_t inputs = header[2], functions = header[3], captures = header[4];
    int64_t parameters = count - 1 - inputs - functions - captures;
    if (inputs < 0 || functions < 0 || captures < 0 || parameters < 0)
      return broken();
    ++parts;
    dataset.inputs = static_cast<Dataset **>(calloc(size_t(inputs | !inputs), sizeof(Dataset *)));
    if (!dataset.inputs) {
      failure.noMemory();
      return false;
    }
    for (; dataset.inputCount < inputs; ++dataset.inputCount)
      if (!(dataset.inputs[dataset.inputCount] = read(**parts++)))
        return false;
    if (functions && !setFunction(dataset, **parts++))
      return false;
    dataset.parameters = copyParts(parts, parameters);
    dataset.captures = copyParts(parts + parameters, captures);
    if (!dataset.parameters || !dataset.captures)
      return false;
    if (dataset.kind != WEIR_DATASET_SHUFFLE)
      return true;
    dataset.seeds = seedGeneratorOf(session, dataset.text(1));
    if (!dataset.seeds)
      failure.fail(WEIR_FAILED_PRECONDITION) << "a data set is shuffled without a seed generator";
    return dataset.seeds != nullptr;
  }

  bool broken() {
    failure.fail(WEIR_INVALID_ARGUMENT) << "what is given for a data set is none";
    return false;
  }

  bool setFunction(Dataset &dataset, const weir_tensor &name) {
    weir_string text = {"", 0};
    if (loadString(name, &text))
      dataset.function = findFunction(session, text);
    if (dataset.function < 0)
      failure.fail(WEIR_NOT_FOUND)
          << "the program has no function of the name that a data set says";
    return dataset.function >= 0;
  }

  Element *copyParts(const weir_tensor_ref *parts, int64_t count) {
    auto *list = static_cast<weir_tensor *>(malloc(size_t(count | !count) * sizeof(weir_tensor)));
    if (!list) {
      failure.noMemory();
      return nullptr;
    }
    for (int64_t i = 0; i < count; ++i)
      list[i] = *parts[i];
    Element *made = copyToElement(list, int32_t(count));
    free(list);
    if (!made)
      failure.noMemory();
    return made;
  }

  weir_session *const session;
  Failure &failure;
};

} // namespace

Dataset *makeDataset(weir_session *session, const weir_tensor &value, Failure &failure) {
  return DatasetReader(session, failure).read(value);
}

Dataset *copyDataset(const Dataset &dataset, Failure &failure) {
  void *memory = calloc(1, sizeof(Dataset));
  auto *copy = memory ? new (memory) Dataset() : nullptr;
  if (!copy)
    return failure.noMemory(), nullptr;
  copy->destroy = destroyDataset;
  copy->kind = dataset.kind;
  copy->option = dataset.option;
  copy->boxed = dataset.boxed;
  copy->function = dataset.function;
  copy->parameters = dataset.parameters;
  copy->captures = dataset.captures;
  copy->parameters->hold();
  copy->captures->hold();
  auto inputs = size_t(dataset.inputCount);
  copy->inputs = static_cast<Dataset **>(calloc(inputs | !inputs, sizeof(Dataset *)));
  if (dataset.seeds)
    copy->seeds = copySeeds(*dataset.seeds);
  bool isWhole = copy->inputs && (copy->seeds || !dataset.seeds);
  if (!isWhole)
    failure.noMemory();
  for (; isWhole && copy->inputCount < dataset.inputCount; copy->inputCount += isWhole) {
    Dataset *input = copyDataset(*dataset.inputs[copy->inputCount], failure);
    copy->inputs[copy->inputCount] = input;
    isWhole = input != nullptr;
  }
  if (!isWhole)
    release(copy), copy = nullptr;
  return copy;
}

void shareSeeds(Dataset &copy, Dataset &origin) {
  if (copy.seeds) {
    {
      Lock lock(origin.seeds->mutex);
      origin.seeds->seed = copy.seeds->seed;
      origin.seeds->seed2 = copy.seeds->seed2;
      origin.seeds->words = copy.seeds->words;
    }
    release(copy.seeds);
    copy.seeds = origin.seeds;
    copy.seeds->hold();
  }
  for (int32_t i = 0; i < copy.inputCount; ++i)
    shareSeeds(*copy.inputs[i], *origin.inputs[i]);
}

//===----------------------------------------------------------------------===//
// How many elements there are
//===----------------------------------------------------------------------===//

static constexpr int64_t endless = -1, unknown = -2;

static int64_t rangeSize(const Dataset &dataset) {
  int64_t start = dataset.number(0), stop = dataset.number(1), step = dataset.number(2);
  if (step > 0)
    return start < stop ? (stop - start - 1) / step + 1 : 0;
  return start > stop ? (start - stop - 1) / -step + 1 : 0;
}

/// The smaller one of what two have.
static int64_t lesser(int64_t x, int64_t y) {
  if (x == endless || y == endless)
    return x == endless ? y : x;
  return x == unknown || y == unknown ? unknown : x < y ? x : y;
}

int64_t cardinalityOf(const Dataset &dataset) {
  int64_t below = dataset.inputCount > 0 ? cardinalityOf(*dataset.inputs[0]) : unknown;
  int64_t number = dataset.number(0);
  switch (dataset.kind) {
  case WEIR_DATASET_TENSORS:
    return 1;
  case WEIR_DATASET_SLICES:
    return dataset.parameters->components[0].dims[0];
  case WEIR_DATASET_RANGE:
    return rangeSize(dataset);
  case WEIR_DATASET_MAP:
  case WEIR_DATASET_SCAN:
    return dataset.option & 1 ? below : unknown;
  case WEIR_DATASET_SHUFFLE:
  case WEIR_DATASET_PREFETCH:
  case WEIR_DATASET_CACHE:
    return below;
  case WEIR_DATASET_BATCH:
  case WEIR_DATASET_PADDED:
    return below < 0 ? below : below / number + (!dataset.truth(1) && below % number != 0);
  case WEIR_DATASET_REPEAT:
    if (number < 0)
      return below == 0 ? 0 : endless;
    return number == 0 ? 0 : below < 0 ? below : below * number;
  case WEIR_DATASET_TAKE:
    return number < 0         ? below
           : below == endless ? number
           : below == unknown ? unknown
                              : lesser(below, number);
  case WEIR_DATASET_SKIP:
    return number < 0 ? 0 : below < 0 ? below : below < number ? 0 : below - number;
  case WEIR_DATASET_ZIP:
    for (int32_t i = 1; i < dataset.inputCount; ++i)
      below = lesser(below, cardinalityOf(*dataset.inputs[i]));
    return below;
  case WEIR_DATASET_CONCATENATE: {
    int64_t more = cardinalityOf(*dataset.inputs[1]);
    if (below == endless || more == endless)
      return endless;
    return below == unknown || more == unknown ? unknown : below + more;
  }
  case WEIR_DATASET_SHARD:
    return below < 0 ? below : below / number + (dataset.number(1) < below % number);
  default:
    return unknown;
  }
}

Source *makeSource(Pipeline &pipeline, Dataset &dataset, Failure &failure) {
  switch (dataset.kind) {
  case WEIR_DATASET_TENSORS:
  case WEIR_DATASET_SLICES:
  case WEIR_DATASET_RANGE:
    return makeTensors(pipeline, dataset, failure);
  case WEIR_DATASET_RECORDS:
  case WEIR_DATASET_LINES:
  case WEIR_DATASET_FIXED:
    return makeFileSource(pipeline, dataset, failure);
  case WEIR_DATASET_MAP:
    return makeMap(pipeline, dataset, failure);
  case WEIR_DATASET_BATCH:
  case WEIR_DATASET_PADDED:
    return makeBatch(pipeline, dataset, failure);
  case WEIR_DATASET_SHUFFLE:
    return makeShuffle(pipeline, dataset, failure);
  case WEIR_DATASET_INTERLEAVE:
    return makeInterleave(pipeline, dataset, failure);
  case WEIR_DATASET_FILTER:
  case WEIR_DATASET_SCAN:
  case WEIR_DATASET_TAKE_WHILE:
    return makeFunctional(pipeline, dataset, failure);
  case WEIR_DATASET_PREFETCH:
    return makePrefetch(pipeline, dataset, failure);
  default:
    return makeSelection(pipeline, dataset, failure);
  }
}

} // namespace weir::rt

using namespace weir::rt;

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// What TensorFlow says of parameters that cannot be; null: nothing.
static const char *faultOf(const int64_t *attributes, const weir_tensor *parameters,
                           int32_t count) {
  auto number = [&](int32_t i) {
    int64_t value = 0;
    if (i < count)
      (void)loadInteger(parameters[i], &value);
    return value;
  };
  switch (attributes[0]) {
  case WEIR_DATASET_SLICES:
    for (int32_t i = 0; i < count; ++i)
      if (parameters[i].rank < 1)
        return "All components must be at least 1-dimensional";
      else if (parameters[i].dims[0] != parameters[0].dims[0])
        return "All components must have the same size in the 0th dimension";
    return nullptr;
  case WEIR_DATASET_RANGE:
    return number(2) == 0 ? "step must be a non-zero integer." : nullptr;
  case WEIR_DATASET_FIXED:
    return number(1) < 0   ? "`header_bytes` must be >= 0"
           : number(2) < 1 ? "`record_bytes` must be > 0"
           : number(3) < 0 ? "`footer_bytes` must be >= 0"
                           : nullptr;
  case WEIR_DATASET_MAP:
    return number(0) < 1 && number(0) != -1 ? "num_parallel_calls must be greater than zero."
                                            : nullptr;
  case WEIR_DATASET_BATCH:
    return number(0) < 1 ? "Batch size must be greater than zero." : nullptr;
  case WEIR_DATASET_PADDED:
    return number(0) < 1 ? "Batch size must be greater than zero." : nullptr;
  case WEIR_DATASET_SHUFFLE:
    return number(0) < 1 && number(0) != -1
               ? "buffer_size must be greater than zero or UNKNOWN_CARDINALITY"
               : nullptr;
  case WEIR_DATASET_INTERLEAVE:
    return number(0) < 1 && number(0) != -1   ? "`cycle_length` must be > 0"
           : number(1) < 1                    ? "`block_length` must be > 0"
           : number(2) < 1 && number(2) != -1 ? "`num_parallel_calls` must be > 0"
                                              : nullptr;
  case WEIR_DATASET_PREFETCH:
    return number(0) < -1 ? "buffer_size must be >= 0 or set buffer_size to be "
                            "-1 for auto-tuning"
                          : nullptr;
  case WEIR_DATASET_SHARD:
    return number(0) < 1 ? "Number of shards must be greater than zero"
           : number(1) < 0 || number(1) >= number(0)
               ? "Index must be between 0 and the number of shards"
               : nullptr;
  default:
    return nullptr;
  }
}

int32_t weir_kernel_dataset(weir_context *ctx, const weir_tensor *operands, int32_t operand_count,
                            weir_tensor *results, int32_t, const int64_t *attributes) {
  int64_t before = attributes[2] + attributes[3],
          parameters = operand_count - before - attributes[4];
  if (parameters < 0)
    return failMessage(ctx, WEIR_INTERNAL, "a data set was made of too few operands");
  if (const char *fault = faultOf(attributes, operands + before, int32_t(parameters)))
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, fault);
  weir_string file;
  if (attributes[0] == WEIR_DATASET_CACHE && loadString(operands[before], &file) && file.size > 0)
    return failMessage(ctx, WEIR_UNIMPLEMENTED,
                       "a data set is to be cached in a file; only memory is possible");
  weir_tensor header = {};
  header.dtype = WEIR_I64;
  header.rank = 1;
  header.dims[0] = headerSize;
  header.bytes = headerSize * int64_t(sizeof(int64_t));
  header.data = const_cast<int64_t *>(attributes);
  int64_t count = operand_count + 1;
  if (!shapeResult(ctx, results[0], 1, &count))
    return WEIR_RESOURCE_EXHAUSTED;
  auto *to = static_cast<weir_tensor_ref *>(results[0].data);
  for (int64_t i = 0; i < count; ++i) {
    const weir_tensor &from = i == 0 ? header : operands[i - 1];
    int64_t bytes = elementCountOf(from) * weir_dtype_size(from.dtype);
    weir_tensor *made = newElement(ctx, from, bytes);
    if (!made)
      return WEIR_RESOURCE_EXHAUSTED;
    if (bytes > 0)
      memcpy(made->data, from.data, size_t(bytes));
    to[i] = made;
  }
  return WEIR_OK;
}

int32_t weir_kernel_dataset_cardinality(weir_context *ctx, const weir_tensor *operands, int32_t,
                                        weir_tensor *results, int32_t, const int64_t *) {
  Failure failure;
  Dataset *dataset = makeDataset(ctx->run->session, operands[0], failure);
  if (!dataset)
    return failMessage(ctx, failure.code, failure.text);
  int64_t count = cardinalityOf(*dataset);
  release(dataset);
  if (!shapeResult(ctx, results[0], 0, nullptr))
    return WEIR_RESOURCE_EXHAUSTED;
  storeIndex(results[0], 0, count);
  return WEIR_OK;
}
