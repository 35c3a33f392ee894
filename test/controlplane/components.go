package controlplane

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"strconv"
)

// loopback is the network of a control plane without nodes. Nothing routes to its Services.
var loopback = Network{Address: netip.MustParseAddr("127.0.0.1"), Services: netip.MustParsePrefix("10.96.0.0/16")}

func (o Options) network() Network {
	if o.Network == nil {
		return loopback
	}
	return *o.Network
}

// addresses are all that the API server is reached by.
func (o Options) addresses() []netip.Addr {
	network := o.network()
	return []netip.Addr{loopback.Address, network.Address, network.Services.Addr().Next()}
}

func (c *ControlPlane) etcdArgs(port int) []string {
	url := "http://127.0.0.1:" + strconv.Itoa(port)
	return []string{
		"--data-dir=" + c.path("etcd"),
		"--listen-client-urls=" + url,
		"--advertise-client-urls=" + url,
		"--listen-peer-urls=http://127.0.0.1:0",
		// What is written here need not survive the machine, and waiting for disks is most of a test's time.
		"--unsafe-no-fsync",
		"--log-level=warn",
	}
}

func (c *ControlPlane) apiserverArgs(etcdPort, port int) []string {
	options, network := c.options, c.options.network()
	args := []string{
		"--etcd-servers=http://127.0.0.1:" + strconv.Itoa(etcdPort),
		"--advertise-address=" + network.Address.String(),
		"--secure-port=" + strconv.Itoa(port),
		"--cert-dir=" + c.path("apiserver"),
		"--tls-cert-file=" + c.path("apiserver.crt"),
		"--tls-private-key-file=" + c.path("apiserver.key"),
		"--client-ca-file=" + c.path("ca.crt"),
		"--authorization-mode=Node,RBAC",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-signing-key-file=" + c.path("sa.key"),
		"--service-account-key-file=" + c.path("sa.key"),
		"--service-cluster-ip-range=" + network.Services.String(),
		"--allow-privileged=true",
	}
	if options.Network == nil {
		args = append(args, "--bind-address=127.0.0.1", "--endpoint-reconciler-type=none")
	} else {
		args = append(args, "--bind-address=0.0.0.0", "--enable-admission-plugins=NodeRestriction",
			// No kube-proxy serves the API server's own namespace: webhooks are called at their pods' addresses.
			"--enable-aggregator-routing=true",
			"--kubelet-preferred-address-types=InternalIP",
			"--audit-policy-file="+c.path("audit.yaml"), "--audit-log-path="+c.path("audit.log"),
			"--kubelet-client-certificate="+c.path("kubelet.crt"), "--kubelet-client-key="+c.path("kubelet.key"))
	}
	for _, gate := range slices.Sorted(maps.Keys(options.FeatureGates)) {
		args = append(args, fmt.Sprintf("--feature-gates=%s=%t", gate, options.FeatureGates[gate]))
	}
	for _, api := range options.APIs {
		args = append(args, "--runtime-config="+api+"=true")
	}
	if options.WithoutWatchCache {
		args = append(args, "--watch-cache=false")
	}
	if !options.ControllerManager {
		// Nobody makes the `default` service account that this plugin wants of every pod.
		args = append(args, "--disable-admission-plugins=ServiceAccount")
	}
	return args
}

func (c *ControlPlane) schedulerArgs() []string {
	return []string{
		"--kubeconfig=" + c.path("scheduler.kubeconfig"),
		"--leader-elect=false",
		"--secure-port=0",
	}
}

func (c *ControlPlane) controllerManagerArgs() []string {
	controllers := "*"
	if c.options.LeaveNodes {
		controllers += ",-node-lifecycle-controller"
	}
	return []string{
		"--controllers=" + controllers,
		"--kubeconfig=" + c.path("controller-manager.kubeconfig"),
		"--use-service-account-credentials=true",
		"--service-account-private-key-file=" + c.path("sa.key"),
		"--root-ca-file=" + c.path("ca.crt"),
		"--leader-elect=false",
		"--secure-port=0",
	}
}

// Connections that go out get ports from 32768 on from Linux (net.ipv4.ip_local_port_range), and from 49152 on from macOS: a port below those is free
// still when whoever had it is started again.
const lowestPort, portCount = 10000, 20000

// FreePorts returns distinct ports of the loopback that are free now. Another process may take one before it is used,
// so whoever uses them tries again with others.
func FreePorts(n int) ([]int, error) {
	listeners := make([]net.Listener, 0, n)
	defer func() {
		for _, l := range listeners {
			_ = l.Close()
		}
	}()
	var free []int
	for range portCount {
		if len(free) == n {
			return free, nil
		}
		port := lowestPort + rand.IntN(portCount)
		if listener, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			listeners, free = append(listeners, listener), append(free, port)
		}
	}
	return nil, fmt.Errorf("%d free ports of the loopback from %d to %d were not found", n, lowestPort, lowestPort+portCount-1)
}
