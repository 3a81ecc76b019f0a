//===- top_k.cpp - the largest elements, and all in order -----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kernels/by_vectors.h"
#include "kernels/kernel_support.h"
#include "kernels/ordering.h"
#include "kernels/sort_lanes.h"

#include <algorithm>
#include <limits>

using namespace weir::rt;

namespace {

struct Selection {
  int64_t axis;
  int64_t k;
  bool largest;
  bool sorted;
};

/// Copies element `from` of the data to element `to` of the values.
void copyElement(const weir_tensor &data, int64_t from, weir_tensor &values, int64_t to,
                 int64_t bytes) {
  memcpy(static_cast<char *>(values.data) + to * bytes,
         static_cast<const char *>(data.data) + from * bytes, size_t(bytes));
}

/// The k first in order of `count` > k items, that `next` gives by number, in the
/// order in which TensorFlow's kernel leaves them when none is asked for: a heap
/// of k + 1, whose last place takes each newcomer and gets the one that leaves.
template <typename Next> void selectByHeap(KeyIndex *items, int64_t k, int64_t count, Next next) {
  for (int64_t i = 0; i <= k; ++i)
    items[i] = next(i);
  KeyIndex *end = items + k + 1;
  std::make_heap(items, end);
  std::pop_heap(items, end);
  for (int64_t i = k + 1; i < count; ++i) {
    KeyIndex item = next(i);
    if (!(item < items[0]))
      continue;
    *(end - 1) = item;
    std::push_heap(items, end);
    std::pop_heap(items, end);
  }
}

/// What a call asks for, shared by the threads that work on it.
struct Request {
  const weir_tensor &data;
  weir_tensor *results;
  Selection selection;
  AxisView view;

  /// Of many elements, few, in order.
  bool wantsFew() const { return selection.sorted && selection.k <= view.size / 16; }
};

/// Keys of a long line that are in the nearest cache at once.
constexpr int64_t keysAtOnce = 1024;

/// Selects from one line after the other.
class LineSelector {
public:
  LineSelector(weir_context *ctx, const Request &request)
      : request(request), k(request.selection.k), size(request.view.size),
        keys(ctx, request.wantsFew() ? std::min(keysAtOnce, size) : size),
        items(ctx, request.wantsFew() ? 2 * k + keysAtOnce : size) {}

  bool hasMemory() const { return keys.data && items.data; }

  /// `first` is the line's first element in the data, `out` in the results.
  void select(int64_t first, int64_t out) {
    const Selection &selection = request.selection;
    bool sorts = selection.sorted || k == size;
    if (request.wantsFew()) {
      if (k <= mostReplaced)
        selectByReplacement(first);
      else
        selectByCollection(first);
    } else {
      makeKeysOf(first, 0, size);
      if (sorts) {
        for (int64_t i = 0; i < size; ++i)
          items[i] = {keys[i], i};
        if (k < size)
          selectKeys(items.data, size, k);
      } else {
        selectByHeap(items.data, k, size, [this](int64_t i) { return KeyIndex{keys[i], i}; });
      }
    }
    if (sorts)
      sortKeys(items.data, k);
    write(first, out);
  }

private:
  /// Up to as many are kept in order: each newcomer moves half of them.
  static constexpr int64_t mostReplaced = 32;

  void makeKeysOf(int64_t first, int64_t begin, int64_t count) {
    const weir_tensor &data = request.data;
    int64_t step = request.view.inner;
    makeKeys(data.dtype,
             static_cast<const char *>(data.data) +
                 (first + begin * step) * weir_dtype_size(data.dtype),
             step, count, request.selection.largest, keys.data);
  }

  /// Calls newcomer(key, index) for the keys of the line's elements [begin, size) that are below
  /// `bound`, which it may lower, and startBlock() before each keysAtOnce of them.
  template <typename StartBlock, typename Newcomer>
  void forEachBelow(int64_t first, int64_t begin, const uint64_t &bound, StartBlock startBlock,
                    Newcomer newcomer) {
    for (; begin < size; begin += keysAtOnce) {
      int64_t count = std::min(keysAtOnce, size - begin);
      startBlock();
      makeKeysOf(first, begin, count);
      for (int64_t i = 0; i < count;) {
        i += countNotBelow(keys.data + i, count - i, bound);
        for (int64_t end = std::min(i + keyGroup, count); i < end; ++i)
          if (keys[i] < bound)
            newcomer(keys[i], begin + i);
      }
    }
  }

  /// The first k in order are in the first places, each newcomer among them. Among equal keys the
  /// earlier index, which is there, comes first.
  void selectByReplacement(int64_t first) {
    makeKeysOf(first, 0, k);
    for (int64_t i = 0; i < k; ++i)
      items[i] = {keys[i], i};
    sortKeys(items.data, k);
    uint64_t bound = items[k - 1].key;
    forEachBelow(
        first, k, bound, [] {},
        [&](uint64_t key, int64_t index) {
          int64_t place = k - 1;
          for (; place > 0 && key < items[place - 1].key; --place)
            items[place] = items[place - 1];
          items[place] = {key, index};
          bound = items[k - 1].key;
        });
  }

  /// What is below the k-th so far is collected behind the first k, and those selected anew where
  /// it has become as much as they are.
  void selectByCollection(int64_t first) {
    int64_t held = 0;
    // Of the last key the k first are there before it is asked for.
    uint64_t bound = UINT64_MAX;
    auto keep = [&] {
      selectKeys(items.data, held, k);
      held = k;
      bound = 0;
      for (int64_t i = 0; i < k; ++i)
        bound = std::max(bound, items[i].key);
    };
    const int64_t filled = std::min(size, std::max(k, keysAtOnce));
    while (held < filled) {
      int64_t begin = held, count = std::min(keysAtOnce, filled - begin);
      makeKeysOf(first, begin, count);
      for (; held < begin + count; ++held)
        items[held] = {keys[held - begin], held};
    }
    auto keepWhereMany = [&] {
      if (held >= 2 * k)
        keep();
    };
    forEachBelow(first, filled, bound, keepWhereMany,
                 [&](uint64_t key, int64_t index) { items[held++] = {key, index}; });
    keep();
  }

  void write(int64_t first, int64_t out) {
    int64_t bytes = weir_dtype_size(request.data.dtype), step = request.view.inner;
    for (int64_t i = 0; i < k; ++i) {
      int64_t to = out + i * step;
      copyElement(request.data, first + items[i].index * step, request.results[0], to, bytes);
      storeIndex(request.results[1], to, items[i].index);
    }
  }

  const Request &request;
  const int64_t k, size;
  Scratch<uint64_t> keys;
  Scratch<KeyIndex> items;
};

/// Writes the first k of sorted columns: `valid` of them, from outs[l] on.
template <typename T, typename Index, typename Word>
void writeColumns(const weir_tensor &data, weir_tensor *results, int64_t k, const Columns &columns,
                  const int64_t *outs, int64_t valid, const Word *words) {
  constexpr Word low = Word((UINT64_C(1) << (sizeof(Word) * 4)) - 1);
  constexpr int64_t lanes = lanesOf<Word>();
  const int64_t step = columns.step;
  auto *from = static_cast<const T *>(data.data) + columns.firsts[0];
  auto *values = static_cast<T *>(results[0].data) + outs[0];
  auto *indices = static_cast<Index *>(results[1].data) + outs[0];
  if (columns.neighbours)
    return byVectors([=]() __attribute__((always_inline)) {
      for (int64_t i = 0; i < k; ++i) {
        T kept[lanes];
        for (int64_t l = 0; l < lanes; ++l)
          kept[l] = from[(words[i * lanes + l] & low) * step + l];
        memcpy(values + i * step, kept, sizeof(kept));
        for (int64_t l = 0; l < lanes; ++l)
          indices[i * step + l] = Index(words[i * lanes + l] & low);
      }
    });
  auto write = [&](int64_t i, int64_t l) {
    int64_t index = words[i * lanes + l] & low, to = outs[l] - outs[0] + i * step;
    values[to] = from[columns.firsts[l] - columns.firsts[0] + index * step];
    indices[to] = Index(index);
  };
  if (step == 1)
    for (int64_t l = 0; l < valid; ++l)
      for (int64_t i = 0; i < k; ++i)
        write(i, l);
  else
    for (int64_t i = 0; i < k; ++i)
      for (int64_t l = 0; l < valid; ++l)
        write(i, l);
}

/// Lines [begin, end) of those of a view, in the order in which they begin in memory.
struct LineRange {
  int64_t begin, end;
};

/// Where the next lines of a range have their first elements, in the data and in the results. What
/// is too many is the last line again: it is sorted and forgotten.
class LineStarts {
public:
  static constexpr int64_t most = wideLanes > narrowLanes ? wideLanes : narrowLanes;

  LineStarts(const AxisView &view, int64_t k, LineRange range)
      : view(view), k(k), left(range.end - range.begin),
        first(range.begin / view.inner * view.size * view.inner),
        out(range.begin / view.inner * k * view.inner), inner(range.begin % view.inner) {}

  /// Moves on to the next `lanes` lines, and returns how many there are. Lines follow each other:
  /// the next ones are found without a division.
  int64_t advance(int64_t lanes) {
    int64_t valid = std::min(left, lanes);
    neighbours = view.inner - inner >= lanes;
    for (int64_t l = 0; l < lanes; ++l) {
      firsts[l] = first + inner;
      outs[l] = out + inner;
      if (l + 1 < valid)
        toNext();
    }
    toNext();
    left -= valid;
    return valid;
  }

  /// Whether the lines lie side by side in memory, and none of them twice.
  bool neighbours = false;
  int64_t firsts[most], outs[most];

private:
  void toNext() {
    if (++inner < view.inner)
      return;
    inner = 0;
    first += view.size * view.inner;
    out += k * view.inner;
  }

  const AxisView &view;
  const int64_t k;
  int64_t left, first, out, inner;
};

/// Elements of a line whose keys are in the nearest cache at once.
constexpr int64_t rowsAtOnce = 256;

/// Whether few elements are wanted, so that each is put among the first so far.
bool inserts(const Selection &selection) { return selection.k <= mostKept; }

/// What the words of that many lanes take.
int64_t wordsOf(const Request &request, int64_t lanes) {
  return (inserts(request.selection) ? rowsAtOnce + mostKept : request.view.size) * lanes;
}

/// A range of lines, as many at a time as there are lanes.
template <typename T, typename Word>
int32_t selectColumns(weir_context *ctx, const Request &request, LineRange range) {
  constexpr int64_t lanes = lanesOf<Word>();
  const auto &[data, results, selection, view] = request;
  int64_t k = selection.k;
  Scratch<Word> words(ctx, wordsOf(request, lanes));
  if (!words.data)
    return WEIR_RESOURCE_EXHAUSTED;
  LineStarts starts(view, k, range);
  while (int64_t valid = starts.advance(lanes)) {
    Columns columns = {starts.firsts, view.inner, 0, view.size, starts.neighbours};
    Word *sorted = words.data;
    if (inserts(selection)) {
      sorted += rowsAtOnce * lanes;
      std::fill_n(sorted, k * lanes, std::numeric_limits<Word>::max());
      for (; columns.begin < view.size; columns.begin += rowsAtOnce) {
        columns.count = std::min(rowsAtOnce, view.size - columns.begin);
        makeWords(data.dtype, data.data, columns, selection.largest, words.data);
        insertColumns(sorted, k, words.data, columns.count);
      }
    } else {
      makeWords(data.dtype, data.data, columns, selection.largest, words.data);
      sortColumns(words.data, view.size);
    }
    if (results[1].dtype == WEIR_I32)
      writeColumns<T, int32_t>(data, results, k, columns, starts.outs, valid, sorted);
    else
      writeColumns<T, int64_t>(data, results, k, columns, starts.outs, valid, sorted);
  }
  return WEIR_OK;
}

/// The first few of a range of lines of elements of 64 bits, of at most 2^32 each.
int32_t selectKeyColumns(weir_context *ctx, const Request &request, LineRange range) {
  const auto &[data, results, selection, view] = request;
  Scratch<int64_t> keys(ctx, rowsAtOnce * wideLanes);
  if (!keys.data)
    return WEIR_RESOURCE_EXHAUSTED;
  LineStarts starts(view, selection.k, range);
  while (int64_t valid = starts.advance(wideLanes)) {
    Columns columns = {starts.firsts, view.inner, 0, 0, starts.neighbours};
    int64_t least[mostKept * wideLanes], indices[mostKept * wideLanes];
    for (; columns.begin < view.size; columns.begin += rowsAtOnce) {
      columns.count = std::min(rowsAtOnce, view.size - columns.begin);
      makeWideKeys(data.dtype, data.data, columns, selection.largest, keys.data);
      insertKeys(least, indices, selection.k, keys.data, columns.begin, columns.count);
    }
    if (results[1].dtype == WEIR_I32)
      writeColumns<uint64_t, int32_t>(data, results, selection.k, columns, starts.outs, valid,
                                      indices);
    else
      writeColumns<uint64_t, int64_t>(data, results, selection.k, columns, starts.outs, valid,
                                      indices);
  }
  return WEIR_OK;
}

/// Whether selectKeyColumns takes such lines.
bool hasWideKeys(int32_t dtype, int64_t count) {
  return weir_dtype_size(dtype) == 8 && count <= int64_t{1} << 32;
}

/// Whether lines are worth sorting side by side: what a network compares grows faster than what
/// quicksort does, and of long lines few elements are among the first so far. What is put among few
/// takes as long as it is: many neighbours in memory are read together.
bool sortsColumns(const Request &request) {
  constexpr int64_t shortLine = 256, mediumLine = 1024, longLine = 2048;
  constexpr int64_t manyNeighbours = 4 * wideLanes;
  const auto &[data, results, selection, view] = request;
  if ((!selection.sorted && selection.k != view.size) || view.outer * view.inner < wideLanes)
    return false;
  if (!hasWords<int64_t>(data.dtype, view.size) &&
      !(inserts(selection) && hasWideKeys(data.dtype, view.size)))
    return false;
  if (selection.k > view.size / 16)
    return view.size <= longLine || (inserts(selection) && view.inner >= manyNeighbours);
  return inserts(selection) ? view.size <= mediumLine || view.inner >= manyNeighbours
                            : view.size <= shortLine;
}

int32_t selectSideBySide(weir_context *ctx, const Request &request, LineRange range) {
  const weir_tensor &data = request.data;
  if (hasWords<int32_t>(data.dtype, request.view.size))
    return weir_dtype_size(data.dtype) == 1 ? selectColumns<uint8_t, int32_t>(ctx, request, range)
                                            : selectColumns<uint16_t, int32_t>(ctx, request, range);
  return hasWords<int64_t>(data.dtype, request.view.size)
             ? selectColumns<uint32_t, int64_t>(ctx, request, range)
             : selectKeyColumns(ctx, request, range);
}

/// A weir_kernel_fn over lines: buffers[0] is the request.
int32_t selectLines(weir_context *ctx, void *const *buffers, const int64_t *, int64_t begin,
                    int64_t end) {
  const Request &request = *static_cast<const Request *>(buffers[0]);
  const AxisView &view = request.view;
  if (sortsColumns(request))
    return selectSideBySide(ctx, request, {begin, end});
  LineSelector selector(ctx, request);
  if (!selector.hasMemory())
    return WEIR_RESOURCE_EXHAUSTED;
  LineStarts starts(view, request.selection.k, {begin, end});
  while (starts.advance(1))
    selector.select(starts.firsts[0], starts.outs[0]);
  return WEIR_OK;
}

int32_t select(weir_context *ctx, const weir_tensor &data, weir_tensor *results,
               int32_t resultCount, Selection selection) {
  Request request = {data, results, selection, {}};
  AxisView &view = request.view;
  if (!hasKeys(data.dtype))
    return failDtype(ctx, "sorting elements", data.dtype);
  if (resultCount != 2 || !isIndexType(results[1].dtype) || results[0].dtype != data.dtype)
    return failMessage(ctx, WEIR_INTERNAL, "the results are not values and indices");
  if (!viewAlong(data, selection.axis, &view))
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, "the axis does not exist");
  int64_t &k = request.selection.k;
  if (k < 0)
    k = view.size; // sorts
  int64_t dims[WEIR_MAX_RANK];
  for (int32_t i = 0; i < data.rank; ++i)
    dims[i] = i == view.axis ? k : data.dims[i];
  if (!shapeResult(ctx, results[0], data.rank, dims) ||
      !shapeResult(ctx, results[1], data.rank, dims))
    return WEIR_RESOURCE_EXHAUSTED;
  if (elementCountOf(data) == 0 || k == 0)
    return WEIR_OK;
  // Waking another thread takes as long as some ten thousand elements do.
  constexpr int64_t elementsAPart = 16384;
  int64_t grain = std::max(elementsAPart / view.size, sortsColumns(request) ? wideLanes : 1);
  void *buffer = &request;
  return weir_rt_parallel(ctx, selectLines, &buffer, nullptr, view.outer * view.inner, grain, -1);
}

} // namespace

int32_t weir_kernel_top_k(weir_context *ctx, const weir_tensor *operands, int32_t operand_count,
                          weir_tensor *results, int32_t result_count, const int64_t *attributes) {
  int64_t k = 0;
  if (operand_count != 2 || !loadInteger(operands[1], &k))
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, "k is not one integer");
  AxisView view;
  if (viewAlong(operands[0], attributes[0], &view) && (k < 0 || k > view.size)) {
    char text[160];
    Text(text, sizeof(text)) << "expected k from 0 to " << view.size << ", the size of dimension "
                             << view.axis << ", got " << k;
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, text);
  }
  return select(ctx, operands[0], results, result_count,
                {attributes[0], k, attributes[1] != 0, attributes[2] != 0});
}

int32_t weir_kernel_sort(weir_context *ctx, const weir_tensor *operands, int32_t operand_count,
                         weir_tensor *results, int32_t result_count, const int64_t *attributes) {
  if (operand_count != 1)
    return failMessage(ctx, WEIR_INTERNAL, "sort takes one operand");
  return select(ctx, operands[0], results, result_count,
                {attributes[0], -1, attributes[1] != 0, true});
}
