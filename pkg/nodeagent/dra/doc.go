// Package dra offers the devices of a node by dynamic resource allocation (resource.k8s.io/v1): a DRA driver with one
// pool, named as the node.
//
// What is offered, and how, is decided by pure functions. The Driver around them keeps its ResourceSlices and its sockets in
// place, whatever happens to kubelet and API server. It speaks the kubelet's own APIs (dra/v1 and pluginregistration/v1 of
// k8s.io/kubelet): k8s.io/dynamic-resource-allocation/kubeletplugin needs the typed clients of client-go, with which an agent
// holds 20 MiB more, on nodes without DRA as well.
//
// Four things come from what the kubelet of 1.36 does (pkg/kubelet/cm/dra). It deletes the ResourceSlices of its node when
// it starts, and those of a driver that is away for 30 seconds (plugin/dra_plugin_manager.go, wipeResourceSlices), so the
// driver looks whether its own are there, above all when a kubelet has just registered it. It asks for a claim anew after a
// start of its own (claiminfo.go, prepared is in no checkpoint), so a device that a claim has is prepared again, even where no
// new pod may have it. It keeps a connection to each driver that it has registered (plugin/dra_plugin_manager.go, HandleConn),
// so a driver without one has no kubelet. And it forgets the health of a device of which it did not hear for 30 seconds
// (healthinfo.go), so all are told again and again.
//
// The kubelet is done with a claim when it says so, and only then: which claims are prepared is in a file of the node, which
// the next agent goes on with.
package dra
