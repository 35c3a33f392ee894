// Package podresources says which pod holds which device, whoever serves it, and who serves the devices of a node. The
// kubelet knows, by its pod-resources API (k8s.io/kubelet, podresources v1); what the servers call a device is worked out
// from what the inventory knows of it.
package podresources
