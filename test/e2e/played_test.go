//go:build linux

package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/rankwright/rankwright/internal/nvml/nvmltest"
	"github.com/rankwright/rankwright/test/cluster"
	"github.com/rankwright/rankwright/test/controlplane"
)

// committed is the folder of the recordings that are in the repository.
const committed = "../recordings"

// composed writes every recording that is composed to a folder.
func composed(t *testing.T) (folder string) {
	t.Helper()
	folder = t.TempDir()
	if output, err := exec.CommandContext(t.Context(), "go", "run", "../recordings", "-all", "-o", folder).CombinedOutput(); err != nil {
		t.Fatalf("compose recordings: %v\n%s", err, output)
	}
	return folder
}

// play has the first nodes play hosts of a folder of recordings, one each, and the others their own.
func (s *site) play(t *testing.T, folder string, names ...string) {
	t.Helper()
	for i, name := range names {
		if name != hosts[i] {
			s.wanted[i] = filepath.Join(folder, name+".tar.gz")
		}
	}
	s.act(t)
}

// act has the nodes play what the test wants. No agent runs while a node changes its host, as none does in reality.
func (s *site) act(t *testing.T) {
	t.Helper()
	for i, node := range s.Nodes {
		if s.wanted[i] == s.played[i] {
			continue
		}
		s.uninstall(t)
		s.played[i] = ""
		if err := node.PlayHost(t.Context(), s.wanted[i]); err != nil {
			t.Fatal(err)
		}
		s.played[i] = s.wanted[i]
	}
}

// tell changes what NVIDIA's library tells on a node, from now on.
func tell(t *testing.T, node *cluster.Node, change func(nvmltest.Facts)) {
	t.Helper()
	facts, err := nvmltest.ReadFacts(node.Library())
	if err != nil {
		t.Fatal(err)
	}
	change(facts)
	if err := facts.Write(node.Library()); err != nil {
		t.Fatal(err)
	}
}

// raise has a GPU of a node report an error.
func raise(t *testing.T, node *cluster.Node, event nvmltest.Event) {
	t.Helper()
	if err := nvmltest.Raise(node.Library(), event); err != nil {
		t.Fatal(err)
	}
}

// await asks until the answer is as it should be.
func await(t *testing.T, what string, good func(context.Context) error) {
	t.Helper()
	var last error
	if wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		last = good(ctx)
		return last == nil, nil
	}) != nil {
		t.Fatalf("%s: %v", what, last)
	}
}

// awaitErrorsWatched waits until errors of a node's GPUs reach its agent: it has one report an XID that means nothing for the
// GPU, and that none reported before, again and again.
func (s *site) awaitErrorsWatched(t *testing.T, node *cluster.Node, xid uint64) {
	t.Helper()
	agent, reader := s.agentOf(t, node.Name), s.metricsReader(t)
	await(t, "errors of GPUs reach the agent", func(ctx context.Context) error {
		if err := nvmltest.Raise(node.Library(), nvmltest.Event{Type: nvmltest.XID, Data: xid}); err != nil {
			return err
		}
		_, text, err := controlplane.Scrape(ctx, metricsOf(agent), reader)
		if err == nil && !strings.Contains(text, fmt.Sprintf(`xid="%d"`, xid)) {
			err = fmt.Errorf("none counted at %s", agent.Status.PodIP)
		}
		return err
	})
}

// awaitDeviceEvent waits for an event about a node's inventory that names a device.
func (s *site) awaitDeviceEvent(t *testing.T, node, reason, device string) {
	t.Helper()
	await(t, "event "+reason, func(ctx context.Context) error {
		events, err := s.clients.CoreV1().Events(metav1.NamespaceAll).List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.name=" + node + ",reason=" + reason})
		if err != nil {
			return err
		}
		for i := range events.Items {
			if strings.Contains(events.Items[i].Message, device) {
				return nil
			}
		}
		return fmt.Errorf("none of %d names %s", len(events.Items), device)
	})
}

// holders are the processes that have a device node of a node open.
func holders(node *cluster.Node, device string) ([]string, error) {
	wanted, err := os.Stat(node.Path(device))
	if err != nil {
		return nil, err
	}
	open, err := filepath.Glob("/proc/[0-9]*/fd/*")
	if err != nil {
		return nil, err
	}
	var found []string
	for _, name := range open {
		if info, err := os.Stat(name); err == nil && os.SameFile(info, wanted) {
			found = append(found, name)
		}
	}
	return found, nil
}
