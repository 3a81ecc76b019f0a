//===- parts.cpp - what a transport may call ------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "session/run.h"
#include "session/state_parts.h"

namespace weir::rt {

static void *allocate(weir_session *session, int32_t device, int64_t bytes) {
  if (device < 0 || device >= session->deviceCount || bytes < 0)
    return nullptr;
  BfcAllocator *memory = session->memory[device];
  constexpr const char *tag = "a tensor of another task";
  Block *block = allocateBlock(memory, bytes, tag, Block::ofRun, 0, nullptr);
  if (!block) {
    trimSession(session);
    block = allocateBlock(memory, bytes, tag, Block::ofRun, 0, nullptr);
  }
  return block ? block->data() : nullptr;
}

static void release(void *data) {
  if (data)
    Block::of(data)->memory->free(Block::of(data));
}

static void *pack(weir_session *session, int32_t device, const weir_tensor *tensor,
                  int64_t *bytes) {
  *bytes = copyBytes(*tensor);
  void *block = allocate(session, device, *bytes);
  if (!block)
    return nullptr;
  copyElements(*tensor, block);
  pointersToOffsets(*tensor, block);
  return block;
}

/// Of a control edge nothing is known but that it came.
static bool isEmpty(const weir_tensor &tensor) {
  return tensor.dtype == WEIR_INVALID && tensor.bytes == 0;
}

static int32_t unpack(weir_tensor *tensor, int64_t bytes) {
  return isEmpty(*tensor) || offsetsToPointers(*tensor, bytes);
}

static int32_t runPart(weir_session *session, const weir_part *part, weir_tensor *fetches,
                       weir_status *status) {
  const weir_program_desc *program = session->program;
  if (part->entry < 0 || part->entry >= program->entry_count) {
    StatusText(status, WEIR_OUT_OF_RANGE) << "entry " << part->entry << " does not exist";
    return WEIR_OUT_OF_RANGE;
  }
  for (int32_t i = 0; i < program->entries[part->entry].fetch_count; ++i)
    fetches[i] = {};
  return runSession(session, part->entry, part->feeds, part->feed_count, fetches,
                    weir_run_options{}, part, status);
}

static void contradiction(weir_run *run, const char *name) {
  char text[256];
  Text(text, sizeof(text)) << "what came for \"" << name << "\" contradicts its description";
  abortRun(run, WEIR_DATA_LOSS, text);
}

static void deliver(weir_run *run, int32_t edge, int64_t iteration, const weir_tensor *given,
                    int64_t bytes) {
  weir_tensor tensor = *given;
  const weir_program_desc *program = run->session->program;
  bool known = edge >= 0 && edge < program->edge_count &&
               isLocal(run->session, program->edges[edge].destination);
  if (!known || !unpack(&tensor, bytes)) {
    release(tensor.data);
    return contradiction(run, known ? program->edges[edge].name : "an edge");
  }
  Block *block = Block::of(tensor.data);
  block->kind = hasContents(tensor.dtype) ? Block::ofRunKept : Block::ofRun;
  deliverTensor(run, edge, iteration, tensor, block, /*atOnce=*/true);
}

static int32_t deliverFewBytes(weir_run *run, int32_t edge, int64_t iteration,
                               const weir_tensor *tensor, void **woken) {
  const weir_program_desc *program = run->session->program;
  bool known = edge >= 0 && edge < program->edge_count &&
               isLocal(run->session, program->edges[edge].destination);
  // What is wrong, or has no elements, goes the long way, which says so.
  if (!known || tensor->bytes <= 0 || tensor->bytes > fewBytes || hasContents(tensor->dtype) ||
      !offsetsToPointers(*tensor, tensor->bytes))
    return 0;
  Task *tasks = nullptr;
  bool delivered = deliverFew(run, edge, iteration, *tensor, &tasks);
  *woken = tasks;
  return delivered;
}

static void resume(void *woken) { postTasks(static_cast<Task *>(woken), /*runsShort=*/true); }

static void fetched(weir_run *run, int32_t index, const weir_tensor *given, int64_t bytes) {
  weir_tensor tensor = *given;
  bool known = index >= 0 && index < run->entry->fetch_count &&
               tensor.dtype == run->entry->fetches[index].dtype && !run->results[index].written;
  if (!known || !unpack(&tensor, bytes)) {
    release(tensor.data);
    return contradiction(run, known ? run->entry->fetches[index].name : "a fetch");
  }
  FetchResult &result = run->results[index];
  const weir_tensor &offer = run->fetches[index];
  result.data = tensor.data;
  result.block = Block::of(tensor.data);
  result.block->kind = Block::ofResult;
  if (offer.data && offer.bytes >= tensor.bytes && !hasContents(tensor.dtype)) {
    if (tensor.bytes > 0)
      memcpy(offer.data, tensor.data, size_t(tensor.bytes));
    result.block->memory->free(result.block);
    result.block = nullptr;
    result.data = offer.data;
  }
  result.bytes = tensor.bytes;
  result.rank = tensor.rank;
  for (int32_t d = 0; d < tensor.rank; ++d)
    result.dims[d] = tensor.dims[d];
  result.written = true;
}

static void partDone(weir_run *run, int32_t code, const char *text) {
  if (code != WEIR_OK)
    abortRun(run, code, text);
  {
    Lock lock(run->mutex);
    // An aborted run does not wait for parts.
    if (!run->executing)
      return;
    addSegments(run, 1);
    --run->unfinishedSteps;
  }
  endSegment(run);
}

static void sent(weir_run *run, int32_t edge) { releaseKept(run, edge); }

static void taken(weir_run *run, int32_t edge, int64_t count) {
  const weir_program_desc *program = run->session->program;
  if (edge >= 0 && edge < program->edge_count && isLocal(run->session, program->edges[edge].source))
    acknowledge(run, edge, count);
}

static void abort(weir_run *run, int32_t code, const char *text) { abortRun(run, code, text); }

/// "conv1:0" of the edge "conv1:0;/job:…;/job:…".
static int64_t tensorLength(const char *edge) {
  for (const char *c = edge; *c; ++c)
    if (c[0] == ';' && c[1] == '/')
      return c - edge;
  return int64_t(strlen(edge));
}

/// "conv1" of "conv1:0".
static int64_t nodeLength(const char *tensor, int64_t length) {
  for (int64_t i = length; i > 0; --i)
    if (tensor[i - 1] == ':')
      return i - 1;
  return length;
}

static void lost(weir_run *run, int32_t task, const char *reason) {
  const weir_session *session = run->session;
  const weir_program_desc *program = session->program;
  struct Search {
    const weir_session *session;
    int32_t task, edge;
  } search{session, task, -1};
  {
    Lock lock(run->mutex);
    run->rendezvous.forEach(
        [](void *argument, Arrival *arrival) {
          auto &search = *static_cast<Search *>(argument);
          int32_t edge = arrival->edge;
          int32_t source = search.session->program->edges[edge].source;
          if (arrival->receiver.coroutine && !arrival->sent &&
              search.session->tasks[source] == search.task &&
              (search.edge < 0 || edge < search.edge))
            search.edge = edge;
        },
        &search);
  }
  char text[768];
  Text out(text, sizeof(text));
  out << reason << "; ";
  if (search.edge >= 0) {
    const char *edge = program->edges[search.edge].name;
    int64_t length = tensorLength(edge);
    out << "tensor \"";
    out.append(edge, length) << "\" of node \"";
    out.append(edge, nodeLength(edge, length)) << "\" was waited for";
  } else {
    out << "its part of entry \"" << run->entry->name << "\" was waited for";
  }
  abortRun(run, WEIR_UNAVAILABLE, text);
}

static int64_t waited(weir_run *run) {
  Lock lock(run->mutex);
  return run->waited + (run->idleSince ? now() - run->idleSince : 0);
}

static int32_t statePart(weir_session *session, const weir_state_request *request,
                         weir_run_done done, void *self, weir_status *status) {
  if (runStatePart)
    return runStatePart(session, request, done, self, status);
  StatusText(status, WEIR_UNIMPLEMENTED)
      << "this task's program links no checkpoints (weir_session_save)";
  return WEIR_UNIMPLEMENTED;
}

static int32_t beganRestored(const weir_session *session) { return session->beganRestored; }

const weir_transport_host transportHost = {sizeof(weir_transport_host),
                                           0,
                                           allocate,
                                           release,
                                           pack,
                                           unpack,
                                           runPart,
                                           deliver,
                                           fetched,
                                           partDone,
                                           abort,
                                           lost,
                                           sent,
                                           taken,
                                           deliverFewBytes,
                                           resume,
                                           waited,
                                           statePart,
                                           beganRestored};

} // namespace weir::rt
