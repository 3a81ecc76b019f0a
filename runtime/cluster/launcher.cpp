//===- launcher.cpp - addresses from who started the processes ------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cluster/launcher.h"

#ifdef WEIR_HAVE_PMIX

#include <dlfcn.h>
#include <pmix.h>
#include <stdlib.h>
#include <string.h>

namespace weir::rt::cluster {

/// The key under which each process' address is known.
static constexpr const char *addressKey = "weir.address";

struct Launcher::Functions {
  decltype(&PMIx_Init) init;
  decltype(&PMIx_Finalize) finalize;
  decltype(&PMIx_Get) get;
  decltype(&PMIx_Put) put;
  decltype(&PMIx_Commit) commit;
  decltype(&PMIx_Fence) fence;
  decltype(&PMIx_Error_string) errorString;

  /// Of the launcher's own library if it is in the process, else the system's.
  bool open() {
    void *library = dlopen("libpmix.so.2", RTLD_NOW | RTLD_GLOBAL);
    if (!library)
      library = dlopen(WEIR_PMIX_LIBRARY, RTLD_NOW | RTLD_GLOBAL);
    if (!library)
      return false;
    auto find = [&](auto &function, const char *name) {
      function =
          reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
      return function != nullptr;
    };
    return find(init, "PMIx_Init") && find(finalize, "PMIx_Finalize") && find(get, "PMIx_Get") &&
           find(put, "PMIx_Put") && find(commit, "PMIx_Commit") && find(fence, "PMIx_Fence") &&
           find(errorString, "PMIx_Error_string");
  }
};

static pmix_proc_t processOf(const std::string &space, pmix_rank_t rank) {
  pmix_proc_t process;
  memset(&process, 0, sizeof(process));
  strncpy(process.nspace, space.c_str(), PMIX_MAX_NSLEN);
  process.rank = rank;
  return process;
}

/// Values are the library's allocations, made with malloc.
static void freeValue(pmix_value_t *value) {
  if (value->type == PMIX_STRING)
    free(value->data.string);
  free(value);
}

bool Launcher::start(std::string &error) {
  if (!getenv("PMIX_RANK")) {
    error = "no launcher that speaks PMIx started this process; possible: "
            "mpirun, srun --mpi=pmix, or a task and addresses";
    return false;
  }
  functions = new Functions();
  if (!functions->open()) {
    error = std::string("PMIx cannot be opened: ") + dlerror();
    return false;
  }
  pmix_proc_t self;
  pmix_status_t status = functions->init(&self, nullptr, 0);
  if (status != PMIX_SUCCESS) {
    error = std::string("PMIx says ") + functions->errorString(status);
    return false;
  }
  started = true;
  space = self.nspace;
  ownRank = int32_t(self.rank);
  pmix_proc_t job = processOf(space, PMIX_RANK_WILDCARD);
  pmix_value_t *value = nullptr;
  status = functions->get(&job, PMIX_JOB_SIZE, nullptr, 0, &value);
  if (status != PMIX_SUCCESS || value->type != PMIX_UINT32) {
    error = "PMIx does not know how many processes there are";
    return false;
  }
  jobSize = int32_t(value->data.uint32);
  freeValue(value);
  return true;
}

bool Launcher::exchange(const std::string &own, std::vector<std::string> &all, std::string &error) {
  auto fails = [&](pmix_status_t status) {
    if (status == PMIX_SUCCESS)
      return false;
    error = std::string("PMIx cannot exchange addresses: ") + functions->errorString(status);
    return true;
  };
  pmix_value_t given;
  memset(&given, 0, sizeof(given));
  given.type = PMIX_STRING;
  given.data.string = const_cast<char *>(own.c_str());
  pmix_info_t collect;
  memset(&collect, 0, sizeof(collect));
  strncpy(collect.key, PMIX_COLLECT_DATA, PMIX_MAX_KEYLEN);
  collect.value.type = PMIX_BOOL;
  collect.value.data.flag = true;
  pmix_proc_t job = processOf(space, PMIX_RANK_WILDCARD);
  if (fails(functions->put(PMIX_GLOBAL, addressKey, &given)) || fails(functions->commit()) ||
      fails(functions->fence(&job, 1, &collect, 1)))
    return false;
  for (int32_t rank = 0; rank < jobSize; ++rank) {
    pmix_proc_t process = processOf(space, pmix_rank_t(rank));
    pmix_value_t *value = nullptr;
    if (fails(functions->get(&process, addressKey, nullptr, 0, &value)))
      return false;
    all.push_back(value->type == PMIX_STRING ? value->data.string : "");
    freeValue(value);
  }
  leave();
  return true;
}

void Launcher::leave() {
  if (started)
    functions->finalize(nullptr, 0);
  started = false;
}

Launcher::~Launcher() {
  leave();
  delete functions;
}

} // namespace weir::rt::cluster

#else

namespace weir::rt::cluster {

bool Launcher::start(std::string &error) {
  error = "this library was built without PMIx (Debian's libpmix-dev)";
  return false;
}
bool Launcher::exchange(const std::string &, std::vector<std::string> &, std::string &) {
  return false;
}
Launcher::~Launcher() = default;

} // namespace weir::rt::cluster

#endif // WEIR_HAVE_PMIX
