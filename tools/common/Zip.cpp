//===- Zip.cpp - archives of named byte strings ---------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/common/Zip.h"

#include <cstdint>
#include <memory>
#include <zip.h>

using namespace weir::tools;

namespace {

/// Deflate does not shrink by more: a size beyond that lies, and is not allocated.
constexpr uint64_t mostRatio = 1032;
/// 1 January 1980, the earliest date that the format can say.
constexpr uint16_t fixedDate = 0x21;

/// What libzip says of an error, which it keeps.
class Failure {
public:
  Failure() { zip_error_init(&error); }
  ~Failure() { zip_error_fini(&error); }
  Failure(const Failure &) = delete;
  Failure &operator=(const Failure &) = delete;

  zip_error_t *out() { return &error; }
  std::string text() { return zip_error_strerror(&error); }

private:
  zip_error_t error;
};

struct Discard {
  void operator()(zip_t *archive) const { zip_discard(archive); }
  void operator()(zip_file_t *file) const { zip_fclose(file); }
  void operator()(zip_source_t *source) const { zip_source_free(source); }
};
using Archive = std::unique_ptr<zip_t, Discard>;
using File = std::unique_ptr<zip_file_t, Discard>;
using Source = std::unique_ptr<zip_source_t, Discard>;

/// All bytes of an entry, whose size and checksum libzip compares at its end.
bool readEntry(zip_t *archive, uint64_t index, const zip_stat_t &stat, std::string &contents) {
  if (stat.size / mostRatio > stat.comp_size + 1)
    return false;
  File file(zip_fopen_index(archive, index, 0));
  if (!file)
    return false;
  contents.resize(stat.size);
  char behind;
  return zip_fread(file.get(), contents.data(), stat.size) == zip_int64_t(stat.size) &&
         zip_fread(file.get(), &behind, 1) == 0;
}

} // namespace

bool weir::tools::readZip(std::string_view bytes, ZipEntries &entries, std::string &error) {
  Failure failure;
  auto refuse = [&](std::string text) {
    error = std::move(text);
    return false;
  };
  // To libzip a file without bytes is a new archive.
  if (bytes.empty())
    return refuse("no ZIP archive: too short");
  Source source(zip_source_buffer_create(bytes.data(), bytes.size(), 0, failure.out()));
  if (!source)
    return refuse("no ZIP archive: " + failure.text());
  Archive archive(zip_open_from_source(source.get(), ZIP_RDONLY | ZIP_CHECKCONS, failure.out()));
  if (!archive)
    return refuse("no ZIP archive: " + failure.text());
  source.release(); // the archive's
  for (zip_int64_t i = 0, count = zip_get_num_entries(archive.get(), 0); i < count; ++i) {
    zip_stat_t stat;
    constexpr zip_uint64_t wanted =
        ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
    if (zip_stat_index(archive.get(), i, ZIP_FL_ENC_RAW, &stat) != 0 ||
        (stat.valid & wanted) != wanted)
      return refuse("broken ZIP archive: its directory ends early");
    std::string name = stat.name, contents;
    if (stat.comp_method != ZIP_CM_STORE && stat.comp_method != ZIP_CM_DEFLATE)
      return refuse("\"" + name + "\": expected method 0 (stored) or 8 (deflate), got " +
                    std::to_string(stat.comp_method));
    if (!readEntry(archive.get(), i, stat, contents))
      return refuse("broken ZIP archive: the contents of \"" + name +
                    "\" do not match their size and checksum");
    entries.emplace_back(std::move(name), std::move(contents));
  }
  return true;
}

std::string weir::tools::writeZip(const ZipEntries &entries) {
  // Of an archive of nothing libzip leaves nothing: it is the end of a directory alone
  // (.ZIP File Format Specification, 4.3.16).
  if (entries.empty())
    return std::string("PK\5\6", 4) + std::string(18, '\0');
  Failure failure;
  Source written(zip_source_buffer_create(nullptr, 0, 0, failure.out()));
  if (!written)
    return {};
  Archive archive(zip_open_from_source(written.get(), ZIP_TRUNCATE, failure.out()));
  if (!archive)
    return {};
  zip_source_keep(written.get()); // once the archive's, once ours
  for (const auto &[name, contents] : entries) {
    Source source(zip_source_buffer_create(contents.data(), contents.size(), 0, failure.out()));
    // Of equal names the last one counts, as for who reads an archive that has both.
    zip_int64_t index = source ? zip_file_add(archive.get(), name.c_str(), source.get(),
                                              ZIP_FL_ENC_UTF_8 | ZIP_FL_OVERWRITE)
                               : -1;
    if (index < 0)
      return {};
    source.release(); // the archive's
    if (zip_file_set_dostime(archive.get(), index, 0, fixedDate, 0) != 0 ||
        zip_set_file_compression(archive.get(), index, ZIP_CM_DEFAULT, 0) != 0)
      return {};
  }
  if (zip_close(archive.get()) != 0)
    return {};
  archive.release(); // closed
  if (zip_source_open(written.get()) != 0)
    return {};
  zip_source_seek(written.get(), 0, SEEK_END);
  std::string bytes(size_t(zip_source_tell(written.get())), '\0');
  zip_source_seek(written.get(), 0, SEEK_SET);
  bool whole =
      zip_source_read(written.get(), bytes.data(), bytes.size()) == zip_int64_t(bytes.size());
  zip_source_close(written.get());
  return whole ? bytes : std::string();
}
