//===- queue.h - queues of tensors that a session keeps ----------*- C++
//-*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_KERNELS_QUEUE_H
#define WEIR_RUNTIME_KERNELS_QUEUE_H

#include "session/resources.h"
#include "session/waits.h"
#include "support/sync.h"
#include "weir/stores.h"

namespace weir::rt {

/// A tuple of tensors, in one piece of memory (malloc).
struct QueueElement {
  QueueElement *next; ///< in an attempt's list
  int64_t priority;
  int32_t count;
  weir_tensor components[1]; ///< `count` of them, their contents behind
};

/// Element `index` of operands that are batches (-1: they are no batches), in
/// memory of its own; null: no memory.
QueueElement *makeElement(const weir_tensor *components, int32_t count, int64_t index);

class Queue;

/// Something that is to be done to a queue, in its turn.
struct QueueAttempt : Wait {
  enum class Kind : uint8_t { Enqueue, Close, Dequeue };
  Kind kind;
  bool takesFewer; ///< a closed queue's rest will do
  bool isBatch;    ///< the elements are given as one tuple, stacked
  bool isPending;  ///< among the queue's
  int32_t code;    ///< WEIR_OK, or why it failed
  Queue *queue;
  QueueAttempt *following;
  /// Still to be put in, or taken out: in order.
  QueueElement *first, *last;
  int64_t wanted; ///< elements that a dequeue still waits for
  int64_t taken;

  void append(QueueElement *element);
};

/// Semantics are those of TensorFlow's queues: attempts of each side are served
/// in the order they came, and what a batch has put in so far can be taken out
/// already. Thread-safe.
class Queue : public Resource {
public:
  struct Parameters {
    weir_queue_kind kind;
    int64_t capacity;  ///< elements; -1: no limit
    int64_t remainder; ///< that stay behind until it is closed (shuffle)
    int64_t seed;
    /// What its components are like, `described` numbers; the queue has a copy.
    const int64_t *description = nullptr;
    int64_t described = 0;
  };
  const Parameters &given() const { return parameters; }
  static Queue *create(const Parameters &parameters);

  /// The queue takes part in the attempt from here on; `begin` may end it at
  /// once, in which case, too, it is the caller's ticket.
  void begin(QueueAttempt *attempt);
  /// Closes it at once; who waits to put something in fails.
  void closeAndCancel(QueueAttempt *attempt);
  /// Takes an attempt out. What it has taken or not put in yet is lost, as it
  /// is in TensorFlow when a run is cancelled.
  void withdraw(QueueAttempt *attempt);

  /// Puts a list of elements in at once, whatever the capacity. False: no memory;
  /// `elements` is what was not put in.
  bool put(QueueElement *&elements);
  /// Closes it at once.
  void close();

  int64_t size();
  bool isClosed();

private:
  explicit Queue(const Parameters &parameters);
  ~Queue();
  static void clear(Resource *resource);
  static void destroyQueue(Resource *resource);

  /// Elements in the order in which they are taken, a ring; of priorities a heap.
  QueueElement *&at(int64_t i) { return ring[(head + i) & (ringSize - 1)]; }
  bool reserve();
  bool insert(QueueElement *element);
  QueueElement *take();
  void siftUp(int64_t place, QueueElement *element);
  QueueElement *takeLeast();
  void giveBack(QueueAttempt &attempt);
  bool enqueue(QueueAttempt &attempt, bool &moved);
  bool dequeue(QueueAttempt &attempt, bool &moved);
  void serve(Task **ready);
  void finish(QueueAttempt *attempt, Task **ready);
  uint64_t random();

  struct Line {
    QueueAttempt *first = nullptr, *last = nullptr;
    void add(QueueAttempt *attempt);
    void remove(QueueAttempt *attempt);
  };

  Mutex mutex;
  Parameters parameters;
  QueueElement **ring = nullptr;
  int64_t ringSize = 0, head = 0, count = 0;
  Line producers, consumers;
  bool closed = false;
  uint64_t state;
};

} // namespace weir::rt

#endif // WEIR_RUNTIME_KERNELS_QUEUE_H
