//===- Sanitized.h - whether memory is a sanitizer's ------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TOOLS_COMMON_SANITIZED_H
#define WEIR_TOOLS_COMMON_SANITIZED_H

namespace weir::tools {

/// Whether AddressSanitizer or ThreadSanitizer keeps records of memory and holds back what is
/// freed: a process takes many times its own then, and limits and counts of it mean nothing.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool isSanitized = true;
#elif defined(__has_feature)
inline constexpr bool isSanitized =
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
inline constexpr bool isSanitized = false;
#endif

} // namespace weir::tools

#endif // WEIR_TOOLS_COMMON_SANITIZED_H
