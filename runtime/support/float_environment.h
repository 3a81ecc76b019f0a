//===- float_environment.h - rounding and denormals as compiled for -*- C++
//-*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_SUPPORT_FLOAT_ENVIRONMENT_H
#define WEIR_RUNTIME_SUPPORT_FLOAT_ENVIRONMENT_H

#include <stdint.h>

namespace weir::rt {

/// Gives a scope the default floating-point environment: rounding to nearest,
/// denormals kept, no traps. A program may have set its threads otherwise (and
/// threads inherit it), which must not show in results.
class FloatEnvironment {
public:
  FloatEnvironment() : before(get()) {
    if (control(before) != standard)
      set(standard);
  }
  ~FloatEnvironment() {
    if (control(before) != standard)
      set(before);
  }
  FloatEnvironment(const FloatEnvironment &) = delete;
  FloatEnvironment &operator=(const FloatEnvironment &) = delete;

private:
#if defined(__x86_64__)
  using Word = uint32_t;
  static constexpr Word standard = 0x1f80; ///< MXCSR: all exceptions masked
  static Word get() { return __builtin_ia32_stmxcsr(); }
  static void set(Word word) { __builtin_ia32_ldmxcsr(word); }
  /// Without the flags of exceptions that have occurred.
  static Word control(Word word) { return word & ~Word(0x3f); }
#elif defined(__aarch64__)
  using Word = uint64_t;
  static constexpr Word standard = 0;
  static Word get() {
    Word word;
    asm volatile("mrs %0, fpcr" : "=r"(word));
    return word;
  }
  static void set(Word word) { asm volatile("msr fpcr, %0" : : "r"(word)); }
  static Word control(Word word) { return word; }
#else
  using Word = uint32_t;
  static constexpr Word standard = 0;
  static Word get() { return 0; }
  static void set(Word) {}
  static Word control(Word word) { return word; }
#endif

  const Word before;
};

} // namespace weir::rt

#endif // WEIR_RUNTIME_SUPPORT_FLOAT_ENVIRONMENT_H
