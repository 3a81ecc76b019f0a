//===- Link.cpp - archives and shared objects -----------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/emit/Link.h"

#include "compiler/emit/OutputFile.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Object/ArchiveWriter.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

using namespace weir;

llvm::Error weir::writeArchive(llvm::StringRef object, llvm::StringRef member,
                               llvm::StringRef archive) {
  // Mapped, not read: the object may hold gigabytes of constants.
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> buffer =
      llvm::MemoryBuffer::getFile(object, /*IsText=*/false,
                                  /*RequiresNullTerminator=*/false);
  if (!buffer)
    return llvm::createStringError(buffer.getError(), "cannot read " + object);
  llvm::SmallVector<llvm::NewArchiveMember, 1> members;
  members.emplace_back((*buffer)->getMemBufferRef());
  members.back().MemberName = member;
  return llvm::writeArchive(archive, members, llvm::SymtabWritingMode::NormalSymtab,
                            llvm::object::Archive::K_GNU,
                            /*Deterministic=*/true, /*Thin=*/false);
}

/// Whether an object calls a function of the archive of images.
static llvm::Expected<bool> needsImages(llvm::StringRef path) {
  auto file = llvm::object::ObjectFile::createObjectFile(path);
  if (!file)
    return file.takeError();
  for (const llvm::object::SymbolRef &symbol : file->getBinary()->symbols()) {
    auto name = symbol.getName();
    if (!name) {
      llvm::consumeError(name.takeError());
      continue;
    }
    for (llvm::StringRef function : {"decode_image", "jpeg_shape", "encode_jpeg", "encode_png"})
      if (*name == ("weir_kernel_" + function).str())
        return true;
  }
  return false;
}

/// Adds what decodes and encodes images to the command line, where it is called.
static llvm::Error addImages(llvm::StringRef object, llvm::StringRef runtimeLibrary,
                             std::vector<std::string> &arguments) {
  llvm::Expected<bool> needed = needsImages(object);
  if (!needed || !*needed)
    return needed.takeError();
  llvm::SmallString<256> archive(runtimeLibrary);
  llvm::sys::path::remove_filename(archive);
  llvm::sys::path::append(archive, "libweir_runtime_images.a");
  if (!llvm::sys::fs::exists(archive))
    return llvm::createStringError("the program decodes or encodes images, and there is no " +
                                   archive);
  arguments.push_back(std::string(archive));
  llvm::SmallVector<llvm::StringRef> libraries;
  llvm::StringRef(WEIR_IMAGE_LIBRARIES).split(libraries, ' ', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef library : libraries)
    arguments.push_back(("-l" + library).str());
  return llvm::Error::success();
}

llvm::Error weir::linkSharedObject(llvm::StringRef object, llvm::StringRef output,
                                   const SharedObjectOptions &options) {
  std::string driver;
  bool isClang = false;
  for (const char *name : {"clang-22", "clang", "gcc", "cc"})
    if (auto found = llvm::sys::findProgramByName(name)) {
      driver = *found;
      isClang = llvm::StringRef(name).starts_with("clang");
      break;
    }
  if (driver.empty())
    return llvm::createStringError(
        "a .so needs a linker, and none of clang-22, clang, gcc and cc is on "
        "the PATH; on Debian: apt-get install clang-22 lld-22, or gcc");

  std::string script = (output + ".exports").str();
  std::string log = (output + ".log").str();
  llvm::scope_exit cleanup([&] {
    llvm::sys::fs::remove(script);
    llvm::sys::fs::remove(log);
  });
  std::string exports = "{\n  global:\n";
  for (const std::string &name : options.exports)
    exports += "    " + name + ";\n";
  exports += "  local: *;\n};\n";
  if (llvm::Error error = writeFile(script, exports))
    return error;

  std::vector<std::string> arguments = {driver, "-shared", "-o", output.str(), object.str()};
  if (!options.runtimeLibrary.empty()) {
    if (llvm::Error error = addImages(object, options.runtimeLibrary, arguments))
      return error;
    arguments.push_back(options.runtimeLibrary);
  }
  if (isClang && llvm::sys::findProgramByName("ld.lld-22"))
    arguments.push_back("-fuse-ld=lld-22");
  arguments.insert(arguments.end(),
                   // -Wl would cut names at their commas.
                   {"-Xlinker", "--version-script=" + script, "-Xlinker",
                    "-soname=" + options.soname, "-Wl,-Bsymbolic", "-Wl,--gc-sections",
                    "-Wl,-z,relro", "-Wl,-z,now", "-lm", "-lpthread"});
  if (!options.runtimeLibrary.empty())
    arguments.push_back("-Wl,--no-undefined");
  llvm::SmallVector<llvm::StringRef> references(arguments.begin(), arguments.end());
  std::string message;
  std::optional<llvm::StringRef> redirects[] = {llvm::StringRef(""), llvm::StringRef(log),
                                                llvm::StringRef(log)};
  int status =
      llvm::sys::ExecuteAndWait(driver, references, std::nullopt, redirects, 0, 0, &message);
  if (status == 0)
    return llvm::Error::success();
  if (auto text = llvm::MemoryBuffer::getFile(log))
    message += (*text)->getBuffer().rtrim().str();
  return llvm::createStringError(driver + " cannot link " + output + ": " + message);
}

llvm::Expected<std::string> weir::findRuntimeLibrary(llvm::StringRef given) {
  if (!given.empty()) {
    if (llvm::sys::fs::exists(given))
      return given.str();
    return llvm::createStringError("there is no " + given);
  }
  std::vector<std::string> candidates;
  static int here;
  llvm::SmallString<256> base(llvm::sys::fs::getMainExecutable("weirc", &here));
  llvm::sys::path::remove_filename(base);
  for (const char *folder : {"../lib", "../lib/x86_64-linux-gnu", "../lib64", "."}) {
    llvm::SmallString<256> path(base);
    llvm::sys::path::append(path, folder, "libweir_runtime.a");
    llvm::sys::path::remove_dots(path, /*remove_dot_dot=*/true);
    candidates.push_back(std::string(path));
  }
#ifdef WEIR_BUILD_RUNTIME_LIBRARY
  candidates.push_back(WEIR_BUILD_RUNTIME_LIBRARY);
#endif
  for (const std::string &path : candidates)
    if (llvm::sys::fs::exists(path))
      return path;
  std::string tried;
  for (const std::string &path : candidates)
    tried += (tried.empty() ? "" : ", ") + path;
  return llvm::createStringError("libweir_runtime.a is in none of: " + tried);
}
