package browser

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// standIn answers as an API server does that lists and watches, and nothing else. A real one with this many nodes would take the processor that is measured.
type standIn struct {
	*httptest.Server

	mu      sync.Mutex
	version int
	objects map[string][]any // by resource
	events  map[string][]event
	wake    chan struct{}
	// forbidden are resources that nobody may list. Where nobody is known, nothing is answered.
	forbidden []string
	unknown   bool
}

// event is a change of an object.
type event struct {
	Type   watch.EventType `json:"type"`
	Object any             `json:"object"`
}

// kindsOf are the kinds of resources, with their groups.
var kindsOf = map[string][2]string{
	"acceleratorinventories": {v1alpha1.GroupVersion.String(), "AcceleratorInventory"}, "modelplacements": {v1alpha1.GroupVersion.String(), "ModelPlacement"},
	"shardingplans": {v1alpha1.GroupVersion.String(), "ShardingPlan"}, "devicemeshes": {v1alpha1.GroupVersion.String(), "DeviceMesh"},
	"sitecalibrations": {v1alpha1.GroupVersion.String(), "SiteCalibration"}, "nodes": {"v1", "Node"}, "pods": {"v1", "Pod"}, "leases": {"coordination.k8s.io/v1", "Lease"},
}

func newStandIn(t *testing.T) *standIn {
	t.Helper()
	s := &standIn{version: 1, objects: map[string][]any{}, events: map[string][]event{}, wake: make(chan struct{})}
	s.Server = httptest.NewServer(http.HandlerFunc(s.answer))
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return s
}

// kubeconfig writes a file by which the plugin finds the server.
func (s *standIn) kubeconfig(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf("apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: [{name: c, cluster: {server: %q}}]\ncontexts: [{name: c, context: {cluster: c, user: u}}]\nusers: [{name: u, user: {}}]\n", s.URL)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// change writes an object anew, and tells those who watch.
func (s *standIn) change(resource string, object metav1.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	object.SetResourceVersion(strconv.Itoa(s.version))
	s.events[resource] = append(s.events[resource], event{watch.Modified, object})
	close(s.wake)
	s.wake = make(chan struct{})
}

// forbids has nobody list some resources from now on.
func (s *standIn) forbids(resources ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forbidden = resources
}

// knows has users be known, or not.
func (s *standIn) knows(users bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unknown = !users
}

// refuses is what a question about a resource is refused by, nil where it is answered.
func (s *standIn) refuses(resource string) *metav1.Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	refusal := &metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure}
	switch {
	case s.unknown:
		refusal.Reason, refusal.Code = metav1.StatusReasonUnauthorized, http.StatusUnauthorized
	case slices.Contains(s.forbidden, resource):
		refusal.Reason, refusal.Code = metav1.StatusReasonForbidden, http.StatusForbidden
	default:
		return nil
	}
	return refusal
}

func (s *standIn) answer(w http.ResponseWriter, r *http.Request) {
	resource := path.Base(r.URL.Path)
	kind, known := kindsOf[resource]
	if !known {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if refusal := s.refuses(resource); refusal != nil {
		w.WriteHeader(int(refusal.Code))
		_ = json.NewEncoder(w).Encode(refusal)
		return
	}
	query := r.URL.Query()
	if query.Get("watch") == "" {
		s.list(w, resource, kind, query.Get("limit"))
		return
	}
	s.watch(w, r, resource, kind)
}

func (s *standIn) list(w http.ResponseWriter, resource string, kind [2]string, limit string) {
	s.mu.Lock()
	items := s.objects[resource]
	version := s.version
	s.mu.Unlock()
	if limit == "1" {
		items = items[:min(1, len(items))]
	}
	if items == nil {
		items = []any{}
	}
	_ = json.NewEncoder(w).Encode(map[string]any{
		"apiVersion": kind[0], "kind": kind[1] + "List", "metadata": map[string]string{"resourceVersion": strconv.Itoa(version)}, "items": items,
	})
}

// watch sends all objects first where that is asked for, and then the events.
func (s *standIn) watch(w http.ResponseWriter, r *http.Request, resource string, kind [2]string) {
	out := json.NewEncoder(w)
	s.mu.Lock()
	sent, version := len(s.events[resource]), s.version
	s.mu.Unlock()
	if r.URL.Query().Get("sendInitialEvents") == "true" {
		for _, object := range s.objects[resource] {
			_ = out.Encode(event{watch.Added, object})
		}
		_ = out.Encode(event{watch.Bookmark, map[string]any{"apiVersion": kind[0], "kind": kind[1], "metadata": map[string]any{
			"resourceVersion": strconv.Itoa(version), "annotations": map[string]string{metav1.InitialEventsAnnotationKey: "true"},
		}}})
	}
	for {
		s.mu.Lock()
		events, wake := s.events[resource][sent:], s.wake
		sent += len(events)
		s.mu.Unlock()
		for i := range events {
			_ = out.Encode(events[i])
		}
		_ = http.NewResponseController(w).Flush()
		select {
		case <-r.Context().Done():
			return
		case <-wake:
		}
	}
}

// nodeOf is the Node of an inventory.
func nodeOf(name string, labels map[string]string) *corev1.Node {
	return &corev1.Node{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}, ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels, ResourceVersion: "1"},
		Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
	}
}

// numbered is a name with a number, in lower case.
func numbered(name string, n int) string { return strings.ToLower(name) + "-" + strconv.Itoa(n) }
