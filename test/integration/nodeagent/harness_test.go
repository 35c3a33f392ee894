package nodeagent_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/nodeagent"
	"github.com/rankwright/rankwright/test/controlplane"
)

const agentName = "rankwright-node-agent"

// site is a Node with an agent whose hardware is the test's.
type site struct {
	t           *testing.T
	name        string
	node        *corev1.Node
	admin       client.Client
	nvidia, amd *hardware
	agent       *nodeagent.Agent
	writes      *writes
	// clock is the agent's; nil means the real one. options are changed by configure, where it is set.
	clock     *testingclock.FakeClock
	configure func(*nodeagent.Options)
	// stop ends the agent that run started.
	stop func()
}

// newSite creates a Node and its agent, whose token is bound to the Node and has the rights of config/rbac.
func newSite(t *testing.T, name string) *site {
	t.Helper()
	s := newSiteFor(t, name)
	s.agent = s.newAgent(agentConfig(t, s.node))
	return s
}

// newSiteFor creates a Node without an agent.
func newSiteFor(t *testing.T, name string) *site {
	t.Helper()
	s := &site{
		t: t, name: name, admin: adminClient(t), writes: &writes{},
		nvidia: &hardware{name: "nvidia"}, amd: &hardware{name: "amd"},
	}
	s.node = s.createNode()
	t.Cleanup(func() {
		_ = s.admin.Delete(context.Background(), s.inventoryKey())
		_ = s.admin.Delete(context.Background(), s.nodeKey())
	})
	return s
}

func (s *site) newAgent(config *rest.Config) *nodeagent.Agent {
	s.t.Helper()
	config = rest.CopyConfig(config)
	config.Wrap(s.writes.count)
	options := nodeagent.Options{
		NodeName: s.name, Host: emptyHost, Backends: []backend.Backend{s.nvidia, s.amd},
		RescanInterval: time.Hour, Version: "test", Log: s.log(),
	}
	if s.clock != nil {
		options.Clock = s.clock
	}
	if s.configure != nil {
		s.configure(&options)
	}
	agent, err := nodeagent.New(config, options)
	if err != nil {
		s.t.Fatal(err)
	}
	return agent
}

// once runs one detection and publication.
func (s *site) once() {
	s.t.Helper()
	if err := s.agent.Once(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
}

// run runs the agent in the background until stop or the end of the test.
func (s *site) run() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.agent.Run(ctx) }()
	s.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			s.t.Errorf("the agent ended with an error: %v", err)
		}
	})
	s.t.Cleanup(s.stop)
}

func (s *site) log() *slog.Logger { return slog.New(slog.NewTextHandler(s.t.Output(), nil)) }

func (s *site) createNode() *corev1.Node {
	s.t.Helper()
	node := s.nodeKey()
	node.Labels = map[string]string{"kubernetes.io/hostname": s.name}
	if err := s.admin.Create(s.t.Context(), node); err != nil {
		s.t.Fatal(err)
	}
	return node
}

func (s *site) nodeKey() *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: s.name}}
}

func (s *site) inventoryKey() *v1alpha1.AcceleratorInventory {
	return &v1alpha1.AcceleratorInventory{ObjectMeta: metav1.ObjectMeta{Name: s.name}}
}

func (s *site) inventory() *v1alpha1.AcceleratorInventory {
	s.t.Helper()
	return get(s, s.inventoryKey())
}

func get[T client.Object](s *site, object T) T {
	s.t.Helper()
	if err := s.admin.Get(s.t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
		s.t.Fatal(err)
	}
	return object
}

// labels are the Node's labels under our prefix, without it.
func (s *site) labels() map[string]string {
	s.t.Helper()
	labels := map[string]string{}
	for key, value := range get(s, s.nodeKey()).Labels {
		if name, ours := strings.CutPrefix(key, v1alpha1.Prefix); ours {
			labels[name] = value
		}
	}
	return labels
}

// await waits until the condition holds, and says what is awaited where it never does.
func (s *site) await(what string, condition func() bool) {
	s.t.Helper()
	err := wait.PollUntilContextTimeout(s.t.Context(), 20*time.Millisecond, time.Minute, true,
		func(context.Context) (bool, error) { return condition(), nil })
	if err != nil {
		s.t.Fatalf("%s: never came: %v", what, err)
	}
}

// writes counts the requests of an agent that change something.
type writes struct{ n atomic.Int64 }

func (w *writes) count(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		if request.Method != http.MethodGet {
			w.n.Add(1)
		}
		return next.RoundTrip(request)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip sends the request.
func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

func adminClient(t *testing.T) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, eventsv1.AddToScheme, coordinationv1.AddToScheme, resourcev1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	c, err := client.New(cluster.Config(), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// agentConfig is the configuration of an agent in the cluster: the service account of config/rbac, by a token that is
// bound to the Node.
func agentConfig(t *testing.T, node *corev1.Node) *rest.Config {
	t.Helper()
	installRules(t)
	config, err := cluster.ConfigForAccount(t.Context(), agentName, agentName, node)
	if err != nil {
		t.Fatal(err)
	}
	return config
}

func installRules(t *testing.T) {
	t.Helper()
	objects, err := controlplane.ReadConfig("namespace", "rbac/node_agent.yaml", "admission/node_agent.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := controlplane.Apply(t.Context(), cluster.Config(), "", objects...); err != nil {
		t.Fatal(err)
	}
}

func mergePatch(t *testing.T, body any) client.Patch {
	t.Helper()
	content, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	return client.RawPatch(types.MergePatchType, content)
}
