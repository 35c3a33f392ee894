// Package serving offers the devices of a node to its kubelet: a device plugin (k8s.io/kubelet, deviceplugin v1beta1) for
// each resource.
//
// What is offered is decided by pure functions: resourceOf names a device's pool, sortPools sorts the devices into them. The
// Plugin around them keeps a server for each pool registered with the kubelet, whatever happens to either.
//
// Three rules come from what the kubelet of 1.36 does (pkg/kubelet/cm/devicemanager). An id that leaves a list while an
// allocation of it is under way ends the kubelet (manager.go, allocateContainerResources), so an id that a pod holds or
// may get stays listed, as unhealthy. The end of a ListAndWatch stream disconnects whatever client the resource has by
// then (plugin/v1beta1/handler.go, runClient), so a pool registers only when its old connection is gone. And the kubelet
// removes every socket from the folder when it starts, before it makes its own, so a new kubelet.sock means new sockets.
package serving
