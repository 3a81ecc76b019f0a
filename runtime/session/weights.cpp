//===- weights.cpp - weights in a file of their own -----------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "session/mappings.h"
#include "session/session.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace weir::rt {

/// Writes the folder of the file that `address` was loaded from (the executable
/// or a shared object) with a final '/'. /proc/self/maps knows it in static
/// programs, too, where dladdr does not.
static bool folderOfModule(const void *address, char *folder) {
  Mapping mapping;
  if (!findMapping(address, &mapping) || !*mapping.path)
    return false;
  strcpy(folder, mapping.path);
  *(strrchr(folder, '/') + 1) = 0;
  return true;
}

/// Opens folder + name; what was tried is kept in `path`.
static int openIn(const char *folder, const char *name, char *path) {
  Text(path, pathMax) << folder << name;
  return open(path, O_RDONLY | O_CLOEXEC);
}

static int openWeights(const weir_program_desc *program, const char *chosen, char *path) {
  if (chosen)
    return openIn("", chosen, path);
  const char *name = program->weights_file;
  if (*name == '/')
    return openIn("", name, path);
  char folder[pathMax];
  if (const char *set = getenv("WEIR_WEIGHTS_DIR"); set && *set) {
    Text(folder, sizeof(folder)) << set << '/';
    return openIn(folder, name, path);
  }
  if (folderOfModule(program, folder))
    if (int file = openIn(folder, name, path); file >= 0)
      return file;
  char local[pathMax];
  int file = openIn("", name, local);
  // Beside the program is where a person would look first.
  if (file >= 0 || !*path)
    memcpy(path, local, pathMax);
  return file;
}

int32_t mapWeights(const weir_program_desc *program, const char *chosen, MappedFile *file,
                   weir_status *status) {
  char path[pathMax] = "";
  int handle = openWeights(program, chosen, path);
  if (handle < 0) {
    StatusText(status, WEIR_NOT_FOUND)
        << "cannot open the weights file " << path << " of program \"" << program->name
        << "\"; it may lie beside the program, in the working directory, in "
           "$WEIR_WEIGHTS_DIR, or where weir_session_options::weights_file "
           "says";
    return WEIR_NOT_FOUND;
  }
  struct stat info;
  int64_t bytes = fstat(handle, &info) == 0 ? int64_t(info.st_size) : 0;
  int64_t trailer = (program->blob_bytes + 63) / 64 * 64;
  void *data = MAP_FAILED;
  if (bytes >= trailer + int64_t(sizeof(weir_weights_trailer)))
    data = mmap(nullptr, size_t(bytes), PROT_READ, MAP_PRIVATE, handle, 0);
  close(handle);
  if (data == MAP_FAILED) {
    StatusText(status, WEIR_DATA_LOSS)
        << "the weights file " << path << " has " << bytes << " bytes; program \"" << program->name
        << "\" needs " << trailer + int64_t(sizeof(weir_weights_trailer));
    return WEIR_DATA_LOSS;
  }
  weir_weights_trailer found;
  memcpy(&found, static_cast<uint8_t *>(data) + trailer, sizeof(found));
  if (memcmp(found.magic, WEIR_WEIGHTS_MAGIC, sizeof(found.magic)) != 0 ||
      found.hash[0] != program->hash[0] || found.hash[1] != program->hash[1] ||
      found.blob_bytes != program->blob_bytes) {
    munmap(data, size_t(bytes));
    StatusText(status, WEIR_FAILED_PRECONDITION)
        << "the weights file " << path << " was not written together with program \""
        << program->name << "\"; compile both anew, or hand over the right one";
    return WEIR_FAILED_PRECONDITION;
  }
  *file = {static_cast<const uint8_t *>(data), bytes};
  return WEIR_OK;
}

void unmapWeights(MappedFile *file) {
  if (file->data)
    munmap(const_cast<uint8_t *>(file->data), size_t(file->bytes));
}

} // namespace weir::rt
