//===- Assemble.cpp - from LLVM IR to an image for GPUs --- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cuda/Assemble.h"
#include "compiler/emit/MachineCode.h"
#include "weir/cuda.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/Module.h"
#include "llvm/Linker/Linker.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/IPO/Internalize.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include <mutex>

using namespace weir;
namespace fs = llvm::sys::fs;

//===----------------------------------------------------------------------===//
// Architectures
//===----------------------------------------------------------------------===//

namespace {
struct Known {
  int number;
  const char *ptx;          ///< the version of PTX that knows it, and LLVM writes
  bool hasSpecific = false; ///< code for it alone is known, too: sm_90a
};
} // namespace

// From the first with bf16 arithmetic on. LLVM's default version of PTX is too
// old for most of them.
static constexpr Known known[] = {
    {80, "+ptx80"},       {86, "+ptx80"},  {87, "+ptx80"},  {89, "+ptx80"},
    {90, "+ptx80", true}, {100, "+ptx86"}, {103, "+ptx88"}, {120, "+ptx87"},
};

static const Known *find(int number) {
  for (const Known &each : known)
    if (each.number == number)
      return &each;
  return nullptr;
}

std::string weir::knownArchitectures() {
  std::string text;
  for (const Known &each : known) {
    std::string name = "sm_" + std::to_string(each.number);
    text += (text.empty() ? "" : ", ") + name + (each.hasSpecific ? ", " + name + "a" : "");
  }
  return text;
}

std::optional<std::vector<CudaArchitecture>> weir::parseArchitectures(llvm::StringRef text) {
  std::vector<CudaArchitecture> result;
  llvm::SmallVector<llvm::StringRef> parts;
  text.split(parts, ',');
  for (llvm::StringRef part : parts) {
    CudaArchitecture each;
    part = part.trim();
    bool isNamed = part.consume_front("sm_");
    each.isSpecific = part.consume_back("a");
    const Known *found = nullptr;
    if (!isNamed || part.getAsInteger(10, each.number) || !(found = find(each.number)) ||
        (each.isSpecific && !found->hasSpecific))
      return std::nullopt;
    result.push_back(each);
  }
  auto number = [](const CudaArchitecture &each) { return each.number; };
  llvm::sort(result, [&](const auto &a, const auto &b) {
    return std::pair(number(a), !a.isSpecific) < std::pair(number(b), !b.isSpecific);
  });
  auto last = std::unique(result.begin(), result.end(),
                          [&](const auto &a, const auto &b) { return number(a) == number(b); });
  result.erase(last, result.end());
  return result;
}

//===----------------------------------------------------------------------===//
// The toolkit
//===----------------------------------------------------------------------===//

/// Where a toolkit may be, the likeliest first.
static std::vector<std::string> toolkits() {
  std::vector<std::string> folders;
  for (const char *variable : {"CUDA_HOME", "CUDA_PATH"})
    if (auto value = llvm::sys::Process::GetEnv(variable))
      if (!value->empty())
        folders.push_back(*value);
  folders.push_back("/usr/local/cuda");
  return folders;
}

std::string weir::findToolkitProgram(llvm::StringRef name) {
  for (const std::string &folder : toolkits()) {
    std::string path = folder + "/bin/" + name.str();
    if (fs::can_execute(path))
      return path;
  }
  auto found = llvm::sys::findProgramByName(name);
  return found ? *found : "";
}

std::string weir::findLibdevice() {
  for (const std::string &folder : toolkits()) {
    std::string path = folder + "/nvvm/libdevice/libdevice.10.bc";
    if (fs::exists(path))
      return path;
  }
  // Debian's package.
  const char *packaged = "/usr/lib/nvidia-cuda-toolkit/libdevice/libdevice.10.bc";
  return fs::exists(packaged) ? packaged : "";
}

//===----------------------------------------------------------------------===//
// LLVM
//===----------------------------------------------------------------------===//

static void initializeTarget() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
}

static llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
machineFor(const CudaArchitecture &architecture, int optLevel) {
  initializeTarget();
  llvm::Triple triple("nvptx64-nvidia-cuda");
  std::string error;
  const llvm::Target *kind = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!kind)
    return llvm::createStringError(error);
  llvm::TargetOptions settings;
  // Only what one operation of the model asked for is contracted.
  settings.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  return std::unique_ptr<llvm::TargetMachine>(kind->createTargetMachine(
      triple, architecture.name(), find(architecture.number)->ptx, settings, std::nullopt,
      std::nullopt,
      optLevel > 0 ? llvm::CodeGenOptLevel::Aggressive : llvm::CodeGenOptLevel::None));
}

/// libdevice asks whether square roots are to be rounded correctly, and LLVM, which knows
/// no flag for it, would say no.
static void rootsAreExact(llvm::Module &module) {
  llvm::Function *ask = module.getFunction("__nvvm_reflect");
  if (!ask)
    return;
  for (llvm::User *user : llvm::make_early_inc_range(ask->users())) {
    auto *call = llvm::dyn_cast<llvm::CallInst>(user);
    llvm::StringRef what;
    if (!call || !llvm::getConstantStringInfo(call->getArgOperand(0), what) ||
        what != "__CUDA_PREC_SQRT")
      continue;
    call->replaceAllUsesWith(llvm::ConstantInt::get(call->getType(), 1));
    call->eraseFromParent();
  }
}

/// All threads of a warp multiply together: no branch may come between them. Nor may assembly,
/// which waits for others, go where fewer come by.
static void keepTogether(llvm::Module &module) {
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::instructions(function))
      if (auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction); call && call->isInlineAsm())
        call->setConvergent();
  for (llvm::Function &function : module)
    if (function.getName().starts_with("llvm.nvvm.mma") ||
        function.getName().starts_with("llvm.nvvm.ldmatrix"))
      for (llvm::User *user : function.users())
        if (auto *call = llvm::dyn_cast<llvm::CallInst>(user))
          call->setConvergent();
}

llvm::Error weir::targetCuda(llvm::Module &module) {
  auto machine = machineFor({80}, 3);
  if (!machine)
    return machine.takeError();
  keepTogether(module);
  module.setTargetTriple((*machine)->getTargetTriple());
  module.setDataLayout((*machine)->createDataLayout());
  return llvm::Error::success();
}

llvm::Error weir::linkLibdevice(llvm::Module &module) {
  bool needed = llvm::any_of(module, [](const llvm::Function &function) {
    return function.isDeclaration() && function.getName().starts_with("__nv_");
  });
  if (!needed)
    return llvm::Error::success();
  std::string path = findLibdevice();
  if (path.empty())
    return llvm::createStringError(
        "W0621: found no libdevice.10.bc of the CUDA toolkit, which has the "
        "functions of mathematics; possible: CUDA_HOME=DIR, or the toolkit in "
        "/usr/local/cuda");
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return llvm::createStringError("W0621: " + path +
                                   " cannot be read: " + buffer.getError().message());
  auto library = llvm::parseBitcodeFile(**buffer, module.getContext());
  if (!library)
    return library.takeError();
  (*library)->setTargetTriple(module.getTargetTriple());
  (*library)->setDataLayout(module.getDataLayout());
  bool failed = llvm::Linker::linkModules(
      module, std::move(*library), llvm::Linker::LinkOnlyNeeded,
      [](llvm::Module &linked, const llvm::StringSet<> &names) {
        llvm::internalizeModule(linked, [&](const llvm::GlobalValue &value) {
          return !value.hasName() || !names.contains(value.getName());
        });
        // Calls would cost a stack, and what they keep in registers.
        for (llvm::Function &function : linked)
          if (function.hasLocalLinkage() && !function.isDeclaration()) {
            function.removeFnAttr(llvm::Attribute::NoInline);
            function.removeFnAttr(llvm::Attribute::OptimizeNone);
            function.addFnAttr(llvm::Attribute::AlwaysInline);
          }
      });
  if (failed)
    return llvm::createStringError(path + " does not link");
  rootsAreExact(module);
  // Denormals are kept: what libdevice asks for this flag.
  if (!module.getModuleFlag("nvvm-reflect-ftz"))
    module.addModuleFlag(llvm::Module::Override, "nvvm-reflect-ftz", uint32_t(0));
  return llvm::Error::success();
}

/// Two halves, of bytes 0 and 1 of a word of 8-bit floats, or of 2 and 3.
static llvm::Value *halvesOf(llvm::IRBuilder<> &b, llvm::Value *word, bool upper, bool isE5M2) {
  auto number = [&](uint32_t value) { return b.getInt32(value); };
  // Each byte is the upper one of its half, which is e5m2's value.
  llvm::Value *first = upper ? b.CreateLShr(word, number(8)) : b.CreateShl(word, number(8)),
              *second = upper ? word : b.CreateShl(word, number(16)),
              *bits = b.CreateOr(b.CreateAnd(first, number(0xff00)),
                                 b.CreateAnd(second, number(0xff000000)));
  auto *halves = llvm::FixedVectorType::get(b.getHalfTy(), 2);
  if (isE5M2)
    return b.CreateBitCast(bits, halves);
  // e4m3's exponent has a bias of 7 and not of 15: a product by 256, exact of the smallest numbers,
  // too. All ones are no number.
  llvm::Value *sign = b.CreateAnd(bits, number(0x80008000)),
              *magnitude = b.CreateAnd(bits, number(0x7f007f00)),
              *small = b.CreateBitCast(b.CreateLShr(magnitude, number(1)), halves),
              *factor = llvm::ConstantVector::getSplat(llvm::ElementCount::getFixed(2),
                                                       llvm::ConstantFP::get(b.getHalfTy(), 256)),
              *made = b.CreateBitCast(b.CreateFMul(small, factor), b.getInt32Ty()),
              *over = b.CreateAnd(b.CreateAdd(magnitude, number(0x01000100)), number(0x80008000)),
              *nans = b.CreateMul(b.CreateLShr(over, number(15)), number(0x7fff));
  return b.CreateBitCast(b.CreateOr(b.CreateOr(made, nans), sign), halves);
}

/// Gives narrowProduct's functions what the architecture has.
static void defineNarrowProducts(llvm::Module &module, const CudaArchitecture &architecture) {
  constexpr int firstWithNarrow = 89;
  const char *types[] = {"e4m3", "e5m2"};
  for (llvm::StringRef left : types)
    for (llvm::StringRef right : types) {
      llvm::Function *function = module.getFunction(narrowProduct(left, right));
      if (!function || !function->isDeclaration())
        continue;
      function->setLinkage(llvm::GlobalValue::InternalLinkage);
      function->addFnAttr(llvm::Attribute::AlwaysInline);
      llvm::IRBuilder<> b(llvm::BasicBlock::Create(module.getContext(), "", function));
      llvm::SmallVector<llvm::Value *> words;
      for (llvm::Argument &argument : function->args())
        words.push_back(&argument);
      if (architecture.number >= firstWithNarrow) {
        std::string text = ("mma.sync.aligned.m16n8k32.row.col.f32." + left + "." + right +
                            ".f32 {$0,$1,$2,$3},{$4,$5,$6,$7},{$8,$9},{$10,$11,$12,$13};")
                               .str();
        auto *multiply = llvm::InlineAsm::get(function->getFunctionType(), text,
                                              "=f,=f,=f,=f,r,r,r,r,r,r,f,f,f,f",
                                              /*hasSideEffects=*/true);
        llvm::CallInst *call = b.CreateCall(multiply, words);
        call->setConvergent();
        b.CreateRet(call);
        continue;
      }
      // Which places of the depth meet is one order for both operands: bytes 0 and 1 of a word are
      // a word of halves, 2 and 3 the one that lies eight further.
      llvm::SmallVector<llvm::Value *> sums(words.begin() + 6, words.end());
      llvm::CallInst *call = nullptr;
      for (size_t half : {0, 1}) {
        llvm::SmallVector<llvm::Value *> operands;
        for (bool upper : {false, true})
          for (size_t row : {0, 1})
            operands.push_back(halvesOf(b, words[2 * half + row], upper, left == "e5m2"));
        for (bool upper : {false, true})
          operands.push_back(halvesOf(b, words[4 + half], upper, right == "e5m2"));
        operands.append(sums);
        call = b.CreateIntrinsic(llvm::Intrinsic::nvvm_mma_m16n8k16_row_col_f32_f32, {}, operands);
        call->setConvergent();
        for (unsigned i = 0; i < 4; ++i)
          sums[i] = b.CreateExtractValue(call, i);
      }
      b.CreateRet(call);
    }
}

/// Lets kernels begin while the one before is still at work, and wait for it before they
/// touch memory. That others may begin is said first: they wait, too, so that all before has
/// ended when one goes on. A block of its own: nothing is moved across.
static void waitForKernelsBefore(llvm::Module &module) {
  llvm::LLVMContext &context = module.getContext();
  auto *type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), false);
  auto *marker =
      llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, WEIR_CUDA_WAITS, module);
  marker->setCallingConv(llvm::CallingConv::PTX_Kernel);
  llvm::IRBuilder<>(llvm::BasicBlock::Create(context, "", marker)).CreateRetVoid();
  auto *wait = llvm::InlineAsm::get(type, "griddepcontrol.launch_dependents;\ngriddepcontrol.wait;",
                                    "~{memory}", /*hasSideEffects=*/true);
  for (llvm::Function &function : module) {
    if (function.getCallingConv() != llvm::CallingConv::PTX_Kernel || function.isDeclaration())
      continue;
    llvm::BasicBlock &body = function.getEntryBlock();
    llvm::BasicBlock *first = llvm::BasicBlock::Create(context, "", &function, &body);
    llvm::IRBuilder<> b(first);
    b.CreateCall(wait)->setConvergent();
    // Memory of the thread's own stays in the first block.
    while (auto *local = llvm::dyn_cast<llvm::AllocaInst>(&body.front()))
      local->moveBefore(*first, first->begin());
    b.SetInsertPoint(first);
    b.CreateBr(&body);
  }
}

/// Products of unlike integers by groups of warps, and of 8-bit floats by a warp, came with a later
/// version of PTX than all else that is written: code that has them says so. Drivers read the
/// machine code that do not know that version.
static std::string withItsVersion(std::string text) {
  constexpr llvm::StringLiteral usual = ".version 8.0", later = ".version 8.4";
  llvm::StringRef rest = text;
  for (size_t at; (at = rest.find("mma")) != llvm::StringRef::npos;) {
    rest = rest.drop_front(at);
    llvm::StringRef instruction = rest.take_until([](char c) { return c == ' '; });
    rest = rest.drop_front(1);
    bool isWide = instruction.starts_with("mma_async") &&
                  (instruction.ends_with(".u8.s8") || instruction.ends_with(".s8.u8"));
    bool isNarrow = instruction.starts_with("mma.sync") &&
                    (instruction.contains(".e4m3") || instruction.contains(".e5m2"));
    if (!isWide && !isNarrow)
      continue;
    if (size_t version = text.find(usual); version != std::string::npos)
      text.replace(version, usual.size(), later.data(), later.size());
    break;
  }
  return text;
}

llvm::Expected<std::string> weir::toPtx(const llvm::Module &module,
                                        const CudaArchitecture &architecture, int optLevel,
                                        llvm::ArrayRef<std::string> specific) {
  auto machine = machineFor(architecture, optLevel);
  if (!machine)
    return machine.takeError();
  std::unique_ptr<llvm::Module> copy = llvm::CloneModule(module);
  copy->setDataLayout((*machine)->createDataLayout());
  if (!architecture.isSpecific)
    for (const std::string &name : specific)
      copy->getFunction(name)->eraseFromParent();
  defineNarrowProducts(*copy, architecture);
  optimize(*copy, **machine, optLevel <= 0 ? 0 : 3, /*sanitizeAddress=*/false);
  constexpr int firstWithWait = 90;
  if (architecture.number >= firstWithWait)
    waitForKernelsBefore(*copy);
  for (const llvm::Function &function : *copy)
    if (function.isDeclaration() && !function.isIntrinsic() && !function.use_empty())
      return llvm::createStringError("no GPU function is called " + function.getName());
  llvm::SmallString<0> text;
  if (llvm::Error error =
          generateMachineCode(*copy, **machine, llvm::CodeGenFileType::AssemblyFile, text))
    return std::move(error);
  return withItsVersion(text.str().str());
}

//===----------------------------------------------------------------------===//
// ptxas, fatbinary
//===----------------------------------------------------------------------===//

namespace {
/// A folder that goes with this object.
struct Scratch {
  llvm::SmallString<128> path;
  ~Scratch() {
    if (!path.empty())
      fs::remove_directories(path);
  }
  std::string operator/(const llvm::Twine &name) const { return (path + "/" + name).str(); }
};
} // namespace

static std::string contents(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  return buffer ? (*buffer)->getBuffer().str() : "";
}

static llvm::Error write(const std::string &path, llvm::StringRef text) {
  std::error_code code;
  llvm::raw_fd_ostream file(path, code);
  if (!code) {
    file << text;
    file.close();
    code = file.error();
    file.clear_error();
  }
  if (code)
    return llvm::createStringError(path + ": " + code.message());
  return llvm::Error::success();
}

/// Runs a program, its output in `log`. Returns what went wrong, or "".
static std::string run(const std::string &program, const std::vector<std::string> &arguments,
                       const std::string &log) {
  std::vector<llvm::StringRef> views(arguments.begin(), arguments.end());
  std::optional<llvm::StringRef> redirects[] = {llvm::StringRef(""), llvm::StringRef(log),
                                                llvm::StringRef(log)};
  std::string error;
  if (llvm::sys::ExecuteAndWait(program, views, std::nullopt, redirects, 0, 0, &error) == 0)
    return "";
  if (!error.empty())
    return error;
  std::string said = llvm::StringRef(contents(log)).trim().split('\n').first.str();
  return said.empty() ? "without saying why" : said;
}

static llvm::Expected<std::string> needProgram(llvm::StringRef name) {
  std::string path = findToolkitProgram(name);
  if (!path.empty())
    return path;
  return llvm::createStringError(
      "W0621: found no " + name +
      " of the CUDA toolkit; possible: CUDA_HOME=DIR, a folder of the path, or "
      "the toolkit in /usr/local/cuda");
}

llvm::Expected<std::string> weir::assemble(const std::vector<CudaArchitecture> &architectures,
                                           const std::vector<std::string> &ptx, std::string &report,
                                           std::vector<std::string> *cubins) {
  auto assembler = needProgram("ptxas"), binder = needProgram("fatbinary");
  if (!assembler) {
    llvm::consumeError(binder.takeError());
    return assembler.takeError();
  }
  if (!binder)
    return binder.takeError();
  Scratch scratch;
  if (std::error_code code = fs::createUniqueDirectory("weir-cuda", scratch.path))
    return llvm::createStringError("no folder for temporary files: " + code.message());
  // All at once: each is a process of its own.
  std::vector<llvm::sys::ProcessInfo> running;
  for (auto [i, architecture] : llvm::enumerate(architectures)) {
    std::string base = scratch / architecture.name();
    if (llvm::Error error = write(base + ".ptx", ptx[i]))
      return error;
    std::string log = base + ".log", name = "-arch=" + architecture.name(), in = base + ".ptx",
                out = base + ".cubin";
    std::optional<llvm::StringRef> redirects[] = {llvm::StringRef(""), llvm::StringRef(log),
                                                  llvm::StringRef(log)};
    running.push_back(llvm::sys::ExecuteNoWait(
        *assembler, {*assembler, name, "-O3", "-v", in, "-o", out}, std::nullopt, redirects));
  }
  std::string failure;
  for (auto [i, architecture] : llvm::enumerate(architectures)) {
    llvm::sys::ProcessInfo done = llvm::sys::Wait(running[i], std::nullopt);
    std::string log = contents(scratch / architecture.name() + ".log");
    report += "# " + architecture.name() + "\n" + log;
    if (done.ReturnCode != 0 && failure.empty())
      failure = "W0622: ptxas refuses the code for " + architecture.name() + ": " +
                llvm::StringRef(log).trim().split('\n').first.str();
  }
  if (!failure.empty())
    return llvm::createStringError(failure);
  if (cubins)
    for (const CudaArchitecture &each : architectures)
      cubins->push_back(contents(scratch / each.name() + ".cubin"));
  // Relative names: they are part of the image's bytes.
  std::string image = scratch / "image";
  std::vector<std::string> arguments = {*binder, "-64", "--create=" + image, "--compress=false"};
  for (const CudaArchitecture &each : architectures)
    arguments.push_back("--image3=kind=elf,sm=" + each.suffix() + ",file=" + scratch / each.name() +
                        ".cubin");
  // The last for newer GPUs, the first for drivers that do not read the machine code. Specific
  // code is no newer GPU's: the one before it is.
  llvm::SetVector<const CudaArchitecture *> asPtx;
  asPtx.insert(&architectures.back());
  for (const CudaArchitecture &each : llvm::reverse(architectures))
    if (!each.isSpecific) {
      asPtx.insert(&each);
      break;
    }
  asPtx.insert(&architectures.front());
  for (const CudaArchitecture *each : asPtx)
    arguments.push_back("--image3=kind=ptx,sm=" + each->suffix() +
                        ",file=" + scratch / each->name() + ".ptx");
  std::string log = scratch / "log";
  if (std::string error = run(*binder, arguments, log); !error.empty())
    return llvm::createStringError("W0622: fatbinary fails: " + error);
  std::string bytes = contents(image);
  if (bytes.empty())
    return llvm::createStringError("W0622: fatbinary left no image");
  return bytes;
}

/// What a program of the toolkit says of an image or its part; "" where either fails.
static std::string textOf(llvm::StringRef image, const std::string &program, const char *flag) {
  Scratch scratch;
  if (program.empty() || fs::createUniqueDirectory("weir-cuda", scratch.path))
    return "";
  std::string file = scratch / "image", log = scratch / "log";
  if (llvm::Error error = write(file, image)) {
    llvm::consumeError(std::move(error));
    return "";
  }
  return run(program, {program, flag, file}, log).empty() ? contents(log) : "";
}

std::string weir::disassemble(llvm::StringRef image) {
  return textOf(image, findToolkitProgram("cuobjdump"), "-sass");
}

std::string weir::disassembleCubin(llvm::StringRef cubin) {
  std::string text = disassemble(cubin);
  return text.empty() ? textOf(cubin, findToolkitProgram("nvdisasm"), "-c") : text;
}
