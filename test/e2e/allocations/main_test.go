//go:build linux

// Package allocations tests against a real kubelet that the inventory says which pod holds which device.
package allocations

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/client-go/kubernetes"

	"github.com/rankwright/rankwright/internal/repository"
	"github.com/rankwright/rankwright/test/cluster"
	"github.com/rankwright/rankwright/test/controlplane"
)

// node is the only node of the cluster, and clients are the administrator's.
var (
	node    *cluster.Node
	clients kubernetes.Interface
	running *cluster.Cluster
)

func TestMain(m *testing.M) {
	if os.Getenv("RANKWRIGHT_CLUSTER") == "" {
		fmt.Println("skipped: runs with RANKWRIGHT_CLUSTER=1 after make e2e has built kubelet and containerd")
		return
	}
	os.Exit(run(m))
}

// run keeps the cluster in a folder with a short name: the path of a socket has 107 characters at most.
func run(m *testing.M) int {
	folder, err := os.MkdirTemp("", "rwe")
	if err != nil {
		return failed(err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	running, err = cluster.Start(context.Background(), cluster.Options{Dir: folder, Nodes: 1, Log: os.Stderr})
	if err != nil {
		return failed(err)
	}
	defer running.Stop()
	if err := install(); err != nil {
		return failed(err)
	}
	return m.Run()
}

func install() error {
	node = running.Nodes[0]
	var err error
	if clients, err = kubernetes.NewForConfig(running.ControlPlane.Config()); err != nil {
		return err
	}
	root, err := repository.Root()
	if err != nil {
		return err
	}
	config := func(name ...string) string { return filepath.Join(append([]string{root, "config"}, name...)...) }
	objects, err := controlplane.ReadManifests(config("crd"), config("namespace"), config("rbac", "node_agent.yaml"), config("admission", "node_agent.yaml"))
	if err != nil {
		return err
	}
	return controlplane.Apply(context.Background(), running.ControlPlane.Config(), "", objects...)
}

func failed(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 1
}
