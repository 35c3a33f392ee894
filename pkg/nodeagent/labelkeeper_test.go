package nodeagent

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// labelWar is a Node whose label somebody removes each time that it is there.
type labelWar struct {
	keeper labelKeeper
	node   *metav1.PartialObjectMetadata
	writes int
}

var wantedLabels = map[string]string{"rankwright.dev/accelerator": "true"}

func newLabelWar() *labelWar {
	return &labelWar{node: &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "a"}}}
}

// turn writes what the keeper lets through; removed takes it away again.
func (w *labelWar) turn(now time.Time, removed bool) {
	desired := w.keeper.withhold(w.node, wantedLabels, now)
	if len(desired) > 0 && w.node.Labels["rankwright.dev/accelerator"] == "" {
		w.writes++
		w.keeper.wrote(w.node, desired, now)
		w.node.Labels = desired
	}
	if removed {
		w.node.Labels = nil
	}
}

func TestLabelsRemovedInALoopAreWrittenRarely(t *testing.T) {
	w := newLabelWar()
	start := time.Unix(1_000_000, 0)
	for second := range 3600 {
		w.turn(start.Add(time.Duration(second)*time.Second), true)
	}
	// At 0 and 1 s, then after 10, 20, 40, 80, 160 and each 300 s.
	if w.writes < 10 || w.writes > 20 {
		t.Errorf("%d writes in an hour in which the label was removed each second", w.writes)
	}
	keys, next := w.keeper.contested(start.Add(time.Hour))
	if diff := cmp.Diff([]string{"rankwright.dev/accelerator"}, keys); diff != "" {
		t.Errorf("contested (-want +got):\n%s", diff)
	}
	if next.IsZero() || next.After(start.Add(time.Hour+2*lastSpacing)) {
		t.Errorf("the next look is at %s", next)
	}
	quiet := start.Add(2 * time.Hour)
	w.turn(quiet, false)
	if w.node.Labels == nil {
		t.Error("the label did not come back when nobody removed it any more")
	}
	if keys, _ := w.keeper.contested(quiet.Add(2*lastSpacing + time.Second)); keys != nil {
		t.Errorf("%v are contested after they were left alone", keys)
	}
}

func TestLabelRemovedOnceComesBackAtOnce(t *testing.T) {
	w := newLabelWar()
	now := time.Unix(1_000_000, 0)
	w.turn(now, true)
	w.turn(now, false)
	if w.writes != 2 || w.node.Labels == nil {
		t.Errorf("%d writes, labels %v; want the label back", w.writes, w.node.Labels)
	}
	if keys, next := w.keeper.contested(now); keys != nil || !next.IsZero() {
		t.Errorf("contested = %v, next look at %s; one removal is no contest", keys, next)
	}
}

func TestNodeCreatedAnewHasItsLabelsAtOnce(t *testing.T) {
	w := newLabelWar()
	now := time.Unix(1_000_000, 0)
	for range 5 {
		w.turn(now, true)
	}
	writes := w.writes
	w.node = &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: types.UID("b")}}
	w.turn(now, false)
	if w.writes != writes+1 {
		t.Error("the labels of a new Node waited for those of the old one")
	}
}
