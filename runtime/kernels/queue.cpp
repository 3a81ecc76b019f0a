//===- queue.cpp - queues of tensors that a session keeps
//-------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kernels/queue.h"

#include <new>
#include <stdlib.h>
#include <string.h>

namespace weir::rt {

static void freeList(QueueElement *first) {
  while (QueueElement *element = first) {
    first = element->next;
    free(element);
  }
}

void QueueAttempt::append(QueueElement *element) {
  element->next = nullptr;
  (first ? last->next : first) = element;
  last = element;
}

void Queue::Line::add(QueueAttempt *attempt) {
  attempt->following = nullptr;
  attempt->isPending = true;
  (first ? last->following : first) = attempt;
  last = attempt;
}

void Queue::Line::remove(QueueAttempt *attempt) {
  QueueAttempt *before = nullptr;
  for (QueueAttempt *at = first; at != attempt; at = at->following)
    before = at;
  (before ? before->following : first) = attempt->following;
  if (last == attempt)
    last = before;
  attempt->isPending = false;
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

Queue::Queue(const Parameters &parameters)
    : parameters(parameters), state(uint64_t(parameters.seed)) {}

Queue::~Queue() {
  for (int64_t i = 0; i < count; ++i)
    free(at(i));
  ::free(ring);
  ::free(const_cast<int64_t *>(parameters.description));
}

Queue *Queue::create(const Parameters &parameters) {
  void *memory = malloc(sizeof(Queue));
  if (!memory)
    return nullptr;
  auto *queue = new (memory) Queue(parameters);
  size_t bytes = size_t(parameters.described) * sizeof(int64_t);
  auto *copy = static_cast<int64_t *>(malloc(bytes ? bytes : 1));
  queue->parameters.description = copy;
  if (!copy) {
    destroyQueue(queue);
    return nullptr;
  }
  memcpy(copy, parameters.description, bytes);
  queue->reset = clear;
  queue->destroy = destroyQueue;
  return queue;
}

/// No run is in progress: no attempts are pending.
void Queue::clear(Resource *resource) {
  auto *queue = static_cast<Queue *>(resource);
  Lock lock(queue->mutex);
  for (int64_t i = 0; i < queue->count; ++i)
    free(queue->at(i));
  queue->count = 0;
  queue->closed = false;
}

void Queue::destroyQueue(Resource *resource) {
  auto *queue = static_cast<Queue *>(resource);
  queue->~Queue();
  free(queue);
}

/// Room for one more.
bool Queue::reserve() {
  if (count < ringSize)
    return true;
  int64_t grown = ringSize ? ringSize * 2 : 16;
  auto *fresh = static_cast<QueueElement **>(malloc(size_t(grown) * sizeof(QueueElement *)));
  if (!fresh)
    return false;
  for (int64_t i = 0; i < count; ++i)
    fresh[i] = at(i);
  ::free(ring);
  ring = fresh;
  ringSize = grown;
  head = 0;
  return true;
}

bool Queue::insert(QueueElement *element) {
  if (!reserve())
    return false;
  int64_t place = count++;
  if (parameters.kind == WEIR_QUEUE_PRIORITY)
    siftUp(place, element);
  else
    at(place) = element;
  return true;
}

// A binary heap, moved in the steps of std::push_heap and std::pop_heap in GCC's
// library: they decide which of equal priorities goes first, in TensorFlow, too.

void Queue::siftUp(int64_t place, QueueElement *element) {
  for (; place > 0; place = (place - 1) / 2) {
    QueueElement *parent = at((place - 1) / 2);
    if (parent->priority <= element->priority)
      break;
    at(place) = parent;
  }
  at(place) = element;
}

QueueElement *Queue::takeLeast() {
  QueueElement *least = at(0), *moved = at(--count);
  if (count == 0)
    return least;
  // The hole goes down to a leaf, and the last element up from there.
  int64_t hole = 0;
  while (hole * 2 + 2 < count) {
    int64_t child = hole * 2 + 2;
    if (at(child)->priority > at(child - 1)->priority)
      --child;
    at(hole) = at(child);
    hole = child;
  }
  if (hole * 2 + 1 < count) {
    at(hole) = at(hole * 2 + 1);
    hole = hole * 2 + 1;
  }
  siftUp(hole, moved);
  return least;
}

/// SplitMix64.
uint64_t Queue::random() {
  uint64_t z = (state += 0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

QueueElement *Queue::take() {
  if (parameters.kind == WEIR_QUEUE_SHUFFLE) {
    // The high half of the product: uniform but for count / 2^64.
    auto pick = int64_t((unsigned __int128)(random()) * uint64_t(count) >> 64);
    QueueElement *element = at(pick);
    at(pick) = at(--count);
    return element;
  }
  if (parameters.kind == WEIR_QUEUE_PRIORITY)
    return takeLeast();
  QueueElement *element = at(0);
  head = (head + 1) & (ringSize - 1);
  --count;
  return element;
}

/// What an attempt has taken goes back to where it was: there is room.
void Queue::giveBack(QueueAttempt &attempt) {
  // The list backwards, so that the first taken comes first again.
  QueueElement *reversed = nullptr;
  while (QueueElement *element = attempt.first) {
    attempt.first = element->next;
    element->next = reversed;
    reversed = element;
  }
  attempt.last = nullptr;
  attempt.wanted += attempt.taken;
  attempt.taken = 0;
  while (QueueElement *element = reversed) {
    reversed = element->next;
    if (!reserve()) {
      free(element);
      continue;
    }
    if (parameters.kind == WEIR_QUEUE_PRIORITY) {
      siftUp(count++, element);
      continue;
    }
    head = (head - 1) & (ringSize - 1);
    ++count;
    at(0) = element;
  }
}

//===----------------------------------------------------------------------===//
// Attempts
//===----------------------------------------------------------------------===//

/// Whether the attempt is over.
bool Queue::enqueue(QueueAttempt &attempt, bool &moved) {
  if (closed) {
    attempt.code = WEIR_CANCELLED;
    return true;
  }
  if (attempt.kind == QueueAttempt::Kind::Close) {
    closed = true;
    return true;
  }
  while (attempt.first && (parameters.capacity < 0 || count < parameters.capacity)) {
    QueueElement *element = attempt.first, *next = element->next;
    if (!insert(element)) {
      attempt.code = WEIR_RESOURCE_EXHAUSTED;
      return true;
    }
    attempt.first = next;
    moved = true;
  }
  return !attempt.first;
}

bool Queue::dequeue(QueueAttempt &attempt, bool &moved) {
  if (closed && count < attempt.wanted) {
    giveBack(attempt);
    if (!attempt.takesFewer || count == 0) {
      attempt.code = WEIR_OUT_OF_RANGE;
      return true;
    }
    attempt.wanted = count;
  }
  bool staysBehind = parameters.kind == WEIR_QUEUE_SHUFFLE && !closed;
  int64_t available = count - (staysBehind ? parameters.remainder : 0);
  for (; attempt.wanted > 0 && available > 0; --available) {
    attempt.append(take());
    --attempt.wanted;
    ++attempt.taken;
    moved = true;
  }
  return attempt.wanted == 0;
}

void Queue::finish(QueueAttempt *attempt, Task **ready) {
  (attempt->kind == QueueAttempt::Kind::Dequeue ? consumers : producers).remove(attempt);
  endWait(attempt, ready);
}

/// Does what can be done now, and adds who is to be resumed. The lock is held.
void Queue::serve(Task **ready) {
  for (bool moved = true; moved;) {
    moved = false;
    while (producers.first && enqueue(*producers.first, moved)) {
      finish(producers.first, ready);
      moved = true;
    }
    while (consumers.first && dequeue(*consumers.first, moved)) {
      finish(consumers.first, ready);
      moved = true;
    }
  }
}

void Queue::begin(QueueAttempt *attempt) {
  Task *ready = nullptr;
  {
    Lock lock(mutex);
    (attempt->kind == QueueAttempt::Kind::Dequeue ? consumers : producers).add(attempt);
    serve(&ready);
  }
  postTasks(ready);
}

void Queue::closeAndCancel(QueueAttempt *attempt) {
  Task *ready = nullptr;
  {
    Lock lock(mutex);
    while (producers.first) {
      producers.first->code = WEIR_CANCELLED;
      finish(producers.first, &ready);
    }
    // Unlike a close that waits for its turn, this one may come twice.
    closed = true;
    producers.add(attempt);
    finish(attempt, &ready);
    serve(&ready);
  }
  postTasks(ready);
}

void Queue::withdraw(QueueAttempt *attempt) {
  Task *ready = nullptr;
  {
    Lock lock(mutex);
    if (attempt->isPending)
      (attempt->kind == QueueAttempt::Kind::Dequeue ? consumers : producers).remove(attempt);
    // Who stood behind it may go on.
    serve(&ready);
  }
  postTasks(ready);
  freeList(attempt->first);
}

bool Queue::put(QueueElement *&elements) {
  Task *ready = nullptr;
  {
    Lock lock(mutex);
    while (QueueElement *element = elements) {
      QueueElement *next = element->next;
      if (!insert(element))
        break;
      elements = next;
    }
    serve(&ready);
  }
  postTasks(ready);
  return !elements;
}

void Queue::close() {
  Task *ready = nullptr;
  {
    Lock lock(mutex);
    closed = true;
    serve(&ready);
  }
  postTasks(ready);
}

int64_t Queue::size() {
  Lock lock(mutex);
  return count;
}

bool Queue::isClosed() {
  Lock lock(mutex);
  return closed;
}

} // namespace weir::rt
