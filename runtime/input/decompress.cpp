//===- decompress.cpp - strings decompressed ------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "input/inflate.h"
#include "kernels/string_support.h"
#include "weir/input.h"

using namespace weir::rt;

int32_t weir_kernel_decompress(weir_context *ctx, const weir_tensor *operands,
                               int32_t operand_count, weir_tensor *results, int32_t result_count,
                               const int64_t *attributes) {
  if (int32_t code = openStringMap(ctx, operands, operand_count, results, result_count))
    return code;
  constexpr int64_t pieceSize = 1 << 14;
  Scratch<Inflater> inflater(ctx, 1);
  Scratch<uint8_t> piece(ctx, pieceSize);
  if (!inflater.data || !piece.data)
    return WEIR_RESOURCE_EXHAUSTED;
  auto format = attributes[0] == 1 ? Inflater::Format::Zlib : Inflater::Format::Gzip;
  Growing text(ctx);
  Contents contents(ctx);
  for (int64_t i = 0; i < elementCountOf(operands[0]); ++i) {
    const weir_string &packed = stringsOf(operands[0])[i];
    ByteSupply supply;
    supply.next = reinterpret_cast<const uint8_t *>(packed.data);
    supply.end = supply.next + packed.size;
    inflater[0].init(format, &supply);
    text.clear();
    while (int64_t size = inflater[0].read(piece.data, pieceSize))
      if (!text.append(reinterpret_cast<const char *>(piece.data), size))
        return WEIR_RESOURCE_EXHAUSTED;
    if (const char *damage = inflater[0].damage()) {
      char message[120];
      Text(message, sizeof(message)) << "inflate() failed with error -3: " << damage;
      return failMessage(ctx, WEIR_DATA_LOSS, message);
    }
    if (!contents.copy(text.data(), text.size(), &stringResult(results[0])[i]))
      return WEIR_RESOURCE_EXHAUSTED;
  }
  return WEIR_OK;
}
