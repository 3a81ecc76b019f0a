//===- feeds.cpp - what a caller feeds, against what a program takes ------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "session/session.h"

namespace weir::rt {

/// What the entry takes, as `f32 2x?x3`, bounds as `1..64`.
static void appendExpected(Text &out, const weir_tensor_desc &desc) {
  out << weir_dtype_name(desc.dtype) << ' ';
  if (desc.rank <= 0) {
    appendShape(out, desc.rank, desc.dims);
    return;
  }
  for (int32_t i = 0; i < desc.rank; ++i) {
    if (i > 0)
      out << 'x';
    int64_t lower = desc.lower ? desc.lower[i] : 0;
    int64_t upper = desc.upper ? desc.upper[i] : -1;
    if (desc.dims[i] >= 0)
      out << desc.dims[i];
    else if (upper >= 0)
      out << '(' << lower << ".." << upper << ')';
    else if (lower > 0)
      out << '(' << lower << "..)";
    else
      out << '?';
  }
}

namespace {

/// One feed's check; writes what is wrong with it.
struct FeedCheck {
  const weir_entry_desc &entry;
  const weir_tensor_desc &desc;
  const weir_tensor &feed;
  weir_status *status;

  int32_t fail(const char *problem) {
    return failWith([&](Text &out) { out << problem; });
  }

  template <typename Write> int32_t failWith(Write write) {
    StatusText out(status, WEIR_INVALID_ARGUMENT);
    out << "feed \"" << desc.name << "\" of entry \"" << entry.name << "\": ";
    write(out);
    out << "; expected ";
    appendExpected(out, desc);
    out << ", got " << weir_dtype_name(feed.dtype) << ' ';
    if (feed.rank > WEIR_MAX_RANK)
      out << "of rank " << feed.rank;
    else
      appendShape(out, feed.rank, feed.dims);
    return WEIR_INVALID_ARGUMENT;
  }

  int32_t checkDimension(int32_t i) {
    int64_t size = feed.dims[i];
    int64_t lower = desc.lower ? desc.lower[i] : 0;
    int64_t upper = desc.upper ? desc.upper[i] : -1;
    if (desc.dims[i] >= 0 ? size == desc.dims[i] : size >= lower && (upper < 0 || size <= upper))
      return WEIR_OK;
    if (size < 0)
      return failWith(
          [&](Text &out) { out << "it was not given size " << i << ", so nothing is fed"; });
    return failWith([&](Text &out) { out << "dimension " << i << " is " << size; });
  }

  /// An element of a sequence, the outermost one's at depth 0.
  int32_t checkElement(const weir_tensor *element, int64_t i, int depth) {
    auto failElement = [&](const char *problem) {
      return failWith([&](Text &out) { out << "element " << i << ' ' << problem; });
    };
    if (!element)
      return failElement("is null");
    int64_t size = weir_dtype_size(element->dtype);
    int64_t count = element->rank >= 0 && element->rank <= WEIR_MAX_RANK
                        ? elementCount(element->rank, element->dims)
                        : -1;
    int64_t bytes = 0;
    if (size == 0 || count < 0 || __builtin_mul_overflow(count, size, &bytes))
      return failElement("has no type, or sizes that are negative or too large");
    if (element->bytes < bytes || (bytes > 0 && !element->data))
      return failElement("has fewer bytes than its shape needs");
    if (uintptr_t(element->data) % uintptr_t(alignmentOf(element->dtype)))
      return failElement("is not aligned to its element type");
    if (brokenString(*element) >= 0)
      return failElement("holds a string of negative size, or without data");
    return element->dtype == WEIR_TENSOR ? checkElements(*element, depth + 1) : WEIR_OK;
  }

  int32_t checkElements(const weir_tensor &sequence, int depth = 0) {
    constexpr int deepest = 16;
    if (depth == deepest)
      return fail("its sequences are nested too deep");
    auto *elements = static_cast<const weir_tensor_ref *>(sequence.data);
    for (int64_t i = 0; i < elementCount(sequence.rank, sequence.dims); ++i)
      if (int32_t code = checkElement(elements[i], i, depth))
        return code;
    return WEIR_OK;
  }

  /// Complex numbers and strings are pairs, aligned as their halves.
  static int64_t alignmentOf(int32_t dtype) {
    int64_t size = weir_dtype_size(dtype);
    return size > 8 ? 8 : dtype == WEIR_C64 ? 4 : size > 0 ? size : 1;
  }

  int32_t check() {
    if (feed.dtype != desc.dtype)
      return fail("its element type differs");
    if (feed.rank < 0 || feed.rank > WEIR_MAX_RANK || (desc.rank >= 0 && feed.rank != desc.rank))
      return fail("its rank differs");
    for (int32_t i = 0; i < desc.rank; ++i)
      if (int32_t code = checkDimension(i))
        return code;
    int64_t count = elementCount(feed.rank, feed.dims);
    int64_t size = weir_dtype_size(feed.dtype), bytes = 0;
    // What the step adds to a size of nothing is a number, too: weir-fold-sizes counts on it.
    constexpr int64_t longest = int64_t(1) << 60;
    for (int32_t i = 0; i < feed.rank; ++i)
      if (feed.dims[i] > longest)
        return fail("its sizes are negative or too large");
    if (count < 0 || __builtin_mul_overflow(count, size, &bytes))
      return fail("its sizes are negative or too large");
    if (feed.bytes < bytes)
      return failWith([&](Text &out) {
        out << "it has " << feed.bytes << " bytes, and its shape needs " << bytes;
      });
    if (bytes > 0 && !feed.data)
      return fail("its data is null");
    if (uintptr_t(feed.data) % uintptr_t(alignmentOf(feed.dtype)))
      return fail("its data is not aligned to its element type");
    if (int64_t broken = brokenString(feed); broken >= 0)
      return failWith(
          [&](Text &out) { out << "string " << broken << " has a negative size, or no data"; });
    return feed.dtype == WEIR_TENSOR ? checkElements(feed) : WEIR_OK;
  }
};

} // namespace

int32_t checkFeeds(const weir_session *session, int32_t entryIndex, const weir_tensor *feeds,
                   int32_t count, weir_tensor *checked, int64_t *symbols, weir_status *status) {
  const weir_entry_desc &entry = session->program->entries[entryIndex];
  if (count != entry.feed_count) {
    StatusText(status, WEIR_INVALID_ARGUMENT)
        << "entry \"" << entry.name << "\" takes " << entry.feed_count
        << (entry.feed_count == 1 ? " feed" : " feeds") << ", not " << count;
    return WEIR_INVALID_ARGUMENT;
  }
  for (int32_t i = 0; i < session->symbolCount; ++i)
    symbols[i] = -1;
  for (int32_t i = 0; i < count; ++i) {
    const weir_tensor_desc &desc = entry.feeds[i];
    FeedCheck check{entry, desc, feeds[i], status};
    if (int32_t code = check.check())
      return code;
    for (int32_t d = 0; desc.symbols && d < desc.rank; ++d) {
      int32_t symbol = desc.symbols[d];
      if (symbol < 0)
        continue;
      int64_t &size = symbols[symbol];
      if (size < 0)
        size = feeds[i].dims[d];
      if (size == feeds[i].dims[d])
        continue;
      // Who said otherwise: the first that has the symbol, as it set the size.
      const weir_tensor_desc *other = entry.feeds;
      int32_t otherDim = 0;
      for (bool found = false; !found; other += !found)
        for (otherDim = 0; otherDim < other->rank; ++otherDim)
          if (other->symbols && other->symbols[otherDim] == symbol) {
            found = true;
            break;
          }
      return check.failWith([&](Text &out) {
        out << "dimension " << d << " is " << feeds[i].dims[d] << ", but must equal dimension "
            << otherDim << " of feed \"" << other->name << "\", which is " << size;
      });
    }
    checked[i] = feeds[i];
    checked[i].bytes = elementCount(feeds[i].rank, feeds[i].dims) * weir_dtype_size(feeds[i].dtype);
  }
  return WEIR_OK;
}

} // namespace weir::rt
