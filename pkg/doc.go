// Package pkg holds no code: this page leads through the packages below it in the order in which a fact travels, from a file
// in a host's /sys to the rank of a process.
//
//	host --detect--> AcceleratorInventory --fleet--> Cluster --plan--> ShardingPlan --mesh--> DeviceMesh --launch, binding--> pods
//
// The kinds of the API, api/v1alpha1, are the vocabulary of all of them. Unless it says otherwise below, a package is pure:
// files, commands and clocks come in as arguments, and the same input gives the same bytes.
//
// # What a host has
//
//   - detect reads a host into an inventory: one backend a vendor, which looks through the one Host that it is given, so that a
//     recording of a host is detected as the host itself.
//   - accelerator is the catalogue: what a product has in memory, bandwidth, rates and links, each number with its source.
//   - inventory selects, sorts, adds up and compares devices; inventory/whatif adds some that are not there (library only).
//   - survey compares what one host looks like from several places: the host, a pod, a helper container.
//
// # What it publishes and serves
//
//   - nodeagent is the shell on the node: it publishes the inventory, the Node's labels and a Lease. Below it, health judges,
//     podresources says who holds what, serving and dra offer devices to the kubelet (device plugin and DRA), preference
//     chooses devices that belong together, and injection says what a container needs of them.
//
// # What a model needs
//
//   - model counts parameters, weights and KV cache tensor by tensor; model/checkpoint reads the files of a model.
//   - engine is one row an inference or training engine: where it runs, which degrees are legal, how it numbers ranks and splits layers.
//   - occupancy says how many tokens running requests hold together, and how many are computed again where there is no room.
//   - replay runs requests one by one through a simulated server, which the closed forms are held to.
//   - memory says how many bytes a rank needs, cost how long its steps take, price what an hour of a device costs.
//   - estimate answers for one kind of device without a cluster.
//
// # Who gets what
//
//   - fleet makes of nodes, inventories, pods and plans one compact cluster: classes, islands, fabrics, what is taken.
//   - holding says who holds each device, for people who look: which pod, which rank of which plan, or why nobody does.
//   - shape knows in which shapes a model can run on the cluster: degrees, bytes, times, and whether there is room.
//   - plan writes down the best placement of a model on a cluster, or says in numbers why there is none. plan/search finds the
//     best shape, plan/place names its devices, plan/remedy says what would make a request fit, plan/explain why a plan is as
//     it is. plan/pipeline cuts layers into unequal stages, plan/pipeline/paths lets requests take different ways (library only), and
//     plan/synthetic builds clusters that do not exist.
//
// # Who is which rank
//
//   - mesh numbers the devices of a plan and lists their process groups; mesh/views looks at the same ranks as an engine counts
//     them, mesh/regroup changes groups and devices of a layout (both library only).
//   - launch writes what a launcher starts from: variables, arguments, host files, rank tables.
//   - binding gives a pod its place in the mesh.
//   - mesh/verification has the pods of a mesh test every link before the model is loaded, by the collectives of
//     mesh/collective, over sockets, or on the devices over NCCL and its kin. These two are not pure.
//
// The controllers, in controllers/, and the node agent are the shell around all this: they read, ask these packages, and
// apply. docs/start/glossary.md explains the words, docs/internals/decisions why it is so.
package pkg
