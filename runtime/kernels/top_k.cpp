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

/// One line of the axis: `first` is its first element in the data, `out` in the
/// results; both step by `inner`.
void selectLine(const weir_tensor &data, weir_tensor *results, const Selection &selection,
                const AxisView &view, int64_t first, int64_t out, uint64_t *keys, KeyIndex *items) {
  int64_t bytes = weir_dtype_size(data.dtype);
  // Ascending keys, then ascending indices: for the largest the keys turn over
  // and the indices do not.
  uint64_t turn = selection.largest ? ~UINT64_C(0) : 0;
  auto keysOf = [&](int64_t begin, int64_t count) {
    makeKeys(data.dtype,
             static_cast<const char *>(data.data) + (first + begin * view.inner) * bytes,
             view.inner, count, keys);
  };
  bool sorts = selection.sorted || selection.k == view.size;
  if (!sorts) {
    keysOf(0, view.size);
    selectByHeap(items, selection.k, view.size,
                 [&](int64_t i) { return KeyIndex{keys[i] ^ turn, i}; });
  } else if (selection.k <= view.size / 16) {
    // Few of many: a heap of the least so far, which hardly any of the rest enter.
    keysOf(0, selection.k);
    for (int64_t i = 0; i < selection.k; ++i)
      items[i] = {keys[i] ^ turn, i};
    makeHeap(items, selection.k);
    constexpr int64_t block = 1024; // of keys, in the nearest cache
    for (int64_t begin = selection.k; begin < view.size; begin += block) {
      int64_t count = view.size - begin < block ? view.size - begin : block;
      keysOf(begin, count);
      for (int64_t i = 0; i < count; ++i)
        // Among equal keys the earlier index, which is there, comes first.
        if ((keys[i] ^ turn) < items[0].key)
          replaceFirst(items, selection.k, {keys[i] ^ turn, begin + i});
    }
  } else {
    keysOf(0, view.size);
    for (int64_t i = 0; i < view.size; ++i)
      items[i] = {keys[i] ^ turn, i};
    if (selection.k < view.size)
      selectKeys(items, view.size, selection.k);
  }
  if (sorts)
    sortKeys(items, selection.k);
  for (int64_t i = 0; i < selection.k; ++i) {
    int64_t to = out + i * view.inner;
    copyElement(data, first + items[i].index * view.inner, results[0], to, bytes);
    storeIndex(results[1], to, items[i].index);
  }
}

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

/// Where `lanes` lines from `begin` on have their first elements, in the data and in the results.
/// What is too many is the last line again: it is sorted and forgotten.
class LineStarts {
public:
  static constexpr int64_t most = wideLanes > narrowLanes ? wideLanes : narrowLanes;

  /// Lines follow each other: the next ones are found without a division.
  int64_t advance(const AxisView &view, int64_t k, int64_t lanes) {
    int64_t lines = view.outer * view.inner, valid = lines - next < lanes ? lines - next : lanes;
    neighbours = view.inner - inner >= lanes;
    for (int64_t l = 0; l < lanes; ++l) {
      firsts[l] = first + inner;
      outs[l] = out + inner;
      if (l + 1 < valid)
        toNext(view, k);
    }
    toNext(view, k);
    next += valid;
    return valid;
  }

  /// Whether the lines lie side by side in memory, and none of them twice.
  bool neighbours = false;
  int64_t firsts[most], outs[most];

private:
  void toNext(const AxisView &view, int64_t k) {
    if (++inner < view.inner)
      return;
    inner = 0;
    first += view.size * view.inner;
    out += k * view.inner;
  }

  int64_t next = 0, first = 0, out = 0, inner = 0;
};

/// Elements of a line whose keys are in the nearest cache at once.
constexpr int64_t rowsAtOnce = 256;

/// Whether few elements are wanted, so that each is put among the first so far.
bool inserts(const Selection &selection) { return selection.k <= mostKept; }

/// All lines, as many at a time as there are lanes. `words` has room for a line of each, or where
/// `inserts` for rowsAtOnce elements, and for what is kept behind them.
template <typename T, typename Word>
void selectColumns(const weir_tensor &data, weir_tensor *results, const Selection &selection,
                   const AxisView &view, Word *words) {
  constexpr int64_t lanes = lanesOf<Word>();
  int64_t lines = view.outer * view.inner, k = selection.k;
  LineStarts starts;
  for (int64_t begin = 0; begin < lines; begin += lanes) {
    int64_t valid = starts.advance(view, k, lanes);
    Columns columns = {starts.firsts, view.inner, 0, view.size, starts.neighbours};
    Word *sorted = words;
    if (inserts(selection)) {
      sorted = words + rowsAtOnce * lanes;
      std::fill_n(sorted, k * lanes, std::numeric_limits<Word>::max());
      for (; columns.begin < view.size; columns.begin += rowsAtOnce) {
        columns.count = std::min(rowsAtOnce, view.size - columns.begin);
        makeWords(data.dtype, data.data, columns, selection.largest, words);
        insertColumns(sorted, k, words, columns.count);
      }
    } else {
      makeWords(data.dtype, data.data, columns, selection.largest, words);
      sortColumns(words, view.size);
    }
    if (results[1].dtype == WEIR_I32)
      writeColumns<T, int32_t>(data, results, k, columns, starts.outs, valid, sorted);
    else
      writeColumns<T, int64_t>(data, results, k, columns, starts.outs, valid, sorted);
  }
}

/// The first few of all lines of elements of 64 bits, of at most 2^32 each; `keys` has room for
/// rowsAtOnce of each lane.
void selectKeyColumns(const weir_tensor &data, weir_tensor *results, const Selection &selection,
                      const AxisView &view, int64_t *keys) {
  int64_t lines = view.outer * view.inner;
  LineStarts starts;
  for (int64_t begin = 0; begin < lines; begin += wideLanes) {
    int64_t valid = starts.advance(view, selection.k, wideLanes);
    Columns columns = {starts.firsts, view.inner, 0, 0, starts.neighbours};
    int64_t least[mostKept * wideLanes], indices[mostKept * wideLanes];
    for (; columns.begin < view.size; columns.begin += rowsAtOnce) {
      columns.count = std::min(rowsAtOnce, view.size - columns.begin);
      makeWideKeys(data.dtype, data.data, columns, selection.largest, keys);
      insertKeys(least, indices, selection.k, keys, columns.begin, columns.count);
    }
    if (results[1].dtype == WEIR_I32)
      writeColumns<uint64_t, int32_t>(data, results, selection.k, columns, starts.outs, valid,
                                      indices);
    else
      writeColumns<uint64_t, int64_t>(data, results, selection.k, columns, starts.outs, valid,
                                      indices);
  }
}

/// Whether lines are worth sorting side by side: what a network compares grows faster than what
/// quicksort does, and with a heap there is little to sort. What is put among few takes as long as
/// it is: many neighbours in memory are read together.
bool sortsColumns(const Selection &selection, const AxisView &view) {
  constexpr int64_t shortLine = 256, longLine = 2048, manyNeighbours = 4 * wideLanes;
  if ((!selection.sorted && selection.k != view.size) || view.outer * view.inner < wideLanes)
    return false;
  return (inserts(selection) && view.inner >= manyNeighbours) ||
         view.size <= (selection.k <= view.size / 16 ? shortLine : longLine);
}

/// Whether selectKeyColumns takes such lines.
bool hasWideKeys(int32_t dtype, int64_t count) {
  return weir_dtype_size(dtype) == 8 && count <= int64_t{1} << 32;
}

/// What the words of that many lanes take.
int64_t wordsOf(const Selection &selection, const AxisView &view, int64_t lanes) {
  return (inserts(selection) ? rowsAtOnce + mostKept : view.size) * lanes;
}

int32_t selectSideBySide(weir_context *ctx, const weir_tensor &data, weir_tensor *results,
                         const Selection &selection, const AxisView &view) {
  if (hasWords<int32_t>(data.dtype, view.size)) {
    Scratch<int32_t> words(ctx, wordsOf(selection, view, narrowLanes));
    if (!words.data)
      return WEIR_RESOURCE_EXHAUSTED;
    if (weir_dtype_size(data.dtype) == 1)
      selectColumns<uint8_t>(data, results, selection, view, words.data);
    else
      selectColumns<uint16_t>(data, results, selection, view, words.data);
    return WEIR_OK;
  }
  if (!hasWords<int64_t>(data.dtype, view.size)) {
    Scratch<int64_t> keys(ctx, rowsAtOnce * wideLanes);
    if (!keys.data)
      return WEIR_RESOURCE_EXHAUSTED;
    selectKeyColumns(data, results, selection, view, keys.data);
    return WEIR_OK;
  }
  Scratch<int64_t> words(ctx, wordsOf(selection, view, wideLanes));
  if (!words.data)
    return WEIR_RESOURCE_EXHAUSTED;
  selectColumns<uint32_t>(data, results, selection, view, words.data);
  return WEIR_OK;
}

int32_t select(weir_context *ctx, const weir_tensor &data, weir_tensor *results,
               int32_t resultCount, Selection selection) {
  AxisView view;
  if (!hasKeys(data.dtype))
    return failDtype(ctx, "sorting elements", data.dtype);
  if (resultCount != 2 || !isIndexType(results[1].dtype) || results[0].dtype != data.dtype)
    return failMessage(ctx, WEIR_INTERNAL, "the results are not values and indices");
  if (!viewAlong(data, selection.axis, &view))
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, "the axis does not exist");
  if (selection.k < 0)
    selection.k = view.size; // sorts
  int64_t dims[WEIR_MAX_RANK];
  for (int32_t i = 0; i < data.rank; ++i)
    dims[i] = i == view.axis ? selection.k : data.dims[i];
  if (!shapeResult(ctx, results[0], data.rank, dims) ||
      !shapeResult(ctx, results[1], data.rank, dims))
    return WEIR_RESOURCE_EXHAUSTED;
  if (elementCountOf(data) == 0 || selection.k == 0)
    return WEIR_OK;
  if (sortsColumns(selection, view) && (hasWords<int64_t>(data.dtype, view.size) ||
                                        (inserts(selection) && hasWideKeys(data.dtype, view.size))))
    return selectSideBySide(ctx, data, results, selection, view);
  Scratch<uint64_t> keys(ctx, view.size);
  Scratch<KeyIndex> items(ctx, view.size);
  if (!keys.data || !items.data)
    return WEIR_RESOURCE_EXHAUSTED;
  for (int64_t outer = 0; outer < view.outer; ++outer)
    for (int64_t inner = 0; inner < view.inner; ++inner)
      selectLine(data, results, selection, view, outer * view.size * view.inner + inner,
                 outer * selection.k * view.inner + inner, keys.data, items.data);
  return WEIR_OK;
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
