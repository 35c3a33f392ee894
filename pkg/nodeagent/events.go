package nodeagent

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/clock"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
)

const (
	// eventBudget is how many events are made in eventWindow; more changes are summed up in one.
	eventBudget = 10
	eventWindow = time.Minute
	// eventNamespace is where events about objects without a namespace belong.
	eventNamespace = metav1.NamespaceDefault
)

// eventRecorder tells of changed health by events about the inventory. What was published is what was told: a restart
// tells nothing twice.
type eventRecorder struct {
	client dynamic.Interface
	node   string
	clock  clock.PassiveClock
	log    *slog.Logger

	// window is when the present one began, made how many events it has.
	window time.Time
	made   int
	// untold counts the changes that wait for the next window, by what they are.
	untold map[string]int
}

// event is an Event of the API to make.
type event struct {
	kind, reason, note string
	// key makes the name of the Event: the same event is made once.
	key string
}

// tell makes the events. That one cannot be made is logged: the inventory says the same.
func (r *eventRecorder) tell(ctx context.Context, inventory types.UID, changes []healthChange) {
	for _, e := range r.plan(changes) {
		if err := r.create(ctx, e, inventory); err != nil {
			r.log.Warn("event not made", "reason", e.reason, "note", e.note, "error", err)
			return
		}
	}
}

// plan chooses what to tell within the budget, whose last event is the sum of the rest.
func (r *eventRecorder) plan(changes []healthChange) []event {
	now := r.clock.Now()
	if now.Sub(r.window) >= eventWindow {
		r.window, r.made = now, 0
	}
	var planned []event
	for _, c := range changes {
		if r.made >= eventBudget-1 {
			if r.untold == nil {
				r.untold = map[string]int{}
			}
			r.untold[stateAndReason(c.after)]++
			continue
		}
		planned = append(planned, c.event())
		r.made++
	}
	if len(r.untold) > 0 && r.made < eventBudget {
		planned = append(planned, r.sum(now))
		r.untold, r.made = nil, r.made+1
	}
	return planned
}

func (c healthChange) event() event {
	kind := "Warning"
	if c.after.State == v1alpha1.Healthy {
		kind = "Normal"
	}
	note := fmt.Sprintf("%s: %s, was %s", c.device, stateAndReason(c.after), stateAndReason(c.before))
	if c.after.Message != "" {
		note += ": " + c.after.Message
	}
	return event{
		kind: kind, reason: healthEvents[c.after.State], note: note,
		key: fmt.Sprint(c.device, c.after.State, c.after.Reason, c.before.State, c.before.Reason, c.after.Since),
	}
}

// sum tells of the changes that had no event of their own.
func (r *eventRecorder) sum(now time.Time) event {
	var parts []string
	for _, what := range slices.Sorted(maps.Keys(r.untold)) {
		parts = append(parts, fmt.Sprintf("%d to %s", r.untold[what], what))
	}
	return event{
		kind: "Warning", reason: eventMany, note: "the health of more devices changed: " + strings.Join(parts, ", "),
		key: fmt.Sprint(eventMany, now.UnixNano()),
	}
}

func stateAndReason(h v1alpha1.DeviceHealth) string {
	if h.Reason == "" {
		return string(h.State)
	}
	return fmt.Sprintf("%s (%s)", h.State, h.Reason)
}

func (r *eventRecorder) create(ctx context.Context, e event, inventory types.UID) error {
	_, err := r.client.Resource(events).Namespace(eventNamespace).Create(ctx, r.manifest(e, inventory), metav1.CreateOptions{
		FieldManager: v1alpha1.NodeAgentFieldManager,
	})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

func (r *eventRecorder) manifest(e event, inventory types.UID) *unstructured.Unstructured {
	made := manifest(events.GroupVersion(), "Event", object{
		"name": r.node + "." + words.Digest(e.key, 16), "namespace": eventNamespace,
	})
	maps.Copy(made.Object, object{
		"type": e.kind, "reason": e.reason, "action": "Observe", "note": words.Note(e.note),
		"eventTime":           r.clock.Now().UTC().Format(metav1.RFC3339Micro),
		"reportingController": v1alpha1.Prefix + "node-agent",
		"reportingInstance":   words.Cut(r.node, 128),
		"regarding": object{
			"apiVersion": v1alpha1.GroupVersion.String(), "kind": "AcceleratorInventory",
			"name": r.node, "uid": string(inventory),
		},
	})
	return made
}
