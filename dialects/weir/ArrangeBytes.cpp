//===- ArrangeBytes.cpp - the bytes of constants in another order ---------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/Arranged.h"
#include "dialects/weir/BlobStore.h"
#include "dialects/weir/Halves.h"
#include "dialects/weir/Pch.h"
#include <cstring>

using namespace mlir;
using namespace weir;

static constexpr size_t pieceBytes = 1 << 20;

/// Of panels that are made side by side: about what a core has to itself.
static constexpr int64_t panelsBytes = 2 << 20;

namespace {
/// `T`: an element of the source; `To`: one of the result, which `convert` makes of it
/// where they differ.
template <typename T, typename To = T, To (*convert)(T) = nullptr> class Arranger {
public:
  Arranger(ArrangedAttr value, const char *source,
           llvm::function_ref<llvm::Error(ArrayRef<char>)> sink)
      : shape(cast<RankedTensorType>(value.getType()).getShape()),
        strides(value.getStrides().asArrayRef()), panel(value.getPanel().asArrayRef()),
        source(source), sink(sink), at(shape.size(), 0) {}

  llvm::Error run() {
    if (int64_t together = panelsTogether())
      return panels(together);
    buffer.reserve(pieceBytes / sizeof(To));
    if (llvm::Error error = dimension(0, 0))
      return error;
    return flush();
  }

private:
  /// How many panels there are room for at once, where they are cut from lines that lie in the
  /// source as a whole; 0: the order is another, or there is no room for two.
  int64_t panelsTogether() const {
    const int64_t rank = shape.size();
    if (rank < 3 || strides[rank - 1] != 1 || strides[0] != shape[rank - 1] ||
        !(panel.empty() || (panel[0] == 0 && panel[1] == rank - 1)))
      return 0;
    const int64_t most = std::min(shape[0], panelsBytes / (elementsWithin() * int64_t(sizeof(To))));
    return most < 2 ? 0 : most;
  }

  /// Elements of an entry of the first dimension.
  int64_t elementsWithin() const {
    int64_t count = 1;
    for (int64_t size : shape.drop_front())
      count *= size;
    return count;
  }

  /// Panels, `together` at a time: of a line their parts are read one after the other, and not one
  /// of each line, which would be a page of memory each.
  llvm::Error panels(int64_t together) {
    const int64_t rank = shape.size(), width = shape[rank - 1], within = elementsWithin();
    const int64_t columns = panel.empty() ? shape[0] * width : panel[2];
    buffer.resize_for_overwrite(together * within);
    for (int64_t first = 0; first < shape[0]; first += together) {
      const int64_t count = std::min(together, shape[0] - first);
      std::fill(at.begin(), at.end(), 0);
      for (int64_t line = 0; line < within / width; ++line) {
        int64_t offset = first * width;
        for (int64_t d = 1; d + 1 < rank; ++d)
          offset += at[d] * strides[d];
        for (int64_t p = 0; p < count; ++p) {
          To *to = buffer.data() + p * within + line * width;
          const int64_t some = std::clamp<int64_t>(columns - (first + p) * width, 0, width);
          copyRow(source + (offset + p * width) * int64_t(sizeof(T)), to, some);
          std::fill(to + some, to + width, To());
        }
        for (int64_t d = rank - 2; d > 0 && ++at[d] == shape[d]; --d)
          at[d] = 0;
      }
      ArrayRef<char> made(reinterpret_cast<const char *>(buffer.data()),
                          count * within * sizeof(To));
      for (; !made.empty(); made = made.drop_front(std::min(made.size(), pieceBytes)))
        if (llvm::Error error = sink(made.take_front(pieceBytes)))
          return error;
    }
    return llvm::Error::success();
  }

  /// Elements that lie side by side. A blob lies anywhere in its file: they are not aligned.
  static void copyRow(const char *from, To *to, int64_t count) {
    if constexpr (std::is_same_v<T, To>) {
      std::memcpy(to, from, count * sizeof(T));
    } else {
      for (int64_t i = 0; i < count; ++i) {
        T element;
        std::memcpy(&element, from + i * int64_t(sizeof(T)), sizeof(T));
        to[i] = convert(element);
      }
    }
  }

  /// Entries of dimension `d` that exist, the outer ones being as they are.
  int64_t present(int64_t d) const {
    if (panel.empty() || std::max(panel[0], panel[1]) != d)
      return shape[d];
    int64_t outer = panel[0], inner = panel[1], width = shape[inner];
    if (d == inner)
      return std::clamp<int64_t>(panel[2] - at[outer] * width, 0, width);
    return at[inner] < panel[2] ? std::min(shape[outer], (panel[2] - at[inner] - 1) / width + 1)
                                : 0;
  }

  /// Whether the last two dimensions take an element of each of two or four lines of the source by
  /// turns, `count` times, and there is room for them.
  bool weavesLines(int64_t count) const {
    const int64_t rank = shape.size(), lines = shape[rank - 1];
    return std::is_same_v<T, To> && (lines == 2 || lines == 4) && strides[rank - 2] == 1 &&
           !llvm::is_contained(panel.take_front(2), rank - 1) &&
           count * lines <= int64_t(pieceBytes / sizeof(To) - buffer.size());
  }
  void weave(int64_t count, int64_t offset) {
    const int64_t rank = shape.size(), lines = shape[rank - 1], pitch = strides[rank - 1];
    const size_t before = buffer.size();
    buffer.resize_for_overwrite(before + count * lines);
    const char *from = source + offset * int64_t(sizeof(T));
    auto woven = [&]<int64_t Lines>(std::integral_constant<int64_t, Lines>) {
      To *to = buffer.data() + before;
      for (int64_t i = 0; i < count; ++i)
        for (int64_t line = 0; line < Lines; ++line)
          std::memcpy(to + i * Lines + line, from + (line * pitch + i) * int64_t(sizeof(T)),
                      sizeof(To));
    };
    lines == 2 ? woven(std::integral_constant<int64_t, 2>())
               : woven(std::integral_constant<int64_t, 4>());
  }

  /// Elements of a line of the caches, which are read together.
  static constexpr int64_t lineElements = std::max<int64_t>(64 / sizeof(T), 1);

  /// Whether the last two dimensions change places, all their elements exist, and a piece has room
  /// for several rows.
  bool turnsLines() const {
    const int64_t rank = shape.size();
    return std::is_same_v<T, To> && panel.empty() && strides[rank - 2] < strides[rank - 1] &&
           shape[rank - 2] >= 8 && shape[rank - 1] >= 8 &&
           lineElements * shape[rank - 1] <= int64_t(pieceBytes / sizeof(To));
  }

  /// Makes some rows at a time of what lies side by side in the source: element by element each
  /// would be read from a line of the caches of its own.
  llvm::Error turn(int64_t offset) {
    const int64_t rank = shape.size(), rows = shape[rank - 2], columns = shape[rank - 1];
    const int64_t step = strides[rank - 2], pitch = strides[rank - 1];
    T block[lineElements][lineElements];
    for (int64_t row = 0; row < rows; row += lineElements) {
      const int64_t some = std::min(rows - row, lineElements);
      if (some * columns > int64_t(pieceBytes / sizeof(To) - buffer.size()))
        if (llvm::Error error = flush())
          return error;
      const size_t before = buffer.size();
      buffer.resize_for_overwrite(before + some * columns);
      for (int64_t column = 0; column < columns; column += lineElements) {
        const int64_t wide = std::min(columns - column, lineElements);
        const char *from = source + (offset + row * step + column * pitch) * int64_t(sizeof(T));
        for (int64_t j = 0; j < wide; ++j)
          for (int64_t i = 0; i < some; ++i)
            std::memcpy(&block[i][j], from + (j * pitch + i * step) * int64_t(sizeof(T)),
                        sizeof(T));
        for (int64_t i = 0; i < some; ++i)
          std::memcpy(buffer.data() + before + i * columns + column, block[i], wide * sizeof(T));
      }
    }
    return flushFull();
  }

  llvm::Error dimension(int64_t d, int64_t offset) {
    int64_t count = present(d), rank = shape.size();
    if (d + 1 < rank) {
      if (d + 2 == rank && turnsLines())
        return turn(offset);
      if (d + 2 == rank && weavesLines(count)) {
        weave(count, offset);
        if (llvm::Error error = flushFull())
          return error;
      } else {
        for (int64_t i = 0; i < count; ++i) {
          at[d] = i;
          if (llvm::Error error = dimension(d + 1, offset + i * strides[d]))
            return error;
        }
      }
      int64_t inner = 1;
      for (int64_t i = d + 1; i < rank; ++i)
        inner *= shape[i];
      return zeros((shape[d] - count) * inner);
    }
    for (int64_t done = 0; done < count;) {
      int64_t some = std::min<int64_t>(count - done, pieceBytes / sizeof(To) - buffer.size());
      // A blob lies anywhere in its file: elements are not aligned. The stride is no member here,
      // which each element that is written might change.
      constexpr int64_t size = sizeof(T);
      const int64_t stride = strides[d];
      const char *from = source + (offset + done * stride) * size;
      size_t before = buffer.size();
      buffer.resize_for_overwrite(before + some);
      To *to = buffer.data() + before;
      if constexpr (!std::is_same_v<T, To>) {
        for (int64_t i = 0; i < some; ++i) {
          T element;
          std::memcpy(&element, from + i * stride * size, size);
          to[i] = convert(element);
        }
      } else if (stride == 1) {
        std::memcpy(to, from, some * size);
      } else {
        for (int64_t i = 0; i < some; ++i)
          std::memcpy(to + i, from + i * stride * size, size);
      }
      done += some;
      if (llvm::Error error = flushFull())
        return error;
    }
    return zeros(shape[d] - count);
  }

  llvm::Error zeros(int64_t count) {
    while (count > 0) {
      int64_t some = std::min<int64_t>(count, pieceBytes / sizeof(To) - buffer.size());
      buffer.append(some, To());
      count -= some;
      if (llvm::Error error = flushFull())
        return error;
    }
    return llvm::Error::success();
  }

  llvm::Error flushFull() {
    return buffer.size() * sizeof(To) >= pieceBytes ? flush() : llvm::Error::success();
  }
  llvm::Error flush() {
    llvm::Error error = sink(
        ArrayRef<char>(reinterpret_cast<const char *>(buffer.data()), buffer.size() * sizeof(To)));
    buffer.clear();
    return error;
  }

  ArrayRef<int64_t> shape, strides, panel;
  const char *source;
  llvm::function_ref<llvm::Error(ArrayRef<char>)> sink;
  SmallVector<int64_t> at;
  SmallVector<To, 0> buffer;
};
} // namespace

llvm::Error weir::arrangeBytes(ArrangedAttr value, ArrayRef<char> source,
                               llvm::function_ref<llvm::Error(ArrayRef<char>)> sink) {
  auto type = cast<RankedTensorType>(value.getSource().getType());
  int64_t size = blobElementSize(type.getElementType());
  if ((int64_t)source.size() != type.getNumElements() * size)
    return llvm::createStringError("a rearranged constant has " + Twine(source.size()) +
                                   " bytes of " + Twine(type.getNumElements() * size));
  struct Pair {
    uint64_t parts[2];
  };
  if (cast<RankedTensorType>(value.getType()).getElementType() != type.getElementType()) {
    if (type.getElementType().isF32() && getElementTypeOrSelf(value.getType()).isF16())
      return Arranger<uint32_t, uint16_t, halfFromFloat>(value, source.data(), sink).run();
    if (type.getElementType().isF32())
      return Arranger<uint32_t, uint16_t, brainFromFloat>(value, source.data(), sink).run();
    if (type.getElementType().isBF16())
      return Arranger<uint16_t, uint32_t, floatFromBrain>(value, source.data(), sink).run();
    return Arranger<uint16_t, uint32_t, floatFromHalf>(value, source.data(), sink).run();
  }
  switch (size) {
  case 1:
    return Arranger<uint8_t>(value, source.data(), sink).run();
  case 2:
    return Arranger<uint16_t>(value, source.data(), sink).run();
  case 4:
    return Arranger<uint32_t>(value, source.data(), sink).run();
  case 8:
    return Arranger<uint64_t>(value, source.data(), sink).run();
  case 16:
    return Arranger<Pair>(value, source.data(), sink).run();
  }
  return llvm::createStringError("elements of " + Twine(size) + " bytes cannot be rearranged");
}
