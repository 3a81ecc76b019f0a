//===- PairedSteps.cpp - weights of bytes, two steps at a time ------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/schedule/PairedSteps.h"
#include "dialects/weir/Arranged.h"
#include "dialects/weir/Pch.h"
#include "mlir/IR/Threading.h"

#include <array>
#include <atomic>
#include <numeric>

using namespace mlir;
using namespace weir;

namespace {

constexpr int64_t quad = PairedStepsLayout::quad, width = PairedStepsLayout::width;
constexpr int64_t halves = 2 * width; ///< pairs of rows of a step, of all columns

/// What the pairs of a step have above zero, and below.
struct Halves {
  std::array<uint8_t, halves> above = {}, below = {};

  uint8_t most() const {
    uint8_t most = 0;
    for (int64_t i = 0; i < halves; ++i)
      most = std::max({most, above[i], below[i]});
    return most;
  }
  /// Whether both have too much for half `i` together; neither has more than mostOfPair.
  bool exceeds(const Halves &other, int64_t i) const {
    return (above[i] > uint8_t(mostOfPair - other.above[i])) |
           (below[i] > uint8_t(mostOfPair - other.below[i]));
  }
  bool fits(const Halves &other) const {
    uint8_t beyond = 0;
    for (int64_t i = 0; i < halves; ++i)
      beyond |= exceeds(other, i);
    return !beyond;
  }
};

/// One panel of columns.
class Panel {
public:
  /// The `count` columns of `weights` from `column` on, and zeros.
  Panel(ArrayRef<int8_t> weights, int64_t columns, int64_t column, int64_t count,
        const PairedStepsLayout &layout)
      : layout(layout), own(layout.steps * quad * width), made(layout.steps),
        lists(layout.vectors()) {
    for (int64_t row = 0; row < layout.steps * quad; ++row)
      llvm::copy(weights.slice(row * columns + column, count), &at(row, 0));
  }

  /// Pairs the panel's steps, and writes what is beside them but for its lists.
  void pair(char *beside) {
    auto *words = reinterpret_cast<int32_t *>(beside);
    // Bytes may alias what a loop reads: it writes to what is its own, so as to be one of vectors.
    std::array<int32_t, width> sums = {};
    for (int64_t row = 0; row < layout.steps * quad; ++row)
      for (int64_t n = 0; n < width; ++n)
        sums[n] -= 128 * at(row, n);
    llvm::copy(sums, words + layout.sums() / 4);
    for (int64_t step = 0; step < layout.steps; ++step) {
      for (int64_t vector = 0; vector < layout.vectors(); ++vector)
        if (hasTooMuch(step, vector))
          list(step, vector);
      note(step);
    }
    order = ordered();
    llvm::copy(order, words + layout.order() / 4);
  }

  /// Writes the `count` first columns, steps in their order, to those of `weights` from `column`
  /// on.
  void write(MutableArrayRef<char> weights, int64_t columns, int64_t column, int64_t count) {
    for (int64_t row = 0; row < layout.steps * quad; ++row)
      std::memcpy(&weights[row * columns + column], &at(order[row / quad] * quad + row % quad, 0),
                  count);
  }

  struct Entry {
    int32_t step;
    std::vector<char> weights; ///< [lanes, quad]
  };
  /// The lists, one of each vector of columns, which the panel has no longer.
  std::vector<std::vector<Entry>> takeLists() { return std::move(lists); }

private:
  int8_t &at(int64_t row, int64_t n) { return own[row * width + n]; }

  bool hasTooMuch(int64_t step, int64_t vector) {
    bool any = false;
    for (int64_t row = step * quad; row < (step + 1) * quad; row += 2)
      for (int64_t n = vector * layout.lanes; n < (vector + 1) * layout.lanes; ++n)
        any |= exceedsHalf(at(row, n), at(row + 1, n));
    return any;
  }

  /// Takes a vector's weights of a step to its list: a pair that even alone is too much leaves the
  /// second one where it is.
  void list(int64_t step, int64_t vector) {
    Entry entry{int32_t(step), std::vector<char>(layout.lanes * quad, 0)};
    for (int64_t n = vector * layout.lanes; n < (vector + 1) * layout.lanes; ++n)
      for (int64_t i = 0; i < quad; i += 2) {
        int64_t row = step * quad + i;
        bool isTooMuch = exceedsHalf(at(row, n), at(row + 1, n));
        char *own = &entry.weights[(n - vector * layout.lanes) * quad + i];
        own[0] = std::exchange(at(row, n), 0);
        if (!isTooMuch)
          own[1] = std::exchange(at(row + 1, n), 0);
      }
    lists[vector].push_back(std::move(entry));
  }

  void note(int64_t step) {
    Halves noted;
    for (int64_t i = 0; i < quad; ++i)
      for (int64_t n = 0; n < width; ++n) {
        int8_t weight = at(step * quad + i, n);
        int64_t half = i / 2 * width + n;
        noted.above[half] += weight > 0 ? weight : 0;
        noted.below[half] += weight < 0 ? -weight : 0;
      }
    made[step] = noted;
  }

  /// Whether the vector's columns alone keep two steps from being added.
  bool fits(int64_t one, int64_t two, int64_t vector) const {
    for (int64_t half = 0; half < halves; ++half)
      if (half % width / layout.lanes == vector && made[one].exceeds(made[two], half))
        return false;
    return true;
  }

  /// Steps in the order of layout.order(). The fullest ones choose first, the fullest of some that
  /// fit; what fits nowhere is added nevertheless, and lists have what is too much.
  std::vector<int32_t> ordered() {
    constexpr size_t mostTried = 24;
    std::vector<int32_t> left(layout.steps), fill(layout.steps), alone;
    std::iota(left.begin(), left.end(), 0);
    llvm::transform(made, fill.begin(), [](const Halves &each) { return each.most(); });
    llvm::stable_sort(left, [&](int32_t a, int32_t b) { return fill[a] > fill[b]; });
    std::vector<std::pair<int32_t, int32_t>> pairs;
    std::optional<int32_t> odd;
    auto take = [&](size_t i) {
      int32_t step = left[i];
      left.erase(left.begin() + i);
      return step;
    };
    if (layout.steps % 2)
      odd = take(0);
    while (!left.empty()) {
      int32_t first = take(0);
      std::optional<size_t> found;
      for (size_t i = 0, tried = std::min(left.size(), mostTried); i < tried && !found; ++i) {
        if (made[first].fits(made[left[i]]))
          found = i;
        else if (size_t last = left.size() - 1 - i; made[first].fits(made[left[last]]))
          found = last;
      }
      if (found)
        pairs.push_back(std::minmax(first, take(*found)));
      else
        alone.push_back(first);
    }
    for (size_t i = 0; i + 1 < alone.size(); i += 2) {
      for (int64_t vector = 0; vector < layout.vectors(); ++vector)
        if (!fits(alone[i], alone[i + 1], vector))
          list(alone[i + 1], vector);
      pairs.push_back({alone[i], alone[i + 1]});
    }
    // The panel is read as far as possible as it lies.
    llvm::sort(pairs);
    std::vector<int32_t> order;
    for (auto [first, second] : pairs)
      order.insert(order.end(), {first, second});
    if (odd)
      order.push_back(*odd);
    return order;
  }

  const PairedStepsLayout &layout;
  std::vector<int8_t> own; ///< [rows, width]
  std::vector<int32_t> order;
  std::vector<Halves> made;
  std::vector<std::vector<Entry>> lists;
};

} // namespace

std::optional<PairedSteps> weir::pairSteps(MLIRContext *context, ArrayRef<int8_t> weights,
                                           int64_t rows, int64_t columns, int64_t lanes) {
  // An entry takes as long as two steps of its vector, of which pairing saves a quarter. Few sizes
  // of all lists: kernels are one where those of their operands are the same.
  constexpr int64_t shares[] = {64, 32, 16};
  assert(rows % quad == 0 && int64_t(weights.size()) == rows * columns);
  const PairedStepsLayout layout{int64_t(llvm::divideCeil(columns, width)), rows / quad, lanes};
  const int64_t most = layout.panels * layout.vectors() * layout.steps;
  PairedSteps made;
  made.weights.resize(weights.size());
  made.beside.assign(layout.places(), 0);
  std::vector<std::vector<std::vector<Panel::Entry>>> listed(layout.panels);
  std::atomic<int64_t> count = 0;
  auto areTooMany = [&] { return shares[2] * count > most; };
  parallelFor(context, 0, layout.panels, [&](int64_t panel) {
    if (areTooMany())
      return;
    int64_t column = panel * width, own = std::min(width, columns - column);
    Panel paired(weights, columns, column, own, layout);
    paired.pair(made.beside.data() + panel * layout.pitch());
    paired.write(made.weights, columns, column, own);
    listed[panel] = paired.takeLists();
    for (const std::vector<Panel::Entry> &list : listed[panel])
      count += list.size();
  });
  if (areTooMany())
    return std::nullopt;
  std::vector<Panel::Entry> entries;
  for (int64_t panel = 0; panel < layout.panels; ++panel)
    for (auto [vector, list] : llvm::enumerate(listed[panel])) {
      auto *words = reinterpret_cast<int32_t *>(made.beside.data() + panel * layout.pitch() +
                                                layout.list(vector));
      words[0] = entries.size(), words[1] = list.size();
      llvm::append_range(entries, list);
    }
  int64_t room = 0;
  for (int64_t share : shares)
    if (room < int64_t(entries.size()) || share == shares[0])
      room = most / share;
  made.beside.resize(layout.bytes(room));
  for (auto [i, entry] : llvm::enumerate(entries)) {
    reinterpret_cast<int32_t *>(made.beside.data() + layout.places())[i] = entry.step;
    llvm::copy(entry.weights, made.beside.data() + layout.weights(room) + i * lanes * quad);
  }
  return made;
}
