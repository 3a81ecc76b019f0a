//===- Graphs.cpp - graphs of the recording driver ---------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/cuda/recorder/Recorder.h"

#include <cstring>

using namespace recorder;

/// Nodes of a graph as an executable one has them, with those of bodies.
static std::vector<CapturedNode> instantiate(Recorder &r, const GraphTag &graph) {
  std::vector<CapturedNode> nodes = graph.nodes;
  for (size_t i = 0; i < nodes.size(); ++i) {
    nodes[i].id = ++r.nodes;
    if (nodes[i].bodyGraph)
      nodes[i].body = instantiate(r, *nodes[i].bodyGraph);
    if (r.tracer)
      r.tracer->nodeCloned(nodes[i], graph.nodes[i]);
  }
  return nodes;
}

/// Conditions go with the graph that they were made for.
static void dropConditions(Recorder &r, const GraphTag &graph) {
  std::erase_if(r.conditions, [&](const auto &entry) { return entry.second.graph == &graph; });
  for (const CapturedNode &node : graph.nodes)
    if (node.bodyGraph)
      dropConditions(r, *node.bodyGraph);
}

extern "C" {

Result cuStreamBeginCapture_v2(Stream stream, int) {
  ENTER("cuStreamBeginCapture");
  NEEDS_CONTEXT()
  NOT_CAPTURED(stream)
  stream->capturing = new GraphTag();
  return 0;
}
Result cuStreamGetCaptureInfo_v2(Stream stream, int *status, uint64_t *id, Graph *graph,
                                 const GraphNode **dependencies, size_t *count) {
  ENTER("cuStreamGetCaptureInfo");
  NEEDS_CONTEXT()
  if (!stream->capturing)
    return 901;
  constexpr int active = 1;
  *status = active;
  *id = 1;
  *graph = stream->capturing;
  // What the stream waits for is the node that was made last; its number stands for it.
  stream->capturing->last = reinterpret_cast<GraphNode>(stream->capturing->nodes.size());
  *dependencies = &stream->capturing->last;
  *count = stream->capturing->nodes.empty() ? 0 : 1;
  return 0;
}
Result cuStreamEndCapture(Stream stream, Graph *graph) {
  Recorder &r = recorder::recorder();
  std::unique_lock<std::mutex> lock(r.mutex);
  NEEDS_CONTEXT()
  *graph = nullptr;
  if (!stream->capturing)
    return 901;
  if (r.fails("cuStreamEndCapture")) {
    if (!stream->capturing->isBody)
      delete stream->capturing;
    stream->capturing = nullptr;
    return 901; // CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
  }
  *graph = stream->capturing;
  stream->capturing = nullptr;
  if (!(*graph)->isBehind)
    r.problem("a capture does not go on behind a conditional node");
  if ((*graph)->isBody)
    return 0;
  ++r.graphs;
  r.sources.insert(*graph);
  ++r.captured;
  return 0;
}
Result cuGraphDestroy(Graph graph) {
  Recorder &r = recorder::recorder();
  std::unique_lock<std::mutex> lock(r.mutex);
  --r.graphs;
  r.sources.erase(graph);
  dropConditions(r, *graph);
  delete graph;
  return 0;
}
Result cuGraphInstantiateWithFlags(GraphExec *instance, Graph graph, unsigned long long) {
  ENTER("cuGraphInstantiate");
  NEEDS_CONTEXT()
  *instance = new GraphExecTag{instantiate(r, *graph), graph};
  ++r.instances;
  return 0;
}
Result cuGraphExecUpdate_v2(GraphExec instance, Graph graph, GraphUpdate *) {
  ENTER("cuGraphExecUpdate");
  NEEDS_CONTEXT()
  bool fits = instance->nodes.size() == graph->nodes.size();
  for (size_t i = 0; fits && i < graph->nodes.size(); ++i)
    fits = !std::strcmp(instance->nodes[i].what, graph->nodes[i].what) &&
           instance->nodes[i].code == graph->nodes[i].code && !graph->nodes[i].handle;
  if (!fits)
    return 910;                                    // CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE
  for (size_t i = 0; i < graph->nodes.size(); ++i) // which stay the nodes that they are
    instance->nodes[i].work = graph->nodes[i].work;
  ++r.updated;
  return 0;
}
/// A node of an executable graph that is to do something else of its kind; null: there is none.
static CapturedNode *settable(Recorder &r, GraphExec instance, GraphNode node) {
  size_t number = reinterpret_cast<size_t>(node);
  // Nodes are those of the graph that it was made of, which must be there.
  bool isThere =
      r.sources.count(instance->source) && number > 0 && number <= instance->nodes.size();
  return isThere ? &instance->nodes[number - 1] : nullptr;
}
Result cuGraphExecKernelNodeSetParams_v2(GraphExec instance, GraphNode node,
                                         const KernelNode *parameters) {
  ENTER("cuGraphExecKernelNodeSetParams");
  NEEDS_CONTEXT()
  CapturedNode *own = settable(r, instance, node);
  if (!own || own->code != parameters->function ||
      !kernelWork(parameters->function, parameters->blocks[0], parameters->threads[0],
                  parameters->shared, parameters->parameters, own->mayBegin, own->together,
                  own->work))
    return 1;
  ++r.adjusted;
  return 0;
}
Result cuGraphExecMemcpyNodeSetParams(GraphExec instance, GraphNode node, const CopyNode *copy,
                                      Context) {
  ENTER("cuGraphExecMemcpyNodeSetParams");
  NEEDS_CONTEXT()
  CapturedNode *own = settable(r, instance, node);
  if (!own || std::strcmp(own->what, "a copy") || copy->from.type != memoryTypeDevice ||
      copy->to.type != memoryTypeDevice || copy->height != 1 || copy->depth != 1)
    return 1;
  own->work = copyWork(copy->to.device, copy->from.device, copy->width);
  ++r.adjusted;
  return 0;
}
Result cuGraphExecMemsetNodeSetParams(GraphExec instance, GraphNode node, const SetNode *fill,
                                      Context) {
  ENTER("cuGraphExecMemsetNodeSetParams");
  NEEDS_CONTEXT()
  CapturedNode *own = settable(r, instance, node);
  unsigned bytes = fill->elementBytes;
  if (!own || std::strcmp(own->what, "a fill") || (bytes != 1 && bytes != 2 && bytes != 4) ||
      fill->height != 1 || (bytes < 4 && fill->value >> (8 * bytes)))
    return 1;
  own->work = fillWork(fill->to, fill->value, bytes, fill->width);
  ++r.adjusted;
  return 0;
}
Result cuGraphLaunch(GraphExec instance, Stream stream) {
  ENTER("cuGraphLaunch");
  NEEDS_CONTEXT()
  NOT_CAPTURED(stream)
  ++r.graphLaunches;
  r.putNodes(stream, instance->nodes);
  return 0;
}
Result cuGraphExecDestroy(GraphExec instance) {
  Recorder &r = recorder::recorder();
  std::unique_lock<std::mutex> lock(r.mutex);
  --r.instances;
  delete instance;
  return 0;
}

Result cuGraphConditionalHandleCreate(uint64_t *handle, Graph graph, Context context, unsigned,
                                      unsigned flags) {
  ENTER("cuGraphConditionalHandleCreate");
  NEEDS_CONTEXT()
  if (context->device != currentDevice() || flags != 0)
    return 1;
  static uint64_t next = 1;
  r.conditions[ *handle = next++].graph = graph;
  return 0;
}
Result cuGraphAddNode(GraphNode *node, Graph graph, const GraphNode *dependencies, size_t count,
                      NodeParameters *parameters) {
  ENTER("cuGraphAddNode");
  NEEDS_CONTEXT()
  ConditionalParameters &conditional = parameters->conditional;
  auto condition = r.conditions.find(conditional.handle);
  bool isLoop = conditional.type == whileNonzero;
  if (parameters->type != conditionalNode || (!isLoop && conditional.type != ifNonzero) ||
      conditional.count != 1 || condition == r.conditions.end() ||
      condition->second.graph != graph || conditional.context->device != currentDevice())
    return 1;
  for (const CapturedNode &other : graph->nodes)
    if (other.handle == conditional.handle)
      return 1; // a condition has one node
  if (count != 1 || dependencies[0] != reinterpret_cast<GraphNode>(graph->nodes.size()))
    r.problem("a conditional node does not follow what sets its condition");
  CapturedNode made = {isLoop ? "a loop" : "a conditional", nullptr, {}, ++r.nodes};
  made.handle = conditional.handle;
  made.isLoop = isLoop;
  made.bodyGraph = std::make_shared<GraphTag>();
  made.bodyGraph->isBody = true;
  graph->bodies[0] = made.bodyGraph.get();
  conditional.bodies = graph->bodies;
  graph->nodes.push_back(std::move(made));
  graph->isBehind = false;
  *node = reinterpret_cast<GraphNode>(graph->nodes.size());
  return 0;
}
Result cuStreamBeginCaptureToGraph(Stream stream, Graph graph, const GraphNode *, const void *,
                                   size_t count, int) {
  ENTER("cuStreamBeginCaptureToGraph");
  NEEDS_CONTEXT()
  NOT_CAPTURED(stream)
  if (count != 0)
    return 1;
  stream->capturing = graph;
  return 0;
}
Result cuStreamUpdateCaptureDependencies(Stream stream, GraphNode *dependencies, size_t count,
                                         unsigned flags) {
  ENTER("cuStreamUpdateCaptureDependencies");
  NEEDS_CONTEXT()
  GraphTag *graph = stream->capturing;
  if (!graph || flags != dependenciesReplace || count != 1 ||
      dependencies[0] != reinterpret_cast<GraphNode>(graph->nodes.size()))
    return 1;
  graph->isBehind = true;
  return 0;
}

} // extern "C"
