package binding

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/operator"
	"github.com/rankwright/rankwright/pkg/binding"
	"github.com/rankwright/rankwright/test/operation"
)

// writes are the requests of an operator that are to change something, and what came of them.
type writes struct {
	mu   sync.Mutex
	made []write
}

// write is a request with the status of its answer, and what it sent.
type write struct{ text, body string }

// count makes a transport that notes writes before it passes them on.
func (w *writes) count(next http.RoundTripper) http.RoundTripper {
	return transport(func(request *http.Request) (*http.Response, error) {
		if request.Method == http.MethodGet || request.URL.Query().Has("dryRun") {
			return next.RoundTrip(request)
		}
		body, err := io.ReadAll(request.Body)
		if err != nil {
			return nil, err
		}
		request.Body = io.NopCloser(bytes.NewReader(body))
		response, err := next.RoundTrip(request)
		if err == nil {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.made = append(w.made, write{fmt.Sprintf("%s %s: %d", request.Method, request.URL, response.StatusCode), string(body)})
		}
		return response, err
	})
}

type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(request *http.Request) (*http.Response, error) { return t(request) }

// of returns the writes that concern none of the given objects.
func (w *writes) of(others ...string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var texts []string
	for _, one := range w.made {
		concerns := false
		for _, other := range others {
			concerns = concerns || strings.Contains(one.text, other) || strings.Contains(one.body, other)
		}
		if !concerns {
			texts = append(texts, one.text)
		}
	}
	return texts
}

// serve places a model in each of the ways in which devices are kept for pods, with a pod each that runs there, and verifies it.
func (w *world) serve(prefix string) {
	w.Helper()
	w.addNode(prefix+"1", 4)
	w.offerSlots(prefix+"1", 4)
	w.addClaimedNode(prefix+"2", 2)
	w.serveOn(prefix+"1", prefix+"-advisory", v1alpha1.EnforcementAdvisory)
	w.serveOn(prefix+"1", prefix+"-slot", v1alpha1.EnforcementSlot)
	w.serveOn(prefix+"2", prefix+"-claim", v1alpha1.EnforcementClaim)
}

// offerSlots offers the first slots of a node, as the node agent does.
func (w *world) offerSlots(name string, count int) {
	w.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	w.Change(node, func() {
		for i := range count {
			node.Status.Allocatable[corev1.ResourceName(fmt.Sprint(v1alpha1.SlotPrefix, i))] = resource.MustParse("1")
		}
	})
}

func (w *world) serveOn(node, name string, enforcement v1alpha1.Enforcement) {
	w.Helper()
	p := w.placement(name, 1, enforcement)
	p.Spec.Verification = &v1alpha1.Verification{Mode: v1alpha1.VerificationRequire}
	w.Must(w.Create(w.Context(), p))
	pod := w.pod(name+"-0", map[string]string{v1alpha1.LabelPlacement: name, binding.LabelIndex: "0"})
	// Without a mesh the pod is refused.
	w.Eventually("the pod of "+name+" is made", created(w, pod))
	w.Eventually("the pod of "+name+" runs on "+node, func(ctx context.Context) bool {
		found := &corev1.Pod{}
		w.Must(w.Get(ctx, client.ObjectKeyFromObject(pod), found))
		return found.Spec.NodeName == node
	})
}

// keyThere is what comes of making the key of a mesh anew, which is all that an operator can do that may read no Secret.
const keyThere = "/secrets?fieldManager=rankwright-operator-verification: 409"

// An operator that starts, or takes over, finds everything as it should be and writes nothing, not even an event.
func TestStartWritesNothing(t *testing.T) {
	w := newWorld(t, "restart")
	stop := w.operate(nil)
	w.serve("early")
	w.serve("middle") // what the operator had still to say of the former is said then
	stop()
	made := &writes{}
	w.Transport = made.count
	w.RunOperator(operator.Options{Planner: operation.FirstFit, VerifierImage: verifierImage, Webhook: w.Webhook()})
	w.AwaitWebhook()
	// What comes afterwards is served after all that was there.
	w.serve("late")
	for _, text := range made.of("middle", "late", "configmaps/rankwright-ledger", keyThere) {
		t.Errorf("the operator wrote: %s", text)
	}
}
