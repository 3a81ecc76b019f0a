//===- WireMutator.h - changes of protocol buffers --------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What libFuzzer does to bytes rarely leaves a message whole: one length that is
// wrong, and nothing behind it is read. These changes are of the message's
// structure; all lengths are right again afterwards, so that they get past the
// reader, to what checks the graph.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TEST_FUZZ_WIREMUTATOR_H
#define WEIR_TEST_FUZZ_WIREMUTATOR_H

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>

namespace weir::fuzz {

/// The bytes of a message after one change: a field dropped, repeated, moved,
/// exchanged for one of `donor` (which may be the message itself), renumbered;
/// a number replaced by one at the border of a type; a string changed by
/// `mutateBytes`. Bytes that are no message come back as they are.
std::string mutateMessage(std::string_view bytes, std::string_view donor, std::minstd_rand &random,
                          size_t (*mutateBytes)(uint8_t *data, size_t size, size_t maxSize));

} // namespace weir::fuzz

#endif // WEIR_TEST_FUZZ_WIREMUTATOR_H
