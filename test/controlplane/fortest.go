package controlplane

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/dynamic"

	"github.com/rankwright/rankwright/internal/repository"
)

// Main runs the tests of a binary with one control plane that serves Rankwright's kinds, stops it, and ends the process.
// It is called from TestMain. Missing binaries fail the tests, with the remedy.
func Main(m *testing.M, cluster **ControlPlane) { MainWith(m, Options{}, cluster) }

// MainWith does what Main does, with a control plane of other options.
func MainWith(m *testing.M, options Options, cluster **ControlPlane) {
	os.Exit(runMain(m, options, cluster))
}

func runMain(m *testing.M, options Options, cluster **ControlPlane) int {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	started, err := startForTests(ctx, options)
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer started.Stop()
	*cluster = started
	code := make(chan int, 1)
	go func() { code <- m.Run() }()
	select {
	case c := <-code:
		return c
	case <-ctx.Done():
		_, _ = fmt.Fprintln(os.Stderr, "tests interrupted")
		return 1
	}
}

// ForTest starts a control plane that serves Rankwright's kinds, for one test, and stops it with the test. It fails the
// test, with the remedy, where binaries are missing. A binary with several such tests is faster with Main.
func ForTest(t *testing.T, options Options) *ControlPlane {
	t.Helper()
	c, err := startForTests(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	return c
}

func startForTests(ctx context.Context, options Options) (*ControlPlane, error) {
	root, err := repository.Root()
	if err != nil {
		return nil, err
	}
	c, err := Start(ctx, options)
	if err != nil || options.WithoutKinds {
		return c, err
	}
	if err := c.InstallCRDs(ctx, filepath.Join(root, "config", "crd")); err != nil {
		c.Stop()
		return nil, err
	}
	return c, nil
}

// AccountClient returns a client with a token of a service account, bound to a node where one is given.
func (c *ControlPlane) AccountClient(t *testing.T, namespace, name string, node *corev1.Node) dynamic.Interface {
	t.Helper()
	config, err := c.ConfigForAccount(t.Context(), namespace, name, node)
	if err != nil {
		t.Fatal(err)
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// Kubectl runs the real kubectl as administrator and returns what it prints. The test ends where it fails.
func (c *ControlPlane) Kubectl(t *testing.T, args ...string) string {
	t.Helper()
	assets, err := FindAssets()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), filepath.Join(assets, "kubectl"), args...)
	command.Env = []string{"KUBECONFIG=" + c.Kubeconfig(), "HOME=" + t.TempDir()}
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, output)
	}
	return string(output)
}
