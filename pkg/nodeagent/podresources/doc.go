// Package podresources asks the kubelet which pod holds which device (k8s.io/kubelet, podresources v1).
package podresources

import _ "k8s.io/kubelet/pkg/apis/podresources/v1"
