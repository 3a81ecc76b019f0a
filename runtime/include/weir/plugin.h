//===- plugin.h - using a model from a shared object ---------------*- C -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `weirc m.onnx -o m.so` keeps the runtime inside and hidden, so that shared
// objects of different releases live in one process. A program that was built
// with m.h calls m_create and so on, and m_functions() for the table below, which
// has all that weir.h declares. A program that gets to know the model only at run
// time (weir-run does) looks up one symbol:
//
//   const weir_plugin *p = dlsym(handle, WEIR_PLUGIN_SYMBOL);
//   p->session_create(p->program, NULL, &session, &status);
//
// Sessions and cancellations of a shared object are only ever handed to functions of
// that object, and all must be destroyed before dlclose.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PLUGIN_H
#define WEIR_PLUGIN_H

#include "weir/weir.h"

#ifdef __cplusplus
extern "C" {
#endif

#define WEIR_PLUGIN_SYMBOL "weir_plugin"

/// A shared object's functions, each as weir.h documents it under the same name with
/// weir_ before it. `size` tells which of them there are: later releases add at the end.
typedef struct weir_plugin {
  uint32_t size;
  uint32_t abi_version; ///< of the runtime inside
  const weir_program_desc *program;
  int32_t (*session_create)(const weir_program_desc *program, const weir_session_options *options,
                            weir_session **session, weir_status *status);
  void (*session_destroy)(weir_session *session);
  int32_t (*session_run)(weir_session *session, int32_t entry, const weir_tensor *feeds,
                         int32_t feed_count, weir_tensor *fetches, int32_t fetch_count,
                         const weir_run_options *options, weir_status *status);
  void (*session_release)(weir_session *session, weir_tensor *tensor);
  int32_t (*session_reset)(weir_session *session, weir_status *status);
  int32_t (*session_get_variable)(weir_session *session, const char *name, weir_tensor *value,
                                  weir_status *status);
  int32_t (*session_set_variable)(weir_session *session, const char *name, const weir_tensor *value,
                                  weir_status *status);
  int32_t (*session_memory)(weir_session *session, int32_t device, weir_memory_stats *stats);
  int64_t (*session_memory_report)(weir_session *session, int32_t device, char *buffer,
                                   int64_t capacity);
  int32_t (*session_threads)(const weir_session *session);
  int32_t (*session_save)(weir_session *session, const char *prefix,
                          const weir_checkpoint_options *options, weir_status *status);
  int32_t (*session_save_async)(weir_session *session, const char *prefix,
                                const weir_checkpoint_options *options, weir_run_done done,
                                void *self, weir_status *status);
  int32_t (*session_restore)(weir_session *session, const char *prefix,
                             const weir_checkpoint_options *options, weir_status *status);
  int32_t (*latest_checkpoint)(const char *folder, char *prefix, int64_t capacity,
                               weir_status *status);
  // Since 0.2.
  int32_t (*session_run_async)(weir_session *session, int32_t entry, const weir_tensor *feeds,
                               int32_t feed_count, weir_tensor *fetches, int32_t fetch_count,
                               const weir_run_options *options, weir_run_done done, void *self,
                               weir_status *status);
  const weir_program_desc *(*session_program)(const weir_session *session);
  int32_t (*session_find_entry)(const weir_session *session, const char *name);
  void (*session_trim)(weir_session *session);
  weir_cancellation *(*cancellation_create)(void);
  void (*cancellation_destroy)(weir_cancellation *cancellation);
  void (*cancellation_cancel)(weir_cancellation *cancellation);
  void (*cancellation_reset)(weir_cancellation *cancellation);
  int32_t (*cancellation_is_cancelled)(const weir_cancellation *cancellation);
  const char *(*program_name)(const weir_program_desc *program);
  const char *(*program_compiler)(const weir_program_desc *program);
  int32_t (*program_entry_count)(const weir_program_desc *program);
  const char *(*program_entry_name)(const weir_program_desc *program, int32_t entry);
  int32_t (*program_feed_count)(const weir_program_desc *program, int32_t entry);
  int32_t (*program_fetch_count)(const weir_program_desc *program, int32_t entry);
  int32_t (*program_feed)(const weir_program_desc *program, int32_t entry, int32_t index,
                          weir_tensor_info *info);
  int32_t (*program_fetch)(const weir_program_desc *program, int32_t entry, int32_t index,
                           weir_tensor_info *info);
  int32_t (*program_variable_count)(const weir_program_desc *program);
  int32_t (*program_variable)(const weir_program_desc *program, int32_t index,
                              weir_tensor_info *info);
  int32_t (*program_device_count)(const weir_program_desc *program);
  const char *(*program_device_name)(const weir_program_desc *program, int32_t device);
  int64_t (*program_arena_bytes)(const weir_program_desc *program, int32_t device);
  int64_t (*dtype_size)(int32_t dtype);
  const char *(*dtype_name)(int32_t dtype);
  const char *(*code_name)(int32_t code);
  const char *(*runtime_version)(void);
  void *(*custom_alloc)(struct weir_context *ctx, int64_t bytes);
  int32_t (*custom_error)(struct weir_context *ctx, int32_t code, const char *message);
} weir_plugin;

#ifdef __cplusplus
}
#endif

#endif // WEIR_PLUGIN_H
