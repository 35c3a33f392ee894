package dra

import (
	"strings"
	"testing"

	dra "k8s.io/kubelet/pkg/apis/dra/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/nodeagent/resourceapi"
)

// A device that is prepared for one claim is not for another, but for an administrator's look, until the first is done with:
// also for an agent that was not there when it was prepared.
func TestNoDeviceIsPreparedTwice(t *testing.T) {
	first := claimOf(resultFor("a", 1))
	h, _ := newHandler(t, wantedOf(statusOf(gpu(1), gpu(2))))
	h.options.Client = claimsAt(t, first)
	folder := t.TempDir()
	h.checkpoint = openedIn(t, folder)
	if _, err := h.prepare(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	h.checkpoint = openedIn(t, folder)
	other := called("other", claimOf(resultFor("a", 2), resultFor("a", 1)))
	_, err := h.prepare(t.Context(), other)
	if err == nil || !strings.Contains(err.Error(), "claim models/other: device amd-0000:01:00.0 is prepared for claim models/llama: delete one") {
		t.Errorf("%v", err)
	}
	look := called("look", claimOf(resultFor("a", 1)))
	look.Status.Allocation.Devices.Results[0].AdminAccess = true
	if _, err := h.prepare(t.Context(), look); err != nil {
		t.Error(err)
	}
	if err := h.unprepare(&dra.Claim{Uid: "uid-1"}); err != nil {
		t.Fatal(err)
	}
	if _, err := h.prepare(t.Context(), other); err != nil {
		t.Error(err)
	}
}

// A claim that an earlier agent prepared, and that the kubelet never unprepared, keeps its devices until claim and pod are gone.
func TestClaimThatIsGoneMakesWay(t *testing.T) {
	elsewhere := claimOf(resultFor("a", 2))
	renewed := claimOf(resultFor("a", 1))
	renewed.UID = "uid-9"
	unallocated := claimOf()
	unallocated.Status.Allocation = nil
	running := heldBy("worker", v1alpha1.DRADriver, statusOf(gpu(1), gpu(2)))
	well := statusOf(gpu(1), gpu(2))
	tests := []struct {
		name   string
		status *v1alpha1.AcceleratorInventoryStatus
		there  []*resourceapi.Claim
		same   bool // the agent did not end meanwhile
		way    bool
	}{
		{"it is gone, and the kubelet will say that it is done with it", well, nil, true, false},
		{"it is there", well, []*resourceapi.Claim{claimOf(resultFor("a", 1))}, false, false},
		{"it is gone", well, nil, false, true},
		{"it is gone and its pod runs", running, nil, false, false},
		{"another of its name", well, []*resourceapi.Claim{renewed}, false, true},
		{"it has another device", well, []*resourceapi.Claim{elsewhere}, false, true},
		{"it is not allocated", well, []*resourceapi.Claim{unallocated}, false, true},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			h, folder := newHandler(t, wantedOf(well))
			h.checkpoint = openedIn(t, folder)
			if _, err := h.prepare(t.Context(), claimOf(resultFor("a", 1))); err != nil {
				t.Fatal(err)
			}
			next, _ := newHandler(t, wantedOf(tc.status))
			next.checkpoint, next.options.Client = h.checkpoint, claimsAt(t, tc.there...)
			if !tc.same {
				next.checkpoint = openedIn(t, folder)
			}
			after := called("after", claimOf(resultFor("a", 1)))
			after.Status.ReservedFor = []resourceapi.Consumer{{Resource: "pods", Name: "after"}}
			_, err := next.prepare(t.Context(), after)
			if (err == nil) != tc.way {
				t.Errorf("it makes way: %t (%v), want %t", err == nil, err, tc.way)
			}
			if _, kept := next.checkpoint.book["uid-1"]; kept == tc.way {
				t.Errorf("the book has it still: %t", kept)
			}
		})
	}
}
