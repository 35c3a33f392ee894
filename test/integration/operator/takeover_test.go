package operator

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/rankwright/rankwright/controllers/operator"
	"github.com/rankwright/rankwright/test/operation"
)

// watchfulStandby is an operator that does not lead, whose reads are noted and of one kind held back until they are let go.
type watchfulStandby struct {
	world
	manager.Manager
	health string
	letGo  chan struct{}

	mu    sync.Mutex
	reads []string
}

// heldBack are parts of the URLs of what the standby waits for: an informer, and what pods take of their nodes.
var heldBack = []string{"priorityclasses", "spec.nodeName"}

// standBy runs an operator while another one leads that never says anything again.
func (w world) standBy() *watchfulStandby {
	w.Helper()
	s := &watchfulStandby{world: w, health: freeAddress(w), letGo: make(chan struct{})}
	config, err := clientcmd.BuildConfigFromFlags("", w.operatorKubeconfig())
	w.Must(err)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return transport(func(request *http.Request) (*http.Response, error) {
			s.mu.Lock()
			if request.Method == http.MethodGet {
				s.reads = append(s.reads, request.URL.String())
			}
			s.mu.Unlock()
			if slices.ContainsFunc(heldBack, func(part string) bool { return strings.Contains(request.URL.String(), part) }) {
				select {
				case <-s.letGo:
				case <-request.Context().Done():
				}
			}
			return next.RoundTrip(request)
		})
	})
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.Context()))
	s.Manager, err = operator.New(ctx, config, operator.Options{
		Namespace: operation.Namespace, AgentNamespace: operation.AgentNamespace, LeaderElect: true,
		HealthAddress: s.health, MetricsAddress: "0", Registry: prometheus.NewRegistry(), Planner: operation.FirstFit,
	})
	w.Must(err)
	ended := make(chan error, 1)
	go func() { ended <- s.Start(ctx) }()
	w.Cleanup(func() {
		cancel()
		w.Must(<-ended)
	})
	return s
}

type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(request *http.Request) (*http.Response, error) { return t(request) }

// reading returns the reads until now whose URL has all parts.
func (s *watchfulStandby) reading(parts ...string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []string
	for _, url := range s.reads {
		has := true
		for _, part := range parts {
			has = has && strings.Contains(url, part)
		}
		if has {
			found = append(found, url)
		}
	}
	return found
}

// otherLeads writes a Lease as a leader does that was killed a moment ago.
func (w world) otherLeads() *coordinationv1.Lease {
	w.Helper()
	now, other, seconds := metav1.NowMicro(), "other", int32(3600)
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: operation.Namespace, Name: "rankwright-operator"},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &other, LeaseDurationSeconds: &seconds, AcquireTime: &now, RenewTime: &now},
	}
	w.Must(client.IgnoreNotFound(w.Delete(w.Context(), lease.DeepCopy())))
	w.Must(w.Create(w.Context(), lease))
	return lease
}

// TestStandbyIsWarm holds a standby to what it promises: it is ready when it knows all that a leader reads, it listens to the agents, and
// when it leads it places without filling an informer first.
func TestStandbyIsWarm(t *testing.T) {
	w := newWorld(t, wholeCluster)
	const nodes = 100
	for i := range nodes {
		w.addNode(fmt.Sprintf("n%03d", i), 8)
	}
	lease := w.otherLeads()
	s := w.standBy()
	w.Eventually("two things are waited for, by name", func(context.Context) bool {
		status, text := get(w, "http://"+s.health+"/readyz?verbose")
		return status == http.StatusInternalServerError && strings.Count(text, "[-]") == 2 && strings.Contains(text, "[-]informer-PriorityClass failed") &&
			strings.Contains(text, "[-]pods-of-nodes failed")
	})
	close(s.letGo)
	w.Eventually("the standby is ready", func(context.Context) bool {
		status, _ := get(w, "http://"+s.health+"/readyz?verbose")
		return status == http.StatusOK
	})
	w.Eventually("the standby listens to the agents", func(context.Context) bool {
		return len(s.reading("/namespaces/"+operation.AgentNamespace+"/leases")) > 0
	})
	select {
	case <-s.Elected():
		t.Fatal("the standby leads beside another leader")
	default:
	}
	w.place(w.PlacementOf("llm", 2, 1))
	watches := len(s.reading("watch=true"))
	w.Change(lease, func() { lease.Spec.HolderIdentity = new(string) }) // what is left of a leader that ended in order
	<-s.Elected()
	began := time.Now()
	w.awaitPlan("llm", "llm-1")
	t.Logf("from the election to the first placement, with %d nodes: %v", nodes, time.Since(began).Round(time.Millisecond))
	if more := s.reading("watch=true")[watches:]; len(more) > 0 {
		t.Errorf("informers that were filled after the election: %q", more)
	}
}
