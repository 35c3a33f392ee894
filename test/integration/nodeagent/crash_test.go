package nodeagent_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/nodeagent"
	"github.com/rankwright/rankwright/test/controlplane"
)

// Environment of a child process that is an agent and kills itself at a write.
const (
	crashKubeconfig = "NODEAGENT_CRASH_KUBECONFIG"
	crashNode       = "NODEAGENT_CRASH_NODE"
	crashWrite      = "NODEAGENT_CRASH_WRITE"
	crashMoment     = "NODEAGENT_CRASH_MOMENT"
)

// crash runs in the child: an agent that publishes one GPU, killed without warning before or after its n-th write.
func crash() error {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv(crashKubeconfig))
	if err != nil {
		return err
	}
	n, err := strconv.ParseInt(os.Getenv(crashWrite), 10, 64)
	if err != nil {
		return err
	}
	var written atomic.Int64
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			last := request.Method != http.MethodGet && written.Add(1) == n
			if last && os.Getenv(crashMoment) == "before" {
				die()
			}
			response, err := next.RoundTrip(request)
			if last {
				die()
			}
			return response, err
		})
	})
	nvidia := &hardware{name: "nvidia"}
	nvidia.set(gpu(0))
	agent, err := nodeagent.New(config, nodeagent.Options{
		NodeName: os.Getenv(crashNode), Host: emptyHost, Backends: []backend.Backend{nvidia}, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	return agent.Once(context.Background())
}

func die() { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL) }

// crashAt runs a child that is killed at its n-th write.
func crashAt(t *testing.T, s *site, config *rest.Config, moment string, n int) {
	t.Helper()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := controlplane.WriteKubeconfig(kubeconfig, config); err != nil {
		t.Fatal(err)
	}
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), crashKubeconfig+"="+kubeconfig, crashNode+"="+s.name,
		crashMoment+"="+moment, crashWrite+"="+strconv.Itoa(n))
	output, err := child.CombinedOutput()
	if !killed(err) {
		t.Fatalf("the child ended with %v, want killed; it printed:\n%s", err, output)
	}
}

func killed(err error) bool {
	var ended *exec.ExitError
	if !errors.As(err, &ended) {
		return false
	}
	status, isUnix := ended.Sys().(syscall.WaitStatus)
	return isUnix && status.Signal() == syscall.SIGKILL
}

// A first publication writes three times: the inventory, the labels, the status.
func TestKilledAtAnyWriteAndRestarted(t *testing.T) {
	for _, moment := range []string{"before", "after"} {
		for n := 1; n <= 3; n++ {
			t.Run(fmt.Sprintf("%s write %d", moment, n), func(t *testing.T) {
				s := newSiteFor(t, fmt.Sprintf("crash-%s-%d", moment, n))
				config := agentConfig(t, s.node)
				crashAt(t, s, config, moment, n)
				s.agent = s.newAgent(config)
				s.nvidia.set(gpu(0))
				s.once()
				inventory := s.inventory()
				if !ownedByNode(s) || inventory.Status.Summary.Devices != 1 {
					t.Errorf("inventory = %+v, want one device, owned by the Node", inventory)
				}
				whole := newSite(t, s.name+"-whole")
				whole.nvidia.set(gpu(0))
				whole.once()
				if diff := cmp.Diff(whole.labels(), s.labels()); diff != "" {
					t.Errorf("labels differ from those of an agent that was never killed (-want +got):\n%s", diff)
				}
				writes := s.writes.n.Load()
				s.once()
				if s.writes.n.Load() != writes {
					t.Error("the next rescan writes again")
				}
			})
		}
	}
}

func ownedByNode(s *site) bool {
	owners := s.inventory().OwnerReferences
	return len(owners) == 1 && owners[0].UID == s.node.UID
}
