//===- checkpoint_session_test.cpp - a session's variables in files ------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkpoint/slices_file.h"
#include "test_program.h"

#include <condition_variable>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>

using namespace weir::rt::test;
namespace fs = std::filesystem;

namespace {

struct Folder {
  fs::path path;
  Folder() {
    std::string name = (fs::temp_directory_path() / "weir-session-XXXXXX").string();
    path = mkdtemp(name.data());
  }
  ~Folder() { fs::remove_all(path); }
  std::string operator/(const std::string &name) const { return (path / name).string(); }
};

/// A counter, a matrix, and strings that begin without a value.
void addVariables(TestProgram &program) {
  program.blobs<int64_t>({41, 1, 2, 3});
  program.slot("counter", WEIR_I64, {}, 0, 8);
  program.slot("layer/w", WEIR_I64, {3}, 8, 24);
  program.slot("names", WEIR_STRING, {-1}, -1, 0);
  program.entry("nothing", {}, {}, {[](weir_context *) { return 0; }});
}

int32_t set(weir_session *session, const char *name, std::vector<int64_t> values, int32_t rank) {
  weir_tensor tensor = {};
  tensor.data = values.data();
  tensor.bytes = int64_t(values.size()) * 8;
  tensor.dtype = WEIR_I64;
  tensor.rank = rank;
  tensor.dims[0] = int64_t(values.size());
  return weir_session_set_variable(session, name, &tensor, nullptr);
}

int32_t setNames(weir_session *session, const std::vector<std::string> &names) {
  std::vector<weir_string> views;
  for (const std::string &name : names)
    views.push_back({name.data(), int64_t(name.size())});
  weir_tensor tensor = {};
  tensor.data = views.data();
  tensor.bytes = int64_t(views.size() * sizeof(weir_string));
  tensor.dtype = WEIR_STRING;
  tensor.rank = 1;
  tensor.dims[0] = int64_t(views.size());
  return weir_session_set_variable(session, "names", &tensor, nullptr);
}

/// "41; 1 2 3; a,b," or what is not there.
std::string valuesOf(weir_session *session) {
  std::string text;
  for (const char *name : {"counter", "layer/w", "names"}) {
    weir_tensor value = {};
    if (weir_session_get_variable(session, name, &value, nullptr)) {
      text += "none; ";
      continue;
    }
    int64_t count = value.rank ? value.dims[0] : 1;
    for (int64_t i = 0; i < count; ++i)
      if (value.dtype == WEIR_STRING) {
        auto &string = static_cast<weir_string *>(value.data)[i];
        text += std::string(string.data, size_t(string.size)) + ",";
      } else {
        text += std::to_string(static_cast<int64_t *>(value.data)[i]) + " ";
      }
    text += "; ";
    weir_session_release(session, &value);
  }
  return text;
}

/// Waits for what is done later.
struct Later {
  std::mutex mutex;
  std::condition_variable changed;
  bool isDone = false;
  int32_t code = -1;
  static void done(void *self, const weir_status *status) {
    auto &later = *static_cast<Later *>(self);
    std::lock_guard<std::mutex> lock(later.mutex);
    later.isDone = true;
    later.code = status->code;
    later.changed.notify_all();
  }
  int32_t wait() {
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [&] { return isDone; });
    return code;
  }
};

} // namespace

TEST(SessionCheckpoints, SaveAndRestore) {
  Folder folder;
  TestProgram program;
  addVariables(program);
  TestSession session(program.get());
  ASSERT_EQ(session.code, WEIR_OK) << session.message();
  std::string prefix = folder / "new/m";
  // A variable without a value is an error, unless that is asked for.
  EXPECT_EQ(weir_session_save(session, prefix.c_str(), nullptr, &session.status),
            WEIR_FAILED_PRECONDITION);
  EXPECT_STREQ(session.status.message, "variable \"names\" was never assigned");
  EXPECT_FALSE(fs::exists(prefix + ".index"));
  weir_checkpoint_options partial = WEIR_CHECKPOINT_OPTIONS_INIT;
  partial.partial = 1;
  EXPECT_EQ(weir_session_save(session, prefix.c_str(), &partial, &session.status), WEIR_OK)
      << session.message();
  EXPECT_EQ(weir_session_restore(session, prefix.c_str(), nullptr, &session.status),
            WEIR_NOT_FOUND);
  set(session, "counter", {7}, 0);
  EXPECT_EQ(weir_session_restore(session, prefix.c_str(), &partial, &session.status), WEIR_OK)
      << session.message();
  EXPECT_EQ(valuesOf(session), "41 ; 1 2 3 ; none; ");

  set(session, "layer/w", {4, 5, 6}, 1);
  setNames(session, {"a", "", std::string(100, 'x')});
  std::string before = valuesOf(session);
  ASSERT_EQ(weir_session_save(session, prefix.c_str(), nullptr, &session.status), WEIR_OK)
      << session.message();
  TestSession other(program.get());
  EXPECT_EQ(weir_session_restore(other, prefix.c_str(), nullptr, &other.status), WEIR_OK)
      << other.message();
  EXPECT_EQ(valuesOf(other), before);
  // What has no name would be hidden files.
  for (const std::string &bad : {std::string(), std::string(folder.path) + "/"}) {
    EXPECT_EQ(weir_session_save(other, bad.c_str(), nullptr, &other.status), WEIR_INVALID_ARGUMENT);
    EXPECT_NE(std::string(other.status.message).find("expected a folder and a name"),
              std::string::npos);
    EXPECT_EQ(weir_session_restore(other, bad.c_str(), nullptr, nullptr), WEIR_INVALID_ARGUMENT);
  }
  EXPECT_EQ(weir_session_restore(other, (folder / "none").c_str(), nullptr, nullptr),
            WEIR_NOT_FOUND);
}

TEST(SessionCheckpoints, ConstantsAreNotSaved) {
  Folder folder;
  TestProgram frozen;
  frozen.entry("nothing", {}, {}, {[](weir_context *) { return 0; }});
  frozen.freeze(2);
  TestSession session(frozen.get());
  ASSERT_EQ(session.code, WEIR_OK) << session.message();
  std::string prefix = folder / "m";
  const char *why = "program \"test\" has no variables: 2 of the model are constants, as no entry "
                    "changes them; possible: weirc --freeze=none";
  EXPECT_EQ(weir_session_save(session, prefix.c_str(), nullptr, &session.status),
            WEIR_FAILED_PRECONDITION);
  EXPECT_STREQ(session.status.message, why);
  EXPECT_FALSE(fs::exists(prefix + ".index"));
  EXPECT_EQ(weir_session_restore(session, prefix.c_str(), nullptr, &session.status),
            WEIR_FAILED_PRECONDITION);
  EXPECT_STREQ(session.status.message, why);
  weir_tensor value = {};
  EXPECT_EQ(weir_session_get_variable(session, "w", &value, &session.status), WEIR_NOT_FOUND);
  EXPECT_STREQ(session.status.message,
               "program \"test\" has no variable \"w\": 2 of the model are constants, as no entry "
               "changes them; possible: weirc --freeze=none");
  EXPECT_EQ(weir_session_set_variable(session, "w", &value, &session.status), WEIR_NOT_FOUND);
  EXPECT_EQ(weir_session_save_async(
                session, prefix.c_str(), nullptr, [](void *, const weir_status *) {}, nullptr,
                &session.status),
            WEIR_FAILED_PRECONDITION);
  EXPECT_STREQ(session.status.message, why);
  // Of a program that has others these are saved and restored where that is asked for.
  TestProgram both;
  addVariables(both);
  both.freeze(1);
  TestSession other(both.get());
  setNames(other, {"a"});
  why = "program \"test\" has not all variables: 1 of the model are constants, as no entry "
        "changes them; possible: weirc --freeze=none";
  EXPECT_EQ(weir_session_save(other, prefix.c_str(), nullptr, &other.status),
            WEIR_FAILED_PRECONDITION);
  EXPECT_STREQ(other.status.message, why);
  weir_checkpoint_options partial = WEIR_CHECKPOINT_OPTIONS_INIT;
  partial.partial = 1;
  EXPECT_EQ(weir_session_save(other, prefix.c_str(), &partial, &other.status), WEIR_OK)
      << other.message();
  EXPECT_EQ(weir_session_restore(other, prefix.c_str(), nullptr, &other.status),
            WEIR_FAILED_PRECONDITION);
  EXPECT_EQ(weir_session_restore(other, prefix.c_str(), &partial, &other.status), WEIR_OK)
      << other.message();
  // A session that is to begin with a checkpoint does not begin without.
  for (TestProgram *program : {&frozen, &both}) {
    weir_session_options options = WEIR_SESSION_OPTIONS_INIT;
    options.restore = prefix.c_str();
    weir_session *made = nullptr;
    EXPECT_EQ(weir_session_create(program->get(), &options, &made, &session.status),
              WEIR_FAILED_PRECONDITION);
    EXPECT_EQ(made, nullptr);
  }
}

TEST(SessionCheckpoints, WhatIsDamagedChangesNothing) {
  Folder folder;
  TestProgram program;
  addVariables(program);
  TestSession session(program.get());
  setNames(session, {"a"});
  std::string prefix = folder / "m", data = prefix + ".data-00000-of-00001";
  ASSERT_EQ(weir_session_save(session, prefix.c_str(), nullptr, nullptr), WEIR_OK);
  set(session, "counter", {1}, 0);
  std::string values = valuesOf(session);
  // The last byte is that of the last variable: all others could be read.
  auto size = int64_t(fs::file_size(data));
  {
    std::fstream file(data, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(size - 1);
    file.put('b');
  }
  EXPECT_EQ(weir_session_restore(session, prefix.c_str(), nullptr, &session.status),
            WEIR_DATA_LOSS);
  EXPECT_NE(std::string(session.message()).find(data), std::string::npos) << session.message();
  EXPECT_NE(std::string(session.message()).find("offset 32"), std::string::npos);
  EXPECT_EQ(valuesOf(session), values);

  // Another shape, another type.
  TestProgram wider;
  wider.slot("counter", WEIR_I64, {2}, -1, 0);
  wider.slot("layer/w", WEIR_F64, {3}, -1, 0);
  wider.entry("nothing", {}, {}, {[](weir_context *) { return 0; }});
  TestSession other(wider.get());
  EXPECT_EQ(weir_session_restore(other, prefix.c_str(), nullptr, &other.status),
            WEIR_INVALID_ARGUMENT);
}

TEST(SessionCheckpoints, WhatIsSavedLaterIsOfThisMoment) {
  Folder folder;
  TestProgram program;
  addVariables(program);
  std::string prefix = folder / "m";
  {
    TestSession session(program.get());
    setNames(session, {"a", "b"});
    Later later;
    ASSERT_EQ(weir_session_save_async(session, prefix.c_str(), nullptr, Later::done, &later,
                                      &session.status),
              WEIR_OK)
        << session.message();
    set(session, "counter", {-1}, 0);
    setNames(session, {});
    EXPECT_EQ(later.wait(), WEIR_OK);
    Later failing;
    std::string nowhere = folder / "a/b/c/m";
    ASSERT_EQ(weir_session_save_async(session, nowhere.c_str(), nullptr, Later::done, &failing,
                                      &session.status),
              WEIR_OK);
    EXPECT_EQ(failing.wait(), WEIR_NOT_FOUND);
    EXPECT_EQ(weir_session_save_async(session, prefix.c_str(), nullptr, nullptr, nullptr, nullptr),
              WEIR_INVALID_ARGUMENT);
  }
  TestSession other(program.get());
  EXPECT_EQ(weir_session_restore(other, prefix.c_str(), nullptr, &other.status), WEIR_OK)
      << other.message();
  EXPECT_EQ(valuesOf(other), "41 ; 1 2 3 ; a,b,; ");
}

TEST(SessionCheckpoints, TheOldestGo) {
  Folder folder;
  TestProgram program;
  addVariables(program);
  TestSession session(program.get());
  setNames(session, {});
  weir_checkpoint_options options = WEIR_CHECKPOINT_OPTIONS_INIT;
  options.keep = 2;
  for (int i = 1; i <= 4; ++i) {
    set(session, "counter", {i}, 0);
    std::string prefix = folder / ("run/m-" + std::to_string(i));
    ASSERT_EQ(weir_session_save(session, prefix.c_str(), &options, &session.status), WEIR_OK)
        << session.message();
  }
  std::vector<std::string> files;
  for (const auto &entry : fs::directory_iterator(folder / "run"))
    files.push_back(entry.path().filename().string());
  std::sort(files.begin(), files.end());
  EXPECT_EQ(files, (std::vector<std::string>{"checkpoint", "m-3.data-00000-of-00001", "m-3.index",
                                             "m-4.data-00000-of-00001", "m-4.index"}));
  std::ifstream in(folder / "run/checkpoint");
  std::string text{std::istreambuf_iterator<char>(in), {}};
  EXPECT_EQ(text, "model_checkpoint_path: \"m-4\"\nall_model_checkpoint_paths: \"m-3\"\n"
                  "all_model_checkpoint_paths: \"m-4\"\n");
  char latest[1024];
  EXPECT_EQ(weir_latest_checkpoint((folder / "run").c_str(), latest, sizeof(latest), nullptr),
            WEIR_OK);
  EXPECT_EQ(std::string(latest), folder / "run/m-4");
  EXPECT_EQ(weir_latest_checkpoint((folder / "run").c_str(), latest, 4, nullptr),
            WEIR_OUT_OF_RANGE);
  EXPECT_EQ(weir_latest_checkpoint(folder.path.c_str(), latest, sizeof(latest), nullptr),
            WEIR_NOT_FOUND);
}

TEST(SessionCheckpoints, TheOldFormatIsRestored) {
  Folder folder;
  std::string path = folder / "old";
  weir::rt::SlicesWriter writer;
  ASSERT_EQ(writer.open({path.data(), int64_t(path.size())}, nullptr), WEIR_OK);
  int64_t counter = 5, w[] = {7, 8, 9};
  weir::rt::StoredShape scalar, three;
  three.rank = 1;
  three.dims[0] = 3;
  weir_string text{"t", 1};
  weir::rt::StoredShape one;
  one.rank = 1;
  one.dims[0] = 1;
  using weir::rt::TensorSlice;
  writer.add({"counter", 7}, 9, scalar, TensorSlice::whole(0), &counter, nullptr);
  writer.add({"layer/w", 7}, 9, three, TensorSlice::whole(1), w, nullptr);
  writer.add({"names", 5}, 7, one, TensorSlice::whole(1), &text, nullptr);
  ASSERT_EQ(writer.finish(nullptr), WEIR_OK);
  TestProgram program;
  addVariables(program);
  TestSession session(program.get());
  EXPECT_EQ(weir_session_restore(session, path.c_str(), nullptr, &session.status), WEIR_OK)
      << session.message();
  EXPECT_EQ(valuesOf(session), "5 ; 7 8 9 ; t,; ");
}
