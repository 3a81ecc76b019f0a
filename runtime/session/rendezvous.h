//===- rendezvous.h - where tensors that cross devices meet -----*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The table of one run. In it a tensor is known by (edge, iteration); the rest
// of the full key, program, session and step, is which table it is. A tensor
// that arrives first waits for its receiver, a receiver that comes first leaves
// its coroutine: no thread waits for anything here.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_SESSION_RENDEZVOUS_H
#define WEIR_RUNTIME_SESSION_RENDEZVOUS_H

#include "session/suspension.h"

namespace weir::rt {

struct Block;

/// A tensor that was sent, or a receiver that waits for one.
struct Arrival {
  Suspension receiver;
  Arrival *next; ///< in its bucket, or among unused ones
  int64_t iteration;
  int32_t edge;
  bool sent;
  bool counted;       ///< the receiver's iterations are those of its edge's counter
  Block *block;       ///< holds the tensor; null: not sent, or taken
  weir_tensor tensor; ///< if sent; last, since it is not zeroed
};

/// Not thread-safe: guarded by its run's lock.
class Rendezvous {
public:
  /// Null: none.
  Arrival *find(int32_t edge, int64_t iteration);
  /// A new one, zeroed but for its key and tensor, or `*found` again, which
  /// becomes null; null when there is no memory.
  Arrival *add(int32_t edge, int64_t iteration, Arrival **found = nullptr);
  /// Takes it out; it is the caller's.
  void detach(Arrival *arrival);
  /// Keeps one that is in no table for `add`. Null: nothing.
  void keep(Arrival *arrival);
  void remove(Arrival *arrival) {
    detach(arrival);
    keep(arrival);
  }
  /// Calls visit(argument, arrival) for each; it must not add or remove.
  void forEach(void (*visit)(void *argument, Arrival *arrival), void *argument);
  /// Forgets all, and keeps the memory.
  void clear();
  /// Gives the memory back.
  void destroy();

private:
  Arrival **bucket(int32_t edge, int64_t iteration);
  bool grow();

  Arrival **buckets = nullptr;
  int64_t bucketCount = 0; ///< a power of two
  int64_t count = 0;
  Arrival *unused = nullptr;
};

} // namespace weir::rt

#endif // WEIR_RUNTIME_SESSION_RENDEZVOUS_H
