//===- PtxKernel.h - runs small PTX texts --------------------- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TEST_UNIT_CUDA_PTXKERNEL_H
#define WEIR_TEST_UNIT_CUDA_PTXKERNEL_H

#include "test/cuda/recorder/Ptx.h"

#include <gtest/gtest.h>

#include <cstring>
#include <exception>
#include <string>
#include <vector>

namespace weir::test {

/// A kernel that runs on the host. It finds %tid.x in %t, 16 bytes of shared
/// memory of each thread's own at %mine (the whole at `tile`), and the same of
/// the arrays at %from and %to.
struct PtxKernel : ptx::Watcher {
  struct Seen {
    uint64_t address;
    int bytes;
    bool writes;
  };

  explicit PtxKernel(unsigned threads, unsigned blocks = 1)
      : from(threads * 16), to(threads * 16, 0xee), threads(threads), blocks(blocks) {
    for (size_t at = 0; at < from.size(); ++at)
      from[at] = uint8_t(at * 7 + at / 256 + 1);
  }

  void access(uint64_t address, int bytes, bool writes) override {
    seen.push_back({address, bytes, writes});
  }

  /// Returns what went wrong: nothing where all was well. The first line of
  /// `body` is line 18.
  std::string run(const std::string &body) {
    std::string text = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry kernel(.param .u64 p0, .param .u64 p1)
{
.reg .pred %p<8>;
.reg .b32 %r<32>;
.reg .b64 %rd<32>;
.shared .align 16 .b8 tile[8192];
ld.param.u64 %from, [p0];
ld.param.u64 %to, [p1];
mov.u32 %t, %tid.x;
mul.wide.u32 %own, %t, 16;
mov.u64 %tile, tile;
add.s64 %mine, %tile, %own;
add.s64 %from, %from, %own;
add.s64 %to, %to, %own;
)" + body + "\nret;\n}\n";
    std::vector<uint8_t> parameters(16);
    auto begin = uint64_t(from.data()), end = uint64_t(to.data());
    std::memcpy(parameters.data(), &begin, 8);
    std::memcpy(parameters.data() + 8, &end, 8);
    try {
      ptx::Module module = ptx::parse(text);
      ptx::run(module.functions.at("kernel"), parameters, {blocks, threads, 0, false, together},
               *this);
    } catch (const std::exception &error) {
      return error.what();
    }
    return "";
  }

  std::vector<uint8_t> from, to;
  unsigned threads, blocks;
  bool together = false; ///< blocks run at the same time
  std::vector<Seen> seen;
};

/// What goes wrong when `threads` run `body` is told in words that have `text`.
inline void expectFailure(unsigned threads, const std::string &body, const std::string &text) {
  std::string error = PtxKernel(threads).run(body);
  EXPECT_NE(error.find(text), std::string::npos) << body << "\ngives: " << error;
}

} // namespace weir::test

#endif // WEIR_TEST_UNIT_CUDA_PTXKERNEL_H
