//===- collectives.h - what GPUs compute together ---------- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The steps of a collective's GPUs meet on the host: each puts the work before
// it into its stream, says what it gives, and suspends. The last one puts the
// collective into all of their streams, as one group of NCCL's, and resumes the
// others. So no thread waits in NCCL for another.
//
// Nothing can wait in a circle. A collective is put when all of the work that
// it follows lies in streams, so that nothing it waits for is still to be put.
// A lock makes the collectives of all runs of a session one sequence, in which
// each GPU gets them; there each begins behind the one before it, so that the
// kernels of two collectives are never in each other's way.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_CUDA_COLLECTIVES_H
#define WEIR_RUNTIME_CUDA_COLLECTIVES_H

#include "cuda/cuda_device.h"
#include "cuda/nccl_api.h"
#include "support/sync.h"

namespace weir::rt::cuda {

/// GPUs that reduce together.
struct Clique {
  Clique *next;
  uint64_t devices;                      ///< bit N: the program's device N
  Communicator communicators[mostPeers]; ///< by device; null once given up
};

/// What the GPUs of a session compute together: one for all of them.
struct Collectives {
  const Nccl *nccl;
  const weir_cuda_collective *descs;
  int64_t count;
  int32_t users; ///< devices that have it
  Clique *cliques;
  Clique **byCollective; ///< null: its GPUs go another way
  Mutex order;           ///< guards what follows, and is held while one is put
  Event last[mostPeers]; ///< by device, behind the collective put last; null:
                         ///< none yet
  /// One could not be put, perhaps on some of its GPUs alone: there are none in
  /// later runs, and those in progress that had any fail.
  std::atomic<bool> broken;
};

} // namespace weir::rt::cuda

#endif // WEIR_RUNTIME_CUDA_COLLECTIVES_H
