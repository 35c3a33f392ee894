package binding

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"unicode/utf8"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/clitest"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/shape"
	"github.com/rankwright/rankwright/test/operation"
)

// llm reads placement llm.
func (w *world) llm() *v1alpha1.ModelPlacement {
	w.Helper()
	p := &v1alpha1.ModelPlacement{}
	w.Must(w.Get(w.Context(), client.ObjectKey{Namespace: w.Home, Name: "llm"}, p))
	return p
}

// awaitReady waits until placement llm's Ready has a reason for the spec as it is and its pods are as many, and returns the placement.
func (w *world) awaitReadiness(reason, pods string) *v1alpha1.ModelPlacement {
	w.Helper()
	var p *v1alpha1.ModelPlacement
	w.Eventually(fmt.Sprintf("placement llm is %s with %s pods", reason, pods), func(context.Context) bool {
		p = w.llm()
		ready := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionReady)
		return ready != nil && ready.Reason == reason && ready.ObservedGeneration == p.Generation && p.Status.Summary.Pods == pods &&
			(ready.Status == metav1.ConditionTrue) == (reason == "Running")
	})
	return p
}

// turn writes whether a pod is ready, as its kubelet does.
func (w *world) turn(pod *corev1.Pod, status corev1.ConditionStatus) {
	w.Helper()
	next := pod.DeepCopy()
	next.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: status}}
	w.Must(w.Status().Patch(w.Context(), next, client.MergeFrom(pod)))
}

// Ready follows the pods, and neither the planner nor the ledger hears of it.
func TestReadyFollowsThePods(t *testing.T) {
	w := newWorld(t, "ready")
	var asked atomic.Int32
	w.planner = func(ctx context.Context, c *fleet.Cluster, r shape.Request) (*v1alpha1.ShardingPlanSpec, error) {
		asked.Add(1)
		return operation.KeepingFit(ctx, c, r)
	}
	w.operate(nil)
	w.addNode("a", 2)
	w.addNode("b", 2)
	w.place("llm", 2, v1alpha1.EnforcementAdvisory)
	w.awaitPlan("llm-1")
	if none := w.awaitReadiness("NoPods", "0/2"); none.Status.Replicas != 0 || none.Status.PlannedReplicas != 2 {
		t.Errorf("without pods: %+v", none.Status)
	}
	ledger, before := &corev1.ConfigMap{}, asked.Load()
	record := client.ObjectKey{Namespace: operation.Namespace, Name: "rankwright-ledger"}
	w.Must(w.Get(t.Context(), record, ledger))
	version := ledger.ResourceVersion

	w.runStatefulSet(2)
	w.awaitPods(2, "scheduled", scheduled)
	w.awaitReadiness("PodsNotReady", "0/2")
	pods := w.awaitRunning(2)
	if all := w.awaitReadiness("Running", "2/2"); all.Status.Replicas != 2 || all.Status.ReadyReplicas != 2 {
		t.Errorf("with all pods: %+v", all.Status)
	}
	for range 3 {
		w.turn(w.pods()["1"], corev1.ConditionFalse)
		if one := w.awaitReadiness("PodsNotReady", "1/2"); one.Status.Replicas != 2 || one.Status.ReadyReplicas != 1 {
			t.Errorf("with one that is not ready: %+v", one.Status)
		}
		w.turn(w.pods()["1"], corev1.ConditionTrue)
		w.awaitReadiness("Running", "2/2")
	}
	if after := asked.Load(); after != before {
		t.Errorf("the planner was asked %d times while pods came and failed", after-before)
	}
	w.Must(w.Get(t.Context(), record, ledger))
	if ledger.ResourceVersion != version {
		t.Error("the ledger was written while pods came and failed")
	}
	if again := w.pods(); again["0"].UID != pods["0"].UID || again["1"].UID != pods["1"].UID {
		t.Error("pods were made anew")
	}
	w.awaitEventsOf("Placed", "Ready", "PodsNotReady")
}

// awaitEventsOf waits for events of placement llm.
func (w *world) awaitEventsOf(reasons ...string) {
	w.Helper()
	const name = "llm"
	for _, reason := range reasons {
		w.Eventually(fmt.Sprintf("there is an event %s of %s", reason, name), func(ctx context.Context) bool {
			var all eventsv1.EventList
			w.Must(w.List(ctx, &all, client.InNamespace(w.Home)))
			for i := range all.Items {
				if e := &all.Items[i]; e.Regarding.Kind == "ModelPlacement" && e.Regarding.Name == name && e.Reason == reason {
					return true
				}
			}
			return false
		})
	}
}

// A placement that comes no nearer says so after its deadline.
func TestProgressDeadlinePasses(t *testing.T) {
	w := newWorld(t, "deadline")
	w.operate(nil)
	w.addNode("a", 2)
	asked := w.placement("llm", 1, v1alpha1.EnforcementAdvisory)
	second := int32(1)
	asked.Spec.ProgressDeadlineSeconds = &second
	w.Must(w.Create(t.Context(), asked))
	w.Eventually("the deadline has passed", func(context.Context) bool {
		c := meta.FindStatusCondition(w.llm().Status.Conditions, v1alpha1.ConditionProgressing)
		return c != nil && c.Status == metav1.ConditionFalse && c.Reason == "ProgressDeadlineExceeded"
	})
	w.awaitEventsOf("ProgressDeadlineExceeded")
}

// stories are the states that kubectl shows, each from a world with two nodes of two devices and the real planner.
var stories = []struct {
	name string
	// tell brings placement llm into the state, and events of these reasons are there then.
	tell   func(*world)
	events []string
}{
	{"running", func(w *world) {
		w.place("llm", 2, v1alpha1.EnforcementAdvisory)
		w.awaitPlan("llm-1")
		w.runStatefulSet(2)
		w.awaitRunning(2)
		w.awaitReadiness("Running", "2/2")
	}, []string{"Placed", "Ready"}},
	{"waiting-for-pods", func(w *world) {
		w.place("llm", 2, v1alpha1.EnforcementAdvisory)
		w.awaitPlan("llm-1")
		w.runStatefulSet(1)
		w.awaitRunning(1)
		w.awaitReadiness("PodsMissing", "1/2")
	}, []string{"Placed"}},
	{"unplaceable", func(w *world) {
		w.place("llm", 3, v1alpha1.EnforcementAdvisory)
		w.Eventually("it is said what would make it fit", func(context.Context) bool {
			s := w.llm().Status.Shortfall
			return s != nil && len(s.Suggestions) > 0
		})
		w.awaitReadiness("TooFewDevices", "0/0")
	}, []string{"TooFewDevices"}},
	{"shared-load", func(w *world) {
		w.share(14)
		w.awaitPlan("llm-1")
		w.runStatefulSet(2)
		w.awaitRunning(2)
		w.awaitReadiness("Running", "2/2")
	}, []string{"Placed", "Ready"}},
	{"shared-load-too-large", func(w *world) {
		w.share(40)
		w.Eventually("it is said what would make it fit", func(context.Context) bool {
			s := w.llm().Status.Shortfall
			return s != nil && len(s.Suggestions) > 0
		})
		w.awaitReadiness("TooFewDevices", "0/0")
	}, []string{"TooFewDevices"}},
	{"devices-lost", func(w *world) {
		w.place("llm", 2, v1alpha1.EnforcementAdvisory)
		w.awaitPlan("llm-1")
		w.runStatefulSet(2)
		w.awaitRunning(2)
		w.awaitReadiness("Running", "2/2")
		w.lose(0)
		w.Eventually("it is said what would make it fit", func(context.Context) bool {
			s := w.llm().Status.Shortfall
			return s != nil && len(s.Suggestions) > 0
		})
		w.awaitReadiness("DevicesLost", "2/2")
	}, []string{"Placed", "Ready", "DevicesLost"}},
	{"invalid", func(w *world) {
		asked := w.placement("llm", 1, v1alpha1.EnforcementAdvisory)
		asked.Spec.Model = v1alpha1.ModelSource{ConfigMap: &v1alpha1.ConfigMapKey{Name: "missing"}}
		w.Must(w.Create(w.Context(), asked))
		w.awaitReadiness("ConfigMapNotFound", "0/0")
	}, []string{"ConfigMapNotFound"}},
}

// share creates placement llm for so many long sequences at once over copies of two devices, of which nobody says how many there are.
func (w *world) share(sequences int32) {
	asked := w.placement("llm", 1, v1alpha1.EnforcementAdvisory)
	asked.Spec.Replicas, asked.Spec.Quantization, asked.Spec.Parallelism = nil, "BF16", &v1alpha1.Parallelism{Tensor: new(int32(2)), Pipeline: new(int32(1))}
	asked.Spec.Workload.Inference = &v1alpha1.InferenceWorkload{MaxModelLen: 4 << 20, TotalSequences: sequences}
	w.Must(w.Create(w.Context(), asked))
}

// terminalWidth is what kubectl's output is read in.
const terminalWidth = 120

// TestStories holds what the real kubectl shows of a placement to golden files; -update writes them anew.
func TestStories(t *testing.T) {
	for _, story := range stories {
		t.Run(story.name, func(t *testing.T) {
			w := newWorld(t, "story-"+story.name)
			w.planner = operation.Unhurried
			w.operate(nil)
			w.addNode("a", 2)
			w.addNode("b", 2)
			story.tell(w)
			w.awaitEventsOf(story.events...)
			shown := timeless(cluster.Kubectl(t, "get", "mp", "-n", w.Home)) + "\n" + timeless(cluster.Kubectl(t, "describe", "mp", "llm", "-n", w.Home))
			// A terminal wraps what has several sentences.
			for line := range strings.Lines(shown) {
				if width := utf8.RuneCountInString(strings.TrimRight(line, " \n")); width > terminalWidth && strings.Count(line, ". ") == 0 {
					t.Errorf("%d columns, want at most %d: %s", width, terminalWidth, line)
				}
			}
			golden(t, story.name+".txt", shown)
		})
	}
}

// volatile is what differs between two runs, in what kubectl prints.
var volatile = []struct {
	is   *regexp.Regexp
	text string
}{
	{regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`), "UID"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`), "TIME"},
	{regexp.MustCompile(`(Resource Version: +)\d+`), "${1}N"},
	{regexp.MustCompile(`(?m)^(  (?:Normal|Warning) +\S+ +)\S+( \(x\d+ over \S+\))? +(rankwright-operator)`), "${1}AGE  ${3}"},
	{regexp.MustCompile(`(?m)^( {2}Type +Reason +)Age +(From)`), "${1}Age  ${2}"},
	{regexp.MustCompile(`(?m)^( {2}----\s+-{6}\s+)---- +(----)`), "${1}---  ${2}"},
	{regexp.MustCompile(`(?m)\d+s *$`), "AGE"},
	{regexp.MustCompile(`(?m) +$`), ""},
}

// timeless is a text without what differs between two runs.
func timeless(text string) string {
	for _, v := range volatile {
		text = v.is.ReplaceAllString(text, v.text)
	}
	// Conditions stand in the order in which their writers came.
	return blocks.ReplaceAllStringFunc(text, func(all string) string {
		each := oneBlock.FindAllString(all, -1)
		slices.SortFunc(each, func(a, b string) int {
			return cmp.Compare(a[strings.LastIndex(a, "Type:"):], b[strings.LastIndex(b, "Type:"):])
		})
		return strings.Join(each, "")
	})
}

// blocks are all conditions as kubectl describes them, oneBlock is one.
var (
	blocks   = regexp.MustCompile(`( {4}Last Transition Time:(.*\n){6})+`)
	oneBlock = regexp.MustCompile(` {4}Last Transition Time:(.*\n){6}`)
)

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "stories", name)
	if *clitest.Update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v: run the test with -update", err)
	}
	if diff := gocmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}
