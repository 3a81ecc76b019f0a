//===- Graphs.cpp - graphs of the recording driver ---------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/cuda/recorder/Recorder.h"

#include <cstring>

using namespace recorder;

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
    delete stream->capturing;
    stream->capturing = nullptr;
    return 901; // CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
  }
  *graph = stream->capturing;
  stream->capturing = nullptr;
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
  delete graph;
  return 0;
}
Result cuGraphInstantiateWithFlags(GraphExec *instance, Graph graph, unsigned long long) {
  ENTER("cuGraphInstantiate");
  NEEDS_CONTEXT()
  *instance = new GraphExecTag{graph->nodes, graph};
  for (size_t i = 0; i < graph->nodes.size(); ++i) {
    (*instance)->nodes[i].id = ++r.nodes;
    if (r.tracer)
      r.tracer->nodeCloned((*instance)->nodes[i], graph->nodes[i]);
  }
  ++r.instances;
  return 0;
}
Result cuGraphExecUpdate_v2(GraphExec instance, Graph graph, GraphUpdate *) {
  ENTER("cuGraphExecUpdate");
  NEEDS_CONTEXT()
  bool fits = instance->nodes.size() == graph->nodes.size();
  for (size_t i = 0; fits && i < graph->nodes.size(); ++i)
    fits = !std::strcmp(instance->nodes[i].what, graph->nodes[i].what) &&
           instance->nodes[i].code == graph->nodes[i].code;
  if (!fits)
    return 910;                                    // CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE
  for (size_t i = 0; i < graph->nodes.size(); ++i) // which stay the nodes that they are
    instance->nodes[i].work = graph->nodes[i].work;
  ++r.updated;
  return 0;
}
Result cuGraphExecKernelNodeSetParams_v2(GraphExec instance, GraphNode node,
                                         const KernelNode *parameters) {
  ENTER("cuGraphExecKernelNodeSetParams");
  NEEDS_CONTEXT()
  size_t number = reinterpret_cast<size_t>(node);
  // Nodes are those of the graph that it was made of, which must be there.
  if (!r.sources.count(instance->source) || number == 0 || number > instance->nodes.size())
    return 1;
  recorder::CapturedNode &own = instance->nodes[number - 1];
  if (own.code != parameters->function)
    return 1;
  if (!kernelWork(parameters->function, parameters->blocks[0], parameters->threads[0],
                  parameters->shared, parameters->parameters, own.mayBegin, own.work))
    return 1;
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

} // extern "C"
