//===- state_file.cpp - which checkpoints a folder has --------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkpoint/state_file.h"
#include "checkpoint/bundle.h"
#include "session/status.h"

#include <unistd.h>

namespace weir::rt {

static void writePath(HeapText &out, const weir_string &folder) {
  if (folder.size > 0)
    out << folder << (folder.data[folder.size - 1] == '/' ? "" : "/");
  out << "checkpoint" << '\0';
}

static int octalDigit(char c) { return c >= '0' && c <= '7' ? c - '0' : -1; }

/// Takes a quoted string off the front of [at, end). False: there is none.
static bool takeString(const char *&at, const char *end, HeapText &out) {
  char quote = at != end ? *at : '\0';
  if (quote != '"' && quote != '\'')
    return false;
  for (++at; at != end && *at != quote; ++at) {
    if (*at != '\\') {
      out << *at;
      continue;
    }
    if (++at == end)
      return false;
    int value = octalDigit(*at);
    if (value >= 0) {
      for (int more = 0; more < 2 && at + 1 != end && octalDigit(at[1]) >= 0; ++more)
        value = value * 8 + octalDigit(*++at);
      out << char(value);
      continue;
    }
    out << (*at == 'n' ? '\n' : *at == 'r' ? '\r' : *at == 't' ? '\t' : *at);
  }
  if (at == end)
    return false;
  ++at;
  return true;
}

int32_t readState(const weir_string &folder, CheckpointState *state, weir_status *status) {
  HeapText path, text, value;
  writePath(path, folder);
  state->latest.clear();
  state->all.clear();
  if (path.failed())
    return refuseMemory(status, "a list of checkpoints");
  InputFile file;
  if (int32_t code = file.open(path.data(), status))
    return code;
  if (!text.reserve(file.size()))
    return refuseMemory(status, "a list of checkpoints");
  text.resize(file.size());
  if (int32_t code = file.read(0, file.size(), text.data(), status))
    return code;
  const char *at = text.data(), *end = at + text.size();
  auto skip = [&](const char *characters) {
    while (at != end && *at && strchr(characters, *at))
      ++at;
  };
  for (;;) {
    skip(" \t\r\n,;");
    if (at == end)
      break;
    const char *name = at;
    while (at != end && ((*at >= 'a' && *at <= 'z') || *at == '_'))
      ++at;
    int64_t size = at - name;
    skip(" \t:");
    value.clear();
    bool isString = takeString(at, end, value);
    if (!isString) // a number of no interest
      while (at != end && *at != '\n')
        ++at;
    if (size == 0) {
      StatusText(status, WEIR_DATA_LOSS) << path.data() << " is no list of checkpoints";
      return WEIR_DATA_LOSS;
    }
    auto is = [&](const char *field) {
      return isString && size == int64_t(strlen(field)) && memcmp(name, field, size_t(size)) == 0;
    };
    if (is("model_checkpoint_path")) {
      state->latest.clear();
      state->latest << value.view();
    } else if (is("all_model_checkpoint_paths")) {
      state->all.add(value.view(), {"", 0});
    }
  }
  return state->failed() || value.failed() ? refuseMemory(status, "a list of checkpoints")
                                           : int32_t(WEIR_OK);
}

static void writeField(HeapText &out, const char *field, const weir_string &value) {
  out << field << ": \"";
  for (int64_t i = 0; i < value.size; ++i) {
    auto c = static_cast<unsigned char>(value.data[i]);
    if (c == '"' || c == '\\')
      out << '\\' << char(c);
    else if (c >= ' ' && c < 0x7f)
      out << char(c);
    else
      out << '\\' << char('0' + (c >> 6)) << char('0' + (c >> 3 & 7)) << char('0' + (c & 7));
  }
  out << "\"\n";
}

int32_t writeState(const weir_string &folder, const CheckpointState &state, weir_status *status) {
  HeapText path, text;
  writePath(path, folder);
  writeField(text, "model_checkpoint_path", state.latest.view());
  for (int64_t i = 0; i < state.all.size(); ++i)
    writeField(text, "all_model_checkpoint_paths", state.all.key(i));
  if (path.failed() || text.failed())
    return refuseMemory(status, "a list of checkpoints");
  OutputFile file;
  int32_t code = file.create(path.data(), status);
  if (!code)
    code = file.write(text.data(), text.size(), status);
  if (!code)
    code = file.commit(status);
  return code ? code : syncFolder(folder, status);
}

/// Removes the files of a bundle, as far as that goes: the index first, so that what is left
/// of it is no checkpoint.
static void removeBundle(const weir_string &folder, const weir_string &path) {
  HeapText prefix, pattern;
  if (path.size > 0 && path.data[0] != '/' && folder.size > 0)
    prefix << folder << (folder.data[folder.size - 1] == '/' ? "" : "/");
  prefix << path;
  if (prefix.failed() || removeIndex(prefix.view(), nullptr))
    return;
  for (int64_t i = 0; i < prefix.size(); ++i) {
    if (strchr("*?[\\", prefix[i]) && prefix[i])
      pattern << '\\';
    pattern << prefix[i];
  }
  pattern << ".data-?????" << "-of-?????";
  MatchingFiles files;
  if (pattern.failed() || files.add(pattern.view(), nullptr))
    return;
  for (int64_t i = 0; i < files.size(); ++i)
    unlink(files[i]);
}

int32_t keepCheckpoints(const weir_string &prefix, int64_t keep, weir_status *status) {
  weir_string folder = folderOf(prefix);
  int64_t skipped = folder.size + (folder.size > 1 || (folder.size == 1 && *folder.data != '/'));
  weir_string name{prefix.data + skipped, prefix.size - skipped};
  CheckpointState old, fresh;
  int32_t code = readState(folder, &old, status);
  // One that is damaged is written anew.
  if (code && code != WEIR_NOT_FOUND && code != WEIR_DATA_LOSS)
    return code;
  for (int64_t i = 0; i < old.all.size(); ++i) {
    weir_string path = old.all.key(i);
    if (compareBytes(path, name) != 0 && compareBytes(path, prefix) != 0)
      fresh.all.add(path, {"", 0});
  }
  fresh.all.add(name, {"", 0});
  CheckpointState kept;
  int64_t removed = fresh.all.size() > keep ? fresh.all.size() - keep : 0;
  for (int64_t i = removed; i < fresh.all.size(); ++i)
    kept.all.add(fresh.all.key(i), {"", 0});
  kept.latest << name;
  if (fresh.failed() || kept.failed())
    return refuseMemory(status, "a list of checkpoints");
  // The list speaks of nothing that is gone.
  if (int32_t failed = writeState(folder, kept, status))
    return failed;
  for (int64_t i = 0; i < removed; ++i)
    removeBundle(folder, fresh.all.key(i));
  return WEIR_OK;
}

} // namespace weir::rt
