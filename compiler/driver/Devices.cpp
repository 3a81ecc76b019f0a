//===- Devices.cpp - files of devices, placements and profiles ------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/Devices.h"

#include "compiler/driver/DeviceKinds.h"
#include "compiler/driver/Messages.h"
#include "dialects/weir/Training.h"
#include "passes/analysis/DeviceTraits.h"

#include "mlir/IR/Builders.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <map>

using namespace mlir;
using namespace weir;
using namespace weir::driver;

namespace json = llvm::json;

namespace {

/// Devices a cluster may have; a run has an arena and an allocator for each.
constexpr size_t mostDevices = 256;

class Reader {
public:
  Reader(const Options &options, DiagnosticSink &sink, ModuleOp module)
      : options(options), sink(sink), module(module), b(module.getContext()) {}

  bool run() {
    if (!options.devicesFile.empty())
      readCluster();
    else if (!options.deviceNames.empty())
      nameCluster();
    else if (llvm::any_of(acceleratorBackends(),
                          [&](auto *backend) { return !targetsFor(*backend, options).empty(); }))
      usualCluster();
    if (!options.placementFile.empty())
      readLocks(options.placementFile);
    if (!options.profileFile.empty())
      readProfile(options.profileFile);
    if (!options.shardedProducts.empty()) {
      const TrainingOptions &training = options.training;
      bool trains = !training.loss.empty();
      shareProducts(module, options.shardedProducts,
                    trains ? int64_t(training.replicas) * training.stages : 1);
    }
    return good;
  }

private:
  void refuse(const std::string &file, const llvm::Twine &message) {
    driver::report(sink, "W0604", file, message);
    good = false;
  }

  std::optional<json::Value> parse(const std::string &file) {
    auto buffer = llvm::MemoryBuffer::getFile(file);
    if (!buffer) {
      refuse(file, "cannot be read: " + buffer.getError().message());
      return std::nullopt;
    }
    auto value = json::parse((*buffer)->getBuffer());
    if (!value) {
      refuse(file, "is no JSON: " + llvm::toString(value.takeError()));
      return std::nullopt;
    }
    if (!value->getAsObject()) {
      refuse(file, "found no object at the top");
      return std::nullopt;
    }
    return std::move(*value);
  }

  /// Whether all keys are known; a slip of the pen must not be silent.
  bool checkKeys(const std::string &file, const json::Object &object,
                 llvm::ArrayRef<llvm::StringRef> known, llvm::StringRef what) {
    for (auto &[key, value] : object) {
      if (llvm::is_contained(known, llvm::StringRef(key)))
        continue;
      std::string possible = llvm::join(known, ", ");
      refuse(file,
             "found \"" + llvm::StringRef(key).str() + "\" of " + what + "; possible: " + possible);
      return false;
    }
    return true;
  }

  /// A number greater than `above`; nothing where there is none.
  std::optional<double> number(const std::string &file, const json::Object &object,
                               llvm::StringRef key, llvm::StringRef what, bool zero) {
    const json::Value *value = object.get(key);
    if (!value)
      return std::nullopt;
    std::optional<double> found = value->getAsNumber();
    if (found && (*found > 0 || (zero && *found == 0)) && *found < 1e300)
      return found;
    refuse(file, "found " + key + " of " + what + "; possible: a number " +
                     (zero ? "from 0 on" : "above 0"));
    return std::nullopt;
  }

  static DeviceName complete(const DeviceName &name) {
    return name.completedBy(DeviceName::cpu(0));
  }

  bool addDevice(const std::string &file, llvm::StringRef text, NamedAttrList attributes) {
    std::optional<DeviceName> name = DeviceName::parse(text);
    if (!name) {
      refuse(file, "found device \"" + text +
                       "\"; possible: "
                       "/job:localhost/replica:0/task:0/device:CPU:0");
      return false;
    }
    DeviceName whole = complete(*name);
    bool possible = *whole.type == "CPU";
    std::string types = "CPU devices";
    for (const DeviceBackend *backend : acceleratorBackends()) {
      possible |= backend->type() == *whole.type && !targetsFor(*backend, options).empty();
      types += (", and with " + backend->flag() + " " + backend->type() + " devices").str();
    }
    if (!possible) {
      refuse(file, "found device \"" + text + "\"; possible: " + types);
      return false;
    }
    hasHost |= *whole.type == "CPU";
    for (const DeviceName &other : names)
      if (other.str() == whole.str()) {
        refuse(file, "found device " + whole.str() + " twice");
        return false;
      }
    if (names.size() == mostDevices) {
      refuse(file, "found more than " + llvm::Twine(mostDevices) + " devices");
      return false;
    }
    names.push_back(whole);
    attributes.set("name", b.getStringAttr(whole.str()));
    devices.push_back(attributes.getDictionary(b.getContext()));
    return true;
  }

  void setCluster() {
    module->setAttr("weir.cluster",
                    b.getDictionaryAttr({b.getNamedAttr("devices", b.getArrayAttr(devices)),
                                         b.getNamedAttr("links", b.getArrayAttr(links))}));
  }

  void nameCluster() {
    for (const std::string &name : options.deviceNames)
      if (!addDevice(options.input, name, {}))
        return;
    if (!hasHost)
      return refuse(options.input, "found no CPU; possible: one that feeds the "
                                   "others");
    setCluster();
  }

  /// One host with one device of each kind that code is asked for.
  void usualCluster() {
    auto real = [&](double value) { return b.getF64FloatAttr(value); };
    if (!addDevice(options.input, "/device:CPU:0", {}))
      return;
    for (const DeviceBackend *backend : acceleratorBackends()) {
      if (targetsFor(*backend, options).empty())
        continue;
      DeviceBackend::Usual usual = backend->usual();
      NamedAttrList device;
      device.set("flops", real(usual.flops));
      device.set("bandwidth", real(usual.bandwidth));
      device.set("overhead", real(usual.overhead));
      auto number = int64_t(devices.size());
      if (!addDevice(options.input, ("/device:" + backend->type() + ":0").str(), device))
        return;
      for (auto [source, destination] : {std::pair<int64_t, int64_t>(0, number), {number, 0}}) {
        NamedAttrList link;
        link.set("source", b.getI64IntegerAttr(source));
        link.set("destination", b.getI64IntegerAttr(destination));
        link.set("bandwidth", real(usual.linkBandwidth));
        link.set("latency", real(usual.linkLatency));
        links.push_back(link.getDictionary(b.getContext()));
      }
    }
    setCluster();
  }

  void readCluster() {
    const std::string &file = options.devicesFile;
    std::optional<json::Value> value = parse(file);
    if (!value)
      return;
    const json::Object &root = *value->getAsObject();
    // The last two are for who runs the program.
    if (!checkKeys(file, root, {"devices", "links", "tasks", "timing"}, "the file"))
      return;
    const json::Array *list = root.getArray("devices");
    if (!list || list->empty())
      return refuse(file, "found no \"devices\"; possible: an array with one "
                          "object for each");
    for (const json::Value &entry : *list) {
      const json::Object *device = entry.getAsObject();
      std::optional<llvm::StringRef> name;
      if (device)
        name = device->getString("name");
      if (!name)
        return refuse(file, "found a device without \"name\"");
      if (!checkKeys(file, *device, {"name", "flops", "bandwidth", "memory", "overhead"},
                     ("device " + *name).str()))
        return;
      NamedAttrList attributes;
      for (llvm::StringRef key : {"flops", "bandwidth", "memory", "overhead"})
        if (auto found = number(file, *device, key, *name, key == "overhead"))
          attributes.set(key, b.getF64FloatAttr(*found));
      if (!good || !addDevice(file, *name, attributes))
        return;
    }
    if (!hasHost)
      return refuse(file, "found no CPU; possible: one that feeds the others");
    const json::Array *array = root.getArray("links");
    if (root.get("links") && !array)
      return refuse(file, "found \"links\" that are no array");
    if (array)
      for (const json::Value &entry : *array)
        if (!readLink(file, entry.getAsObject()))
          return;
    setCluster();
  }

  /// Later links replace earlier ones.
  bool readLink(const std::string &file, const json::Object *link) {
    std::optional<llvm::StringRef> from, to;
    if (link) {
      from = link->getString("from");
      to = link->getString("to");
    }
    if (!from || !to) {
      refuse(file, "found a link without \"from\" or \"to\"");
      return false;
    }
    std::string what = ("the link from " + *from + " to " + *to).str();
    if (!checkKeys(file, *link, {"from", "to", "bandwidth", "latency", "compress"}, what))
      return false;
    auto matching = [&](llvm::StringRef text) {
      llvm::SmallVector<int64_t> found;
      std::optional<DeviceName> name = text == "*" ? DeviceName() : DeviceName::parse(text);
      for (size_t d = 0; name && d < names.size(); ++d)
        if (name->matches(names[d]))
          found.push_back(int64_t(d));
      if (found.empty())
        refuse(file,
               "found \"" + text + "\" in " + what + "; possible: a device of the file, or \"*\"");
      return found;
    };
    NamedAttrList attributes;
    for (llvm::StringRef key : {"bandwidth", "latency"})
      if (auto found = number(file, *link, key, what, key == "latency"))
        attributes.set(key, b.getF64FloatAttr(*found));
    if (const json::Value *compress = link->get("compress")) {
      std::optional<bool> wanted = compress->getAsBoolean();
      if (!wanted) {
        refuse(file, "found compress of " + what + "; possible: true, false");
        return false;
      }
      attributes.set("compress", b.getBoolAttr(*wanted));
    }
    llvm::SmallVector<int64_t> sources = matching(*from), destinations = matching(*to);
    // Both ways: cables are.
    for (int64_t source : sources)
      for (int64_t destination : destinations)
        for (auto [x, y] : {std::pair(source, destination), std::pair(destination, source)}) {
          if (x == y)
            continue;
          attributes.set("source", b.getI64IntegerAttr(x));
          attributes.set("destination", b.getI64IntegerAttr(y));
          links.push_back(attributes.getDictionary(b.getContext()));
        }
    return good;
  }

  /// {"nodes": {node: device}}
  void readLocks(const std::string &file) {
    std::optional<json::Value> value = parse(file);
    if (!value)
      return;
    // What --placement-out writes.
    if (!checkKeys(file, *value->getAsObject(),
                   {"model", "makespan_us", "one_device_makespan_us", "nodes"}, "the file"))
      return;
    const json::Object *nodes = value->getAsObject()->getObject("nodes");
    if (!nodes)
      return refuse(file, "found no \"nodes\"; possible: an object of nodes "
                          "and devices");
    std::vector<NamedAttribute> entries;
    for (auto &[key, entry] : *nodes) {
      llvm::StringRef node = key;
      std::optional<llvm::StringRef> device = entry.getAsString();
      if (node.empty() || !device)
        return refuse(file, "found node \"" + node + "\" without a device's name");
      entries.push_back(b.getNamedAttr(node, b.getStringAttr(*device)));
    }
    module->setAttr("weir.locks", b.getDictionaryAttr(entries));
  }

  /// What weir-run --profile-out wrote: a kernel's time a run is shared by the
  /// nodes that it serves.
  void readProfile(const std::string &file) {
    std::optional<json::Value> value = parse(file);
    if (!value)
      return;
    const json::Object &root = *value->getAsObject();
    const json::Array *kernels = root.getArray("kernels");
    std::optional<int64_t> runs = root.getInteger("runs");
    if (!kernels || !runs || *runs < 1)
      return refuse(file, "found no \"kernels\" or \"runs\"; possible: a "
                          "file that weir-run --profile-out wrote");
    if (!checkKeys(file, root, {"version", "runs", "kernels", "timeline"}, "the file"))
      return;
    if (root.get("version") && root.getInteger("version") != 1)
      return refuse(file, "found another \"version\"; possible: 1");
    std::map<std::string, double> seconds;
    for (const json::Value &entry : *kernels) {
      const json::Object *kernel = entry.getAsObject();
      std::optional<llvm::StringRef> names;
      std::optional<double> time;
      if (kernel) {
        names = kernel->getString("nodes");
        time = kernel->getNumber("nanoseconds");
      }
      if (!names || !time || !(*time >= 0))
        return refuse(file, "found a kernel without \"nodes\" or "
                            "\"nanoseconds\"");
      if (!checkKeys(file, *kernel,
                     {"name", "nodes", "device", "calls", "nanoseconds", "flops", "bytes"},
                     "a kernel"))
        return;
      llvm::SmallVector<llvm::StringRef> nodes;
      names->split(nodes, ';', -1, /*KeepEmpty=*/false);
      for (llvm::StringRef node : nodes)
        seconds[node.str()] += *time * 1e-9 / double(*runs) / double(nodes.size());
    }
    std::vector<NamedAttribute> entries;
    for (auto &[node, time] : seconds)
      entries.push_back(b.getNamedAttr(node, b.getF64FloatAttr(time)));
    module->setAttr("weir.profile", b.getDictionaryAttr(entries));
  }

  const Options &options;
  DiagnosticSink &sink;
  ModuleOp module;
  Builder b;
  bool good = true, hasHost = false;
  std::vector<DeviceName> names;
  std::vector<Attribute> devices, links;
};

} // namespace

void driver::shareProducts(ModuleOp module, llvm::ArrayRef<std::string> products, int64_t groups) {
  Builder b(module.getContext());
  module->setAttr(shardedProductsAttr,
                  b.getStrArrayAttr(llvm::to_vector_of<llvm::StringRef>(products)));
  if (groups > 1)
    module->setAttr(shardGroupsAttr, b.getI64IntegerAttr(groups));
}

bool driver::attachDevices(const Options &options, DiagnosticSink &sink, ModuleOp module) {
  return Reader(options, sink, module).run();
}

PlacementInfo driver::takePlacement(ModuleOp module) {
  PlacementInfo info;
  auto rows = module->getAttrOfType<ArrayAttr>("weir_plan.placement");
  if (!rows)
    return info;
  auto number = [](Attribute attribute) {
    auto value = dyn_cast_or_null<FloatAttr>(attribute);
    return value ? value.getValueAsDouble() : -1;
  };
  auto text = [](DictionaryAttr row, llvm::StringRef key) {
    auto value = row.getAs<StringAttr>(key);
    return value ? value.str() : std::string();
  };
  info.makespan = number(module->getAttr("weir_plan.makespan"));
  info.oneDeviceMakespan = number(module->getAttr("weir_plan.one_device_makespan"));
  for (auto row : rows.getAsRange<DictionaryAttr>()) {
    PlacedNode node;
    node.name = text(row, "node");
    node.device = text(row, "device");
    node.seconds = number(row.get("seconds"));
    node.start = number(row.get("start"));
    node.end = number(row.get("end"));
    node.measured = row.getAs<BoolAttr>("measured").getValue();
    node.waitsFor = text(row, "waits_for");
    node.waitsForDevice = text(row, "waits_for_device");
    for (auto other : row.getAs<ArrayAttr>("others").getAsRange<DictionaryAttr>())
      node.others.emplace_back(text(other, "device"), number(other.get("seconds")));
    for (auto reason : row.getAs<ArrayAttr>("reasons").getAsRange<StringAttr>())
      node.reasons.push_back(reason.str());
    info.nodes.push_back(std::move(node));
  }
  for (llvm::StringRef name :
       {"weir_plan.placement", "weir_plan.makespan", "weir_plan.one_device_makespan"})
    module->removeAttr(name);
  return info;
}

std::string driver::placementFile(const PlacementInfo &placement, const std::string &model) {
  std::string text;
  llvm::raw_string_ostream os(text);
  json::OStream out(os, 1);
  out.object([&] {
    out.attribute("model", model);
    out.attribute("makespan_us", placement.makespan * 1e6);
    if (placement.oneDeviceMakespan >= 0)
      out.attribute("one_device_makespan_us", placement.oneDeviceMakespan * 1e6);
    out.attributeObject("nodes", [&] {
      for (const PlacedNode &node : placement.nodes)
        out.attribute(node.name, node.device);
    });
  });
  return text + "\n";
}
