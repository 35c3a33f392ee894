//go:build linux

package cluster

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"github.com/rankwright/rankwright/test/process"
)

// clusterDomain is the suffix of the names of Services and their pods.
const clusterDomain = "cluster.local"

// startDNS starts CoreDNS at the control plane's address, which knows the cluster's own names and no others.
func (c *Cluster) startDNS() error {
	corefile := filepath.Join(c.options.Dir, "Corefile")
	text := fmt.Sprintf(".:53 {\n  bind %s\n  errors\n  kubernetes %s {\n    kubeconfig %s\n  }\n}\n", c.net.gateway(), clusterDomain, c.Kubeconfig())
	if err := os.WriteFile(corefile, []byte(text), 0o600); err != nil {
		return fmt.Errorf("configuration of the DNS: %w", err)
	}
	var err error
	c.dns, err = process.Start(process.Spec{
		Name: "coredns", Path: filepath.Join(c.options.BinDir, "coredns"), Args: []string{"-conf", corefile},
		LogFile: filepath.Join(c.options.Dir, "coredns.log"), Env: os.Environ(),
	})
	if err != nil {
		return err
	}
	c.logf("coredns: started, process %d, log %s", c.dns.PID(), c.dns.LogFile())
	return nil
}

// awaitDNS waits until the API server's own name is known.
func (c *Cluster) awaitDNS(ctx context.Context) error {
	resolver := net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, net.JoinHostPort(c.net.gateway().String(), "53"))
	}}
	return c.dns.Await(ctx, ReadyTimeout, func(ctx context.Context) error {
		_, err := resolver.LookupHost(ctx, "kubernetes.default.svc."+clusterDomain+".")
		return err
	})
}
