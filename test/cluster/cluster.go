//go:build linux

// Package cluster runs a real Kubernetes cluster on one Linux machine: the control plane of package controlplane, and
// nodes with kubelet, containerd, runc and kube-proxy, each in a network and a mount namespace of its own, and a DNS. It
// needs root, and runc, the CNI plugins, iproute2 and iptables of the distribution.
//
// Several clusters can run on a machine, each with a number of its own, which is in every name and address it has. What
// a killed cluster left behind is cleaned up by the next cluster that takes its number.
package cluster

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/rankwright/rankwright/test/controlplane"
	"github.com/rankwright/rankwright/test/process"
)

// stopGrace is what a component gets between SIGTERM and SIGKILL.
const stopGrace = 5 * time.Second

// Options say what to start. The zero value is a cluster of three nodes in a temporary folder.
type Options struct {
	// Dir is the folder of keys, data and logs; empty means a temporary one that Stop removes.
	Dir string
	// BinDir has the binaries; empty means controlplane.FindAssets.
	BinDir string
	// Nodes is the number of nodes, at most 9; 0 means 3.
	Nodes int
	// Log receives a line for each step; nil drops them.
	Log io.Writer
}

// Cluster is a running cluster.
type Cluster struct {
	// ControlPlane gives clients and certificates.
	ControlPlane *controlplane.ControlPlane
	// Nodes are node-1, node-2, ….
	Nodes []*Node

	options   Options
	temporary bool
	net       network
	dns       *process.Process
	lock      *os.File
}

// Start starts a cluster and returns when every node is Ready. The context bounds the start alone; the cluster runs
// until Stop. What was started is gone again where an error is returned.
func Start(ctx context.Context, options Options) (*Cluster, error) {
	if err := checkMachine(); err != nil {
		return nil, err
	}
	c := &Cluster{options: options}
	if err := c.start(ctx); err != nil {
		c.Stop()
		return nil, err
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context) error {
	if err := c.prepare(); err != nil {
		return err
	}
	var err error
	if c.net, c.lock, err = takeNumber(); err != nil {
		return err
	}
	if err := c.cleanUp(); err != nil {
		return err
	}
	if err := c.net.create(ctx, c.options.Nodes); err != nil {
		return err
	}
	c.ControlPlane, err = controlplane.Start(ctx, controlplane.Options{
		Dir: filepath.Join(c.options.Dir, "control-plane"), BinDir: c.options.BinDir, Scheduler: true, ControllerManager: true,
		Network: &controlplane.Network{Address: c.net.gateway(), Services: c.net.services()}, Log: c.options.Log,
	})
	if err != nil {
		return err
	}
	if err := c.startDNS(); err != nil {
		return err
	}
	pause, err := pauseImage(ctx, c.options.Dir)
	if err != nil {
		return err
	}
	starting, ctx := errgroup.WithContext(ctx)
	starting.Go(func() error { return c.awaitDNS(ctx) })
	starting.Go(func() error { return c.awaitServiceAccount(ctx) })
	for number := 1; number <= c.options.Nodes; number++ {
		node := newNode(c, number)
		c.Nodes = append(c.Nodes, node)
		starting.Go(func() error {
			if err := node.start(ctx, pause); err != nil {
				return fmt.Errorf("%s: %w", node.Name, err)
			}
			return nil
		})
	}
	return starting.Wait()
}

// awaitServiceAccount waits until the controller manager, which was started last, made the service account that pods of the
// default namespace need.
func (c *Cluster) awaitServiceAccount(ctx context.Context) error {
	clients, err := kubernetes.NewForConfig(c.ControlPlane.Config())
	if err != nil {
		return err
	}
	components := c.ControlPlane.Processes()
	return components[len(components)-1].Await(ctx, ReadyTimeout, func(ctx context.Context) error {
		_, err := clients.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
		return err
	})
}

func (c *Cluster) prepare() error {
	if c.options.Log == nil {
		c.options.Log = io.Discard
	}
	if c.options.Nodes == 0 {
		c.options.Nodes = 3
	}
	if c.options.Nodes < 0 || c.options.Nodes > maxNodes {
		return fmt.Errorf("nodes: %d: take 1 to %d", c.options.Nodes, maxNodes)
	}
	var err error
	if c.options.BinDir == "" {
		if c.options.BinDir, err = controlplane.FindAssets(); err != nil {
			return err
		}
	}
	if c.options.Dir == "" {
		if c.options.Dir, err = os.MkdirTemp("", "rankwright-cluster-"); err != nil {
			return fmt.Errorf("folder of the cluster: %w", err)
		}
		c.temporary = true
	}
	// Kubelets and containers run as other users below it.
	return os.MkdirAll(c.options.Dir, 0o755) //nolint:gosec // keys in it are readable by root alone
}

// Number tells the cluster from others on the machine; it is in the names of all its namespaces and links (rwc0, …).
func (c *Cluster) Number() int { return c.net.number }

// Kubeconfig returns the path of the administrator's kubeconfig.
func (c *Cluster) Kubeconfig() string { return c.ControlPlane.Kubeconfig() }

// LoadImage makes the image in a tar archive known to every node.
func (c *Cluster) LoadImage(ctx context.Context, archive string) error {
	var loading errgroup.Group
	for _, node := range c.Nodes {
		loading.Go(func() error { return node.loadImage(ctx, archive) })
	}
	return loading.Wait()
}

// Stop ends everything, containers included, and removes the namespaces, the mounts and, where Start made it, the
// folder. It may be called more than once.
func (c *Cluster) Stop() {
	for _, node := range c.Nodes {
		node.stop()
	}
	c.Nodes = nil
	if c.dns != nil {
		c.dns.Stop(stopGrace)
	}
	if c.ControlPlane != nil {
		c.ControlPlane.Stop()
	}
	if c.lock != nil {
		if err := c.cleanUp(); err != nil {
			c.logf("clean up: %v", err)
		}
		_ = c.lock.Close()
		c.lock = nil
	}
	if c.temporary {
		_ = os.RemoveAll(c.options.Dir)
	}
}

func (c *Cluster) logf(format string, args ...any) {
	_, _ = fmt.Fprintf(c.options.Log, format+"\n", args...)
}
