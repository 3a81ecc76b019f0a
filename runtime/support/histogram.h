//===- histogram.h - values counted between limits --------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// TensorFlow's HistogramProto: 1: min, 2: max, 3: num, 4: sum, 5: sum_squares,
// 6: bucket_limit…, 7: bucket… (doubles; zeros are left out).
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_SUPPORT_HISTOGRAM_H
#define WEIR_RUNTIME_SUPPORT_HISTOGRAM_H

#include "support/wire_format.h"

#include <float.h>

namespace weir::rt {

/// Counts values between limits that grow by a tenth, from 1e-12 to 1e20 on both
/// sides of 0. `Doubles` is a list of them (support/list.h), empty, whose memory it
/// uses; it must outlive the histogram.
template <typename Doubles> class Histogram {
public:
  Histogram(Doubles &limits, Doubles &counts) : limits(limits), counts(counts) {
    double positive[kLargest];
    int64_t size = 0;
    for (double limit = 1e-12; limit < 1e20; limit *= 1.1)
      positive[size++] = limit;
    positive[size++] = DBL_MAX;
    for (int64_t i = size; i-- > 0;)
      limits.push(-positive[i]);
    limits.push(0);
    limits.append(positive, size);
    for (int64_t i = 0; i < limits.size(); ++i)
      counts.push(0);
  }
  bool failed() const { return limits.failed() || counts.failed(); }

  /// Of a number that is neither NaN nor infinite.
  void add(double value) {
    int64_t low = 0, high = limits.size();
    while (low < high) {
      int64_t middle = (low + high) / 2;
      if (limits[middle] <= value)
        low = middle + 1;
      else
        high = middle;
    }
    counts[low < counts.size() ? low : counts.size() - 1] += 1;
    least = value < least ? value : least;
    most = value > most ? value : most;
    number += 1;
    sum += value;
    squares += value * value;
  }

  /// Appends the message's fields to a list of characters.
  template <typename Out> void write(Out &out) const {
    writeDouble(out, 1, least);
    writeDouble(out, 2, most);
    writeDouble(out, 3, number);
    writeDouble(out, 4, sum);
    writeDouble(out, 5, squares);
    writePacked(out, 6, limits);
    writePacked(out, 7, counts);
  }

private:
  static constexpr int64_t kLargest = 800; ///< limits above 0: 32 ln 10 / ln 1.1 and one

  template <typename Out> static void writeDouble(Out &out, uint32_t field, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    if (!bits)
      return;
    writeVarint(out, field << 3 | 1);
    out.append(reinterpret_cast<const char *>(&value), sizeof(value));
  }

  /// The values of one list; of empty buckets that follow each other the last.
  template <typename Out> void writePacked(Out &out, uint32_t field, const Doubles &list) const {
    auto isWritten = [&](int64_t i) {
      return counts[i] > 0 || i + 1 == counts.size() || counts[i + 1] > 0;
    };
    uint64_t count = 0;
    for (int64_t i = 0; i < list.size(); ++i)
      count += isWritten(i);
    writeVarint(out, field << 3 | 2);
    writeVarint(out, count * sizeof(double));
    for (int64_t i = 0; i < list.size(); ++i)
      if (isWritten(i))
        out.append(reinterpret_cast<const char *>(&list[i]), sizeof(double));
  }

  Doubles &limits, &counts;
  double least = DBL_MAX, most = -DBL_MAX, number = 0, sum = 0, squares = 0;
};

} // namespace weir::rt

#endif // WEIR_RUNTIME_SUPPORT_HISTOGRAM_H
