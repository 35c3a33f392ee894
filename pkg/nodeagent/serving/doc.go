// Package serving offers the devices of a node to its kubelet: a device plugin (k8s.io/kubelet, deviceplugin v1beta1) for
// each resource.
package serving

import (
	_ "github.com/fsnotify/fsnotify"
	_ "google.golang.org/grpc"
	_ "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)
