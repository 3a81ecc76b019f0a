//===- Descriptors.cpp - read-only data that describes a program ----------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/emit/Descriptors.h"
#include "compiler/emit/ApiFunctions.h"
#include "compiler/emit/OfferedEntries.h"
#include "compiler/emit/PeakMoment.h"

#include "weir/abi.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/IRBuilder.h"
#include <cstddef>

using namespace weir;

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

/// Of C and C++, and macros that compilers define, one space apart.
static llvm::StringSet<> keywordsOfC() {
  static constexpr llvm::StringRef text =
      "alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t "
      "char32_t char8_t class co_await co_return co_yield compl concept const const_cast "
      "consteval constexpr constinit continue decltype default delete do double dynamic_cast "
      "else enum explicit export extern false float for friend goto if inline int long mutable "
      "namespace new noexcept not not_eq nullptr operator or or_eq private protected public "
      "register reinterpret_cast requires restrict return short signed sizeof static "
      "static_assert static_cast struct switch template this thread_local throw true try "
      "typedef typeid typename typeof union unsigned using virtual void volatile wchar_t while "
      "xor xor_eq main linux unix";
  llvm::SmallVector<llvm::StringRef> words;
  text.split(words, ' ');
  llvm::StringSet<> keywords;
  for (llvm::StringRef word : words)
    keywords.insert(word);
  return keywords;
}

std::string weir::cIdentifier(llvm::StringRef text) {
  static const llvm::StringSet<> keywords = keywordsOfC();
  std::string name;
  for (char c : text)
    name += llvm::isAlnum(c) ? c : '_';
  if (name.empty() || llvm::isDigit(name[0]))
    name.insert(name.begin(), '_');
  if (keywords.contains(name))
    name += '_';
  return name;
}

llvm::StringRef weir::blobSectionName(int64_t blobBytes) {
  return blobBytes >= (int64_t(1) << 30) ? ".lrodata.weir" : ".rodata.weir";
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

namespace {

/// Builds read-only globals. Structures are given field by field in the order
/// of weir/abi.h; their sizes are checked against the compiler's own.
class DescriptorBuilder {
public:
  DescriptorBuilder(const Program &program, const DescriptorOptions &options, llvm::Module &module)
      : program(program), options(options), module(module), context(module.getContext()),
        pointerType(llvm::PointerType::getUnqual(context)) {}

  llvm::Error build();

private:
  using Constants = llvm::SmallVector<llvm::Constant *>;

  llvm::Constant *i32(int64_t value) {
    return llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), value,
                                  /*IsSigned=*/true, /*ImplicitTrunc=*/true);
  }
  llvm::Constant *i64(uint64_t value) {
    return llvm::ConstantInt::get(llvm::Type::getInt64Ty(context), value);
  }
  llvm::Constant *null() { return llvm::ConstantPointerNull::get(pointerType); }

  llvm::GlobalVariable *global(llvm::Constant *value, llvm::StringRef name) {
    auto *variable = new llvm::GlobalVariable(module, value->getType(), /*isConstant=*/true,
                                              llvm::GlobalValue::PrivateLinkage, value, name);
    exclude(variable);
    return variable;
  }
  /// The sanitizer would put red zones into arrays that the runtime indexes.
  static void exclude(llvm::GlobalVariable *variable) {
    llvm::GlobalValue::SanitizerMetadata metadata;
    metadata.NoAddress = true;
    variable->setSanitizerMetadata(metadata);
  }

  llvm::Constant *string(llvm::StringRef text) {
    llvm::GlobalVariable *&entry = strings[text];
    if (!entry) {
      entry = global(llvm::ConstantDataArray::getString(context, text), "weir.string");
      entry->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
      entry->setAlignment(llvm::Align(1));
    }
    return entry;
  }

  template <typename C> llvm::Constant *structure(Constants fields) {
    auto *value = llvm::ConstantStruct::getAnon(context, fields);
    assert(module.getDataLayout().getTypeAllocSize(value->getType()) == sizeof(C) &&
           "the fields are those of the C structure");
    return value;
  }
  llvm::Constant *array(const Constants &values, llvm::StringRef name) {
    if (values.empty())
      return null();
    auto *type = llvm::ArrayType::get(values[0]->getType(), values.size());
    return global(llvm::ConstantArray::get(type, values), name);
  }
  llvm::Constant *int64Array(llvm::ArrayRef<int64_t> values) {
    if (values.empty())
      return null();
    return global(llvm::ConstantDataArray::get(context, values), "weir.dims");
  }

  llvm::Constant *tensors(llvm::ArrayRef<TensorInfo> list, llvm::StringMap<int> &symbols);
  llvm::Expected<llvm::Constant *> entries();
  llvm::Constant *slots();
  llvm::Constant *collectives();
  llvm::Constant *sites();
  llvm::Constant *kernels();
  llvm::Constant *launches();
  llvm::Constant *customs();
  llvm::Constant *accelerators();
  /// An array of them; null: there are none.
  llvm::Constant *records(llvm::ArrayRef<AcceleratorInfo::Record> list);
  llvm::Constant *blobs();
  llvm::Constant *variants();
  /// For other units of the object, and nobody else.
  static void share(llvm::GlobalVariable *variable) {
    variable->setLinkage(llvm::GlobalValue::ExternalLinkage);
    variable->setVisibility(llvm::GlobalValue::HiddenVisibility);
    variable->setDSOLocal(true);
  }
  llvm::GlobalVariable *declare(llvm::StringRef name, llvm::Type *type) {
    auto *variable = new llvm::GlobalVariable(module, type, /*isConstant=*/true,
                                              llvm::GlobalValue::ExternalLinkage,
                                              /*Initializer=*/nullptr, name);
    share(variable);
    return variable;
  }

  const Program &program;
  const DescriptorOptions &options;
  llvm::Module &module;
  llvm::LLVMContext &context;
  llvm::PointerType *pointerType;
  llvm::StringMap<llvm::GlobalVariable *> strings;
};

} // namespace

llvm::Constant *DescriptorBuilder::tensors(llvm::ArrayRef<TensorInfo> list,
                                           llvm::StringMap<int> &symbols) {
  Constants values;
  for (const TensorInfo &tensor : list) {
    Constants numbers;
    for (const std::string &symbol : tensor.symbols) {
      int number = -1;
      if (!symbol.empty())
        number = symbols.try_emplace(symbol, symbols.size()).first->second;
      numbers.push_back(i32(number));
    }
    values.push_back(structure<weir_tensor_desc>(
        {string(tensor.name), i32(tensor.dtype),
         i32(tensor.ranked ? int64_t(tensor.dims.size()) : -1), int64Array(tensor.dims),
         int64Array(tensor.lower), int64Array(tensor.upper), array(numbers, "weir.symbols")}));
  }
  return array(values, "weir.tensors");
}

llvm::Expected<llvm::Constant *> DescriptorBuilder::entries() {
  Constants values;
  for (const EntryInfo &entry : program.entries) {
    Constants steps;
    for (const std::string &name : entry.steps) {
      if (name.empty()) {
        steps.push_back(null());
        continue;
      }
      llvm::Function *step = module.getFunction(name);
      if (!step || step->isDeclaration())
        return llvm::createStringError("entry \"" + entry.name + "\" has no code for its step " +
                                       name);
      steps.push_back(step);
    }
    if (steps.size() != program.devices.size())
      return llvm::createStringError("entry \"" + entry.name +
                                     "\" does not have one step a device");
    llvm::StringMap<int> symbols; // numbered within the entry
    llvm::Constant *feeds = tensors(entry.feeds, symbols);
    llvm::Constant *fetches = tensors(entry.fetches, symbols);
    values.push_back(structure<weir_entry_desc>(
        {string(entry.name), i32(entry.feeds.size()), i32(entry.fetches.size()), feeds, fetches,
         array(steps, "weir.steps"), i64(program.edges.size())}));
  }
  return array(values, "weir.entries");
}

llvm::Constant *DescriptorBuilder::slots() {
  Constants values;
  for (const SlotInfo &slot : program.slots) {
    const BlobInfo *initial = slot.initial >= 0 ? &program.blobs[slot.initial] : nullptr;
    values.push_back(structure<weir_slot_desc>(
        {string(slot.name), string(slot.container), string(slot.sharedName), i32(slot.kind),
         i32(slot.dtype), i32(slot.ranked ? int64_t(slot.dims.size()) : -1),
         i32((slot.isCopy ? WEIR_SLOT_COPY : 0) |
             (slot.shardAxis >= 0 ? WEIR_SLOT_PART | slot.shardAxis << WEIR_SLOT_AXIS_SHIFT : 0) |
             (slot.device + 1) << WEIR_SLOT_DEVICE_SHIFT),
         int64Array(slot.dims),
         i64(initial             ? initial->offset
             : slot.startsAtZero ? WEIR_INITIAL_ZEROS
                                 : -1),
         i64(initial ? initial->bytes : 0)}));
  }
  return array(values, "weir.slots");
}

llvm::Constant *DescriptorBuilder::collectives() {
  Constants values;
  for (const CollectiveInfo &info : program.collectives) {
    Constants ranks;
    for (const CollectiveInfo::Rank &rank : info.ranks)
      ranks.push_back(
          structure<weir_collective_rank>({i32(rank.device), i32(rank.input), i32(rank.output),
                                           i32(rank.ring), i32(rank.up), i32(rank.down)}));
    auto entry = llvm::find_if(
        program.entries, [&](const EntryInfo &candidate) { return candidate.name == info.entry; });
    values.push_back(structure<weir_collective_desc>(
        {string(info.node), i32(entry - program.entries.begin()), i32(info.kind),
         i32(info.reduction), i32(info.ranks.size()), array(ranks, "weir.collective_ranks")}));
  }
  return array(values, "weir.collectives");
}

llvm::Constant *DescriptorBuilder::sites() {
  Constants values;
  for (const SiteInfo &site : program.sites)
    values.push_back(structure<weir_error_site>(
        {string(site.node), string(site.operation), string(site.message), i32(site.code), i32(0)}));
  return array(values, "weir.sites");
}

llvm::Constant *DescriptorBuilder::kernels() {
  Constants values;
  for (const KernelInfo &kernel : program.kernels)
    values.push_back(structure<weir_kernel_desc>(
        {string(kernel.name), string(kernel.nodes), i64(kernel.flops), i64(kernel.bytes)}));
  return array(values, "weir.kernels");
}

llvm::Constant *DescriptorBuilder::launches() {
  Constants values;
  for (const KernelInfo &kernel : program.kernels) {
    Constants results;
    for (const KernelInfo::Result &result : kernel.results) {
      Constants sizes;
      for (int size : result.sizes)
        sizes.push_back(i32(size));
      results.push_back(structure<weir_result_desc>(
          {string(result.node), i32(result.dtype), i32(result.dims.size()), int64Array(result.dims),
           array(sizes, "weir.sizes"), i64(result.elementBytes)}));
    }
    values.push_back(structure<weir_launch_desc>(
        {i32(kernel.operands), i32(results.size()), array(results, "weir.results")}));
  }
  return array(values, "weir.launches");
}

llvm::Constant *DescriptorBuilder::customs() {
  Constants values;
  for (const CustomInfo &custom : program.customs) {
    llvm::Constant *fallback = null();
    if (!custom.fallback.empty()) {
      llvm::SmallVector<llvm::Type *> types = {pointerType,
                                               pointerType,
                                               llvm::Type::getInt32Ty(context),
                                               pointerType,
                                               llvm::Type::getInt32Ty(context),
                                               pointerType};
      fallback = llvm::cast<llvm::Constant>(
          module
              .getOrInsertFunction(custom.fallback,
                                   llvm::FunctionType::get(llvm::Type::getInt32Ty(context), types,
                                                           /*isVarArg=*/false))
              .getCallee());
    }
    values.push_back(
        structure<weir_custom_desc>({string(custom.name), string(custom.nodes), fallback}));
  }
  return array(values, "weir.customs");
}

llvm::Constant *DescriptorBuilder::records(llvm::ArrayRef<AcceleratorInfo::Record> list) {
  Constants values;
  for (const AcceleratorInfo::Record &record : list) {
    Constants fields = {llvm::ConstantDataArray::get(context, llvm::ArrayRef(record.words))};
    for (const auto &pointer : record.pointers) {
      if (auto *text = std::get_if<std::string>(&pointer)) {
        fields.push_back(text->empty() ? null() : string(*text));
        continue;
      }
      if (auto *inner = std::get_if<std::vector<AcceleratorInfo::Record>>(&pointer)) {
        fields.push_back(records(*inner));
        fields.push_back(i64(inner->size()));
        continue;
      }
      Constants strings;
      for (const std::string &text : std::get<std::vector<std::string>>(pointer))
        strings.push_back(string(text));
      fields.push_back(array(strings, "weir.strings"));
      fields.push_back(i64(int64_t(strings.size())));
    }
    values.push_back(llvm::ConstantStruct::getAnon(context, fields));
  }
  return array(values, "weir.records");
}

llvm::Constant *DescriptorBuilder::accelerators() {
  Constants values;
  for (const AcceleratorInfo &info : program.accelerators) {
    Constants steps, names, segments, direct, slots;
    for (size_t i = 0; i < program.entries.size(); ++i) {
      llvm::Function *step = i < info.steps.size() && !info.steps[i].empty()
                                 ? module.getFunction(info.steps[i])
                                 : nullptr;
      steps.push_back(step ? static_cast<llvm::Constant *>(step) : null());
    }
    for (const std::string &name : info.kernels)
      names.push_back(name.empty() ? null() : string(name));
    for (const AcceleratorInfo::Segment &segment : info.segments)
      segments.push_back(structure<weir_blob_segment>(
          {i64(segment.source), i64(segment.bytes), i64(segment.target)}));
    for (const AcceleratorInfo::Direct &each : info.direct) {
      auto entry = llvm::find_if(program.entries, [&](const EntryInfo &candidate) {
        return candidate.name == each.entry;
      });
      direct.push_back(
          structure<weir_direct_edge>({i32(entry - program.entries.begin()), i32(each.index),
                                       i32(each.edge), i32(each.isFetch)}));
    }
    for (int slot : info.slots)
      slots.push_back(i32(slot));
    llvm::GlobalVariable *image = global(llvm::ConstantDataArray::getString(context, info.image,
                                                                            /*AddNull=*/false),
                                         "weir.image");
    image->setAlignment(llvm::Align(64));
    auto *driver = module.getOrInsertGlobal(info.driver, llvm::Type::getInt8Ty(context));
    values.push_back(structure<weir_accelerator_desc>(
        {i32(sizeof(weir_accelerator_desc)), i32(info.device), driver, image,
         i64(info.image.size()), array(steps, "weir.device_steps"),
         array(names, "weir.device_kernels"), array(segments, "weir.segments"),
         i64(info.segments.size()), i64(info.segmentBytes), array(direct, "weir.direct"),
         i64(info.direct.size()), array(slots, "weir.device_slots"), i64(info.slots.size()),
         info.record.words.empty() ? null() : records(info.record)}));
  }
  return array(values, "weir.accelerators");
}

llvm::Constant *DescriptorBuilder::blobs() {
  if (program.blobBytes == 0 || !options.weightsFile.empty())
    return null();
  // One byte that no optimisation may believe in, in a section of its own.
  auto *type = llvm::ArrayType::get(llvm::Type::getInt8Ty(context), 1);
  if (!options.symbol.empty())
    return declare("weir.blobs", type);
  auto *variable = new llvm::GlobalVariable(module, type, /*isConstant=*/true,
                                            llvm::GlobalValue::InternalLinkage,
                                            llvm::ConstantAggregateZero::get(type), "weir.blobs");
  variable->setExternallyInitialized(true);
  variable->setSection(blobSectionName(program.blobBytes));
  variable->setAlignment(llvm::Align(64));
  if (blobSectionName(program.blobBytes).starts_with(".l") && module.getTargetTriple().isX86())
    variable->setCodeModel(llvm::CodeModel::Large);
  exclude(variable);
  return variable;
}

llvm::Constant *DescriptorBuilder::variants() {
  Constants values;
  for (const std::string &symbol : options.variants)
    values.push_back(declare(symbol, llvm::Type::getInt8Ty(context)));
  return array(values, "weir.variants");
}

llvm::Error DescriptorBuilder::build() {
  Constants devices, arenaTags, edges;
  for (const DeviceInfo &device : program.devices) {
    arenaTags.push_back(string(arenaTag(program.buffers, int(devices.size()))));
    devices.push_back(structure<weir_device_desc>(
        {string(device.name), i64(device.arenaBytes), i64(device.arenaAlign)}));
  }
  for (const EdgeInfo &edge : program.edges)
    edges.push_back(
        structure<weir_edge_desc>({string(edge.name), i32(edge.source), i32(edge.destination)}));
  std::vector<int64_t> entryArenas;
  Constants overFeed;
  for (const EntryInfo &entry : program.entries) {
    entryArenas.insert(entryArenas.end(), entry.arenas.begin(), entry.arenas.end());
    overFeed.push_back(int64Array(entry.overFeed));
  }
  bool isAnyOver =
      llvm::any_of(program.entries, [](auto &entry) { return !entry.overFeed.empty(); });
  llvm::Expected<llvm::Constant *> entryArray = entries();
  if (!entryArray)
    return entryArray.takeError();

  auto *hash = llvm::ConstantDataArray::get(context, llvm::ArrayRef<uint64_t>(program.hash, 2));
  llvm::Constant *value = structure<weir_program_desc>(
      {i32(sizeof(weir_program_desc)),
       i32(WEIR_ABI_VERSION),
       string(program.name),
       string(options.compiler),
       hash,
       i64(program.requiredCpuFeatures),
       i32(program.defaultThreads),
       i32(program.devices.size()),
       i32(offeredEntries(program).size()),
       i32(program.slots.size()),
       i32(program.sites.size()),
       i32(program.kernels.size()),
       i32(program.edges.size()),
       i32(program.entries.size() - offeredEntries(program).size()),
       array(devices, "weir.devices"),
       *entryArray,
       slots(),
       sites(),
       kernels(),
       array(edges, "weir.edges"),
       blobs(),
       i64(program.blobBytes),
       options.weightsFile.empty() ? null() : string(options.weightsFile),
       customs(),
       i64(program.customs.size()),
       accelerators(),
       i64(program.accelerators.size()),
       options.cpu.empty() ? null() : string(options.cpu),
       variants(),
       i64(options.variants.size()),
       array(arenaTags, "weir.arenas"),
       collectives(),
       i64(program.collectives.size()),
       program.collectives.empty()
           ? null()
           : module.getOrInsertGlobal("weir_collectives", llvm::Type::getInt8Ty(context)),
       i32(program.stateDevice + 1),
       i32(program.frozenVariables),
       launches(),
       int64Array(entryArenas),
       isAnyOver ? array(overFeed, "weir.over_feed") : null()});
  llvm::GlobalVariable *descriptor =
      global(value, options.symbol.empty() ? "weir.program" : options.symbol);

  // Kernels and steps keep their names for profilers, but only as local
  // symbols.
  for (llvm::GlobalValue &symbol : module.global_values())
    if (!symbol.isDeclaration() && !symbol.hasLocalLinkage() &&
        !symbol.getName().starts_with("llvm."))
      symbol.setLinkage(llvm::GlobalValue::InternalLinkage);
  if (!options.symbol.empty()) {
    share(descriptor);
    return llvm::Error::success();
  }
  llvm::GlobalVariable *constants = module.getNamedGlobal("weir.blobs");
  if (constants && !options.variants.empty())
    share(constants);
  emitApiFunctions(program, options.plugin, descriptor, module);
  return llvm::Error::success();
}

llvm::Error weir::emitDescriptors(const Program &program, const DescriptorOptions &options,
                                  llvm::Module &module) {
  return DescriptorBuilder(program, options, module).build();
}
