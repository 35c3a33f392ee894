//go:build linux

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/rankwright/rankwright/test/cluster"
)

// hosts are what the nodes play: 8 NVIDIA H100, 8 AMD MI300X, 4 Google TPU v5p.
var hosts = []string{"nvidia-h100-8", "amd-mi300x-8", "google-v5p-4"}

// site is the cluster that all tests of the package share. Helm's release is left to the next test, which takes it over where it wants the same values
// on the same hosts; so tests that do stand together, in files that follow each other.
type site struct {
	*cluster.Cluster
	clients kubernetes.Interface
	objects dynamic.Interface
	dir     string
	// other is what is installed in place of the chart and the images of the checkout; nil for these.
	other *product
	// installed are the arguments by which the release was installed; nil where none is there, or it was changed since.
	installed []string
	// played are the recordings that the nodes play, wanted those of the test that runs.
	played, wanted []string
}

// product is a chart, as Helm is told of it, and the values by which it finds its images.
type product struct{ chart, set []string }

var shared *site

func TestMain(m *testing.M) {
	os.Exit(func() int {
		if os.Getenv("RANKWRIGHT_CLUSTER") == "" {
			return m.Run()
		}
		stop, err := start(context.Background())
		defer stop()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return m.Run()
	}())
}

// on returns the cluster, or skips the test.
func on(t *testing.T) *site {
	t.Helper()
	if shared == nil {
		t.Skip("runs under make e2e, which builds kubelet and containerd")
	}
	shared.wanted = ownHosts()
	return shared
}

// recording is the file of a committed recording.
func recording(host string) string { return filepath.Join("..", "recordings", host+".tar.gz") }

func ownHosts() []string {
	files := make([]string, len(hosts))
	for i, host := range hosts {
		files[i] = recording(host)
	}
	return files
}

// start starts the cluster, whose nodes have the images and play their hosts.
func start(ctx context.Context) (stop func(), err error) {
	dir, err := os.MkdirTemp("", "rankwright-e2e-")
	if err != nil {
		return func() {}, err
	}
	shared = &site{dir: dir}
	stop = func() {
		if shared.Cluster != nil {
			step("stop the cluster")
			shared.Stop()
		}
		_ = os.RemoveAll(dir)
	}
	building, buildCtx := errgroup.WithContext(ctx)
	var archives []string
	building.Go(func() error {
		archives, err = buildImages(buildCtx, dir)
		return err
	})
	step("start a cluster of %d nodes", len(hosts))
	c, startErr := cluster.Start(ctx, cluster.Options{Dir: filepath.Join(dir, "cluster"), Nodes: len(hosts), Log: os.Stderr})
	shared.Cluster = c
	if err := building.Wait(); err != nil {
		return stop, err
	}
	if startErr != nil {
		return stop, startErr
	}
	return stop, shared.prepare(ctx, archives)
}

func (s *site) prepare(ctx context.Context, archives []string) error {
	step("load %d images, play %v", len(archives), hosts)
	for _, archive := range archives {
		if err := s.LoadImage(ctx, archive); err != nil {
			return err
		}
	}
	s.played = ownHosts()
	for i, node := range s.Nodes {
		if err := node.PlayHost(ctx, s.played[i]); err != nil {
			return err
		}
	}
	var err error
	if s.clients, err = kubernetes.NewForConfig(s.ControlPlane.Config()); err != nil {
		return err
	}
	s.objects, err = dynamic.NewForConfig(s.ControlPlane.Config())
	return err
}

var began = time.Now()

// step says what is being done.
func step(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "==> %5.1f s  %s\n", time.Since(began).Seconds(), fmt.Sprintf(format, args...))
}
