//go:build linux

package cluster

import (
	"os"

	"sigs.k8s.io/yaml"
)

// StartKubelet starts the kubelet; AwaitReady tells when it is up.
func (n *Node) StartKubelet() error {
	return n.run("kubelet",
		"--config="+n.path("kubelet.yaml"),
		"--kubeconfig="+n.path("kubelet.kubeconfig"),
		"--hostname-override="+n.Name,
		"--node-ip="+n.cluster.net.node(n.number).String(),
		"--cert-dir=/var/lib/kubelet/pki")
}

// kubeletConfig is a KubeletConfiguration for a machine that is shared with others: nothing is reserved or evicted, and
// the Node's status follows its devices within a second.
func (n *Node) kubeletConfig() map[string]any {
	return map[string]any{
		"apiVersion":                    "kubelet.config.k8s.io/v1beta1",
		"kind":                          "KubeletConfiguration",
		"authentication":                map[string]any{"anonymous": map[string]any{"enabled": false}, "webhook": map[string]any{"enabled": true}, "x509": map[string]any{"clientCAFile": n.cluster.ControlPlane.Authority()}},
		"authorization":                 map[string]any{"mode": "Webhook"},
		"containerRuntimeEndpoint":      "unix:///run/containerd/containerd.sock",
		"cgroupDriver":                  "cgroupfs",
		"cgroupsPerQOS":                 false,
		"enforceNodeAllocatable":        []string{},
		"failCgroupV1":                  false,
		"failSwapOn":                    false,
		"localStorageCapacityIsolation": false,
		"featureGates":                  map[string]bool{"KubeletInUserNamespace": true},
		"nodeStatusUpdateFrequency":     "1s",
		"imageGCHighThresholdPercent":   100,
		"evictionHard":                  map[string]string{"memory.available": "0%", "nodefs.available": "0%", "nodefs.inodesFree": "0%", "imagefs.available": "0%", "pid.available": "0%"},
		"makeIPTablesUtilChains":        true,
		"clusterDomain":                 clusterDomain,
		"clusterDNS":                    []string{n.cluster.net.gateway().String()},
		"maxPods":                       250,
		"healthzPort":                   0,
		"resolvConf":                    "",
		"registerWithTaints":            []any{},
		"shutdownGracePeriod":           "0s",
	}
}

// proxyConfig is a KubeProxyConfiguration: it leaves the machine's connection tracking as it is. The ports of probes and
// metrics are the standard ones, since each node has a network of its own. With port 0 kube-proxy would end.
func (n *Node) proxyConfig() map[string]any {
	return map[string]any{
		"apiVersion":       "kubeproxy.config.k8s.io/v1alpha1",
		"kind":             "KubeProxyConfiguration",
		"mode":             "iptables",
		"hostnameOverride": n.Name,
		"clusterCIDR":      n.cluster.net.cluster().String(),
		"conntrack":        map[string]any{"maxPerCore": 0},
		"clientConnection": map[string]any{"kubeconfig": n.path("kube-proxy.kubeconfig")},
	}
}

func writeYAML(name string, content any) error {
	text, err := yaml.Marshal(content)
	if err != nil {
		return err
	}
	return os.WriteFile(name, text, 0o600)
}
