//===- keyword.c - a word of two sounds in a stream -----------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Hears a stream of sound for a low tone that a high one follows. The model has no memory: what
// it must remember is an output of one run and an input of the next. Nothing is allocated once
// the loop has begun.
//
//   python3 models.py . && weirc keyword.pbtxt --fetch=score --fetch=next_state -o keyword.o
//   cc -std=c99 keyword.c keyword.o libweir_runtime.a -pthread -lm -o keyword
//   arecord -f S16_LE -r 8000 -t raw | ./keyword
//
//===----------------------------------------------------------------------===//

#include "keyword.h"

#include <stdio.h>
#include <string.h>

enum { frame = 160, rate = 8000 };

int main(void) {
  weir_status status = WEIR_STATUS_INIT;
  weir_session_options options = WEIR_SESSION_OPTIONS_INIT;
  weir_session *session = NULL;
  int16_t sound[frame];
  float samples[frame], state[2] = {0, 0}, next[2], score = 0;
  int was_heard = 0;
  options.threads = 1; /* the calling one */
  if (keyword_create(&options, &session, &status) != WEIR_OK)
    return fprintf(stderr, "%s\n", status.message), 1;
  /* Memory of the program for everything, bound once. */
  weir_tensor feeds[KEYWORD_RUN_FEEDS] = {keyword_samples_tensor(samples),
                                          keyword_state_tensor(state)};
  for (long frames = 0; fread(sound, sizeof(sound), 1, stdin) == 1; ++frames) {
    weir_tensor fetches[KEYWORD_RUN_FETCHES] = {keyword_score_tensor(&score),
                                                keyword_next_state_tensor(next)};
    for (int i = 0; i < frame; ++i)
      samples[i] = (float)sound[i] / 32768.0f;
    if (keyword_run(session, feeds, fetches, NULL, &status) != WEIR_OK) {
      fprintf(stderr, "%s\n", status.message);
      break;
    }
    memcpy(state, next, sizeof(state));
    const int is_heard = score > 0.001f;
    if (is_heard && !was_heard)
      printf("heard after %.2f s\n", (double)(frames * frame) / (double)rate);
    was_heard = is_heard;
  }
  keyword_destroy(session);
  return status.code != WEIR_OK;
}
