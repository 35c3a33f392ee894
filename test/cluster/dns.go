//go:build linux

package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/rankwright/rankwright/test/process"
)

// clusterDomain is the suffix of the names of Services and their pods.
const clusterDomain = "cluster.local"

// dns is CoreDNS at the control plane's address, which knows the cluster's own names and no others.
type dns struct{ server *process.Process }

func (c *Cluster) startDNS() (dns, error) {
	corefile := filepath.Join(c.options.Dir, "Corefile")
	text := fmt.Sprintf(".:53 {\n  bind %s\n  errors\n  kubernetes %s {\n    kubeconfig %s\n  }\n}\n", c.net.gateway(), clusterDomain, c.Kubeconfig())
	if err := os.WriteFile(corefile, []byte(text), 0o600); err != nil {
		return dns{}, fmt.Errorf("configuration of the DNS: %w", err)
	}
	server, err := process.Start(process.Spec{
		Name: "coredns", Path: filepath.Join(c.options.BinDir, "coredns"), Args: []string{"-conf", corefile},
		LogFile: filepath.Join(c.options.Dir, "coredns.log"), Env: os.Environ(),
	})
	if err != nil {
		return dns{}, err
	}
	c.logf("coredns: started, process %d, log %s", server.PID(), server.LogFile())
	return dns{server}, nil
}

// awaitDNS waits until the API server's own name is known.
func (c *Cluster) awaitDNS(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, ReadyTimeout)
	defer cancel()
	resolver := net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, net.JoinHostPort(c.net.gateway().String(), "53"))
	}}
	var last error
	err := wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		_, last = resolver.LookupHost(ctx, "kubernetes.default.svc."+clusterDomain+".")
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("cluster's DNS: %w; the end of %s:\n%s", errors.Join(err, last), c.dns.server.LogFile(), c.dns.server.LogTail(20))
	}
	return nil
}

func (d dns) stop() {
	if d.server != nil {
		d.server.Stop(stopGrace)
	}
}
