//===- guarded_call.cpp - calling functions that may throw ----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The runtime knows neither the C++ library nor its personality routine, so the
// function that catches is assembly with a personality of its own, by the Itanium C++
// ABI's level 1 (which all languages of the platform share): in the search phase it
// says that there is a handler, in the second it resumes at the function's second
// half. The unwinder's functions are weak: a C program does not link them.
//
//===----------------------------------------------------------------------===//

#include "session/guarded_call.h"

#include <unwind.h>

extern "C" {
#define WEIR_WEAK __attribute__((weak))
WEIR_WEAK void _Unwind_SetGR(struct _Unwind_Context *, int, _Unwind_Word);
WEIR_WEAK void _Unwind_SetIP(struct _Unwind_Context *, _Unwind_Word);
WEIR_WEAK void _Unwind_DeleteException(struct _Unwind_Exception *);
WEIR_WEAK void *__cxa_begin_catch(void *) noexcept;
WEIR_WEAK void __cxa_end_catch();
#undef WEIR_WEAK

#define WEIR_HIDDEN __attribute__((visibility("hidden"), used))
extern const char weir_guarded_caught[] __attribute__((visibility("hidden")));

WEIR_HIDDEN _Unwind_Reason_Code weir_guarded_personality(int version, _Unwind_Action actions,
                                                         _Unwind_Exception_Class,
                                                         struct _Unwind_Exception *exception,
                                                         struct _Unwind_Context *context) {
  // A thread that is cancelled unwinds by force, and must not be held up.
  if (version != 1 || (actions & _UA_FORCE_UNWIND) || !&_Unwind_SetGR || !&_Unwind_SetIP)
    return _URC_CONTINUE_UNWIND;
  if (actions & _UA_SEARCH_PHASE)
    return _URC_HANDLER_FOUND;
  _Unwind_SetGR(context, __builtin_eh_return_data_regno(0), _Unwind_Word(exception));
  _Unwind_SetIP(context, _Unwind_Word(weir_guarded_caught));
  return _URC_INSTALL_CONTEXT;
}

/// Ends the exception. C++ counts its own, which begin_catch and end_catch do.
WEIR_HIDDEN void weir_guarded_end(struct _Unwind_Exception *exception) {
  if (&__cxa_begin_catch && &__cxa_end_catch) {
    __cxa_begin_catch(exception);
    __cxa_end_catch();
  } else if (&_Unwind_DeleteException) {
    _Unwind_DeleteException(exception);
  }
}
#undef WEIR_HIDDEN
}

// Personality routines are referred to relative to the place (0x1b: pcrel, sdata4).
#if defined(__x86_64__)
asm(R"(
  .pushsection .text.weir_call_guarded, "ax", @progbits
  .globl weir_call_guarded
  .hidden weir_call_guarded
  .hidden weir_guarded_caught
  .globl weir_guarded_caught
  .type weir_call_guarded, @function
weir_call_guarded:
  .cfi_startproc
  .cfi_personality 0x1b, weir_guarded_personality
  pushq %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp, -16
  movq %rsp, %rbp
  .cfi_def_cfa_register %rbp
  movq %rdi, %rax
  movq %rsi, %rdi
  callq *%rax
  xorl %eax, %eax
  popq %rbp
  .cfi_remember_state
  .cfi_def_cfa %rsp, 8
  retq
weir_guarded_caught:
  .cfi_restore_state
  movq %rax, %rdi
  callq weir_guarded_end
  movl $1, %eax
  popq %rbp
  .cfi_def_cfa %rsp, 8
  retq
  .cfi_endproc
  .size weir_call_guarded, . - weir_call_guarded
  .popsection
)");
#elif defined(__aarch64__)
asm(R"(
  .pushsection .text.weir_call_guarded, "ax", %progbits
  .globl weir_call_guarded
  .hidden weir_call_guarded
  .hidden weir_guarded_caught
  .globl weir_guarded_caught
  .type weir_call_guarded, %function
weir_call_guarded:
  .cfi_startproc
  .cfi_personality 0x1b, weir_guarded_personality
  stp x29, x30, [sp, #-16]!
  .cfi_def_cfa_offset 16
  .cfi_offset 29, -16
  .cfi_offset 30, -8
  mov x29, sp
  mov x2, x0
  mov x0, x1
  blr x2
  mov w0, #0
  ldp x29, x30, [sp], #16
  ret
weir_guarded_caught:
  bl weir_guarded_end
  mov w0, #1
  ldp x29, x30, [sp], #16
  ret
  .cfi_endproc
  .size weir_call_guarded, . - weir_call_guarded
  .popsection
)");
#else
#error "weir_call_guarded is not written for this processor"
#endif
