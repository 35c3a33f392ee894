package nodeagent_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	apply "github.com/rankwright/rankwright/api/v1alpha1/applyconfiguration/api/v1alpha1"
)

// slot has the operator keep devices of the site, and no others.
func (s *site) slot(kept ...v1alpha1.Slot) {
	s.t.Helper()
	patch := apply.AcceleratorInventory(s.name)
	if len(kept) > 0 {
		status := apply.AcceleratorInventoryStatus()
		for _, slot := range kept {
			status.WithSlots(apply.Slot().WithDevice(slot.Device).WithResource(slot.Resource))
		}
		patch.WithStatus(status)
	}
	if err := s.admin.Status().Apply(s.t.Context(), patch, client.FieldOwner(v1alpha1.OperatorFieldManager)); err != nil {
		s.t.Fatal(err)
	}
}

// The agent writes the same status as the operator, and neither takes the operator's slots nor removes them.
func TestSlotsAreTheOperators(t *testing.T) {
	s := newSite(t, "slotted")
	s.nvidia.set(gpu(0))
	s.once()
	kept := v1alpha1.Slot{Device: gpu(0).ID, Resource: v1alpha1.SlotPrefix + "0"}
	s.slot(kept)
	writes := s.writes.n.Load()
	s.once()
	if s.writes.n.Load() != writes {
		t.Error("a slot is no reason for the agent to write")
	}
	s.nvidia.set(gpu(0), gpu(1))
	s.once()
	inventory := s.inventory()
	if diff := cmp.Diff([]v1alpha1.Slot{kept}, inventory.Status.Slots); diff != "" || len(inventory.Status.Devices) != 2 {
		t.Errorf("%d devices, slots (-want +got):\n%s", len(inventory.Status.Devices), diff)
	}
	for _, entry := range inventory.ManagedFields {
		if entry.Manager != v1alpha1.OperatorFieldManager && strings.Contains(entry.FieldsV1.GetRawString(), `"f:slots"`) {
			t.Errorf("%s holds the slots beside the operator", entry.Manager)
		}
	}
	s.slot()
	s.once()
	if slots := s.inventory().Status.Slots; len(slots) != 0 {
		t.Errorf("slots %v are left after the operator gave them up", slots)
	}
}
