package dra

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/rankwright/rankwright/pkg/nodeagent/resourceapi"
)

var node = &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: testNode, UID: "node-uid"}}

func devices(count int) []resourceapi.Device {
	all := make([]resourceapi.Device, count)
	for i := range all {
		d := gpu(i)
		all[i] = sliced(&d, "")
	}
	return all
}

// at gives slices a generation.
func at(generation int64, all []resourceapi.Slice) []resourceapi.Slice {
	for i := range all {
		all[i].Spec.Pool.Generation = generation
	}
	return all
}

func TestSlicesAreAsManyAsNeeded(t *testing.T) {
	for count, want := range map[int][]int{0: {0}, 1: {1}, 64: {64}, 65: {64, 1}, 150: {64, 64, 22}} {
		var got []int
		for i, slice := range slicesOf(devices(count), node) {
			got = append(got, len(slice.Spec.Devices))
			if slice.Name != sliceName(testNode, i) || slice.Spec.Pool.ResourceSliceCount != int64(len(want)) || slice.Spec.NodeName != testNode ||
				len(slice.OwnerReferences) != 1 || slice.OwnerReferences[0].UID != node.UID {
				t.Errorf("%d devices: slice %d is %+v", count, i, slice)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%d devices (-want +got):\n%s", count, diff)
		}
	}
}

// What is written again keeps the times of its taints, and times alone are no reason to write.
func TestTaintsKeepTheirTimes(t *testing.T) {
	added, since := metav1.Unix(1000, 0), metav1.Unix(2000, 0)
	cordoned := func(at *metav1.Time) []resourceapi.Taint {
		return []resourceapi.Taint{{Key: "rankwright.dev/cordoned", Effect: "NoSchedule", TimeAdded: at}}
	}
	there, wanted := at(3, slicesOf(devices(2), node)), slicesOf(devices(2), node)
	there[0].Spec.Devices[0].Taints, wanted[0].Spec.Devices[0].Taints = cordoned(&added), cordoned(nil)
	if c := changeTo(wanted, there); !c.none() {
		t.Errorf("%+v, though times alone differ", c)
	}
	wanted[0].Spec.Devices[1].Taints = []resourceapi.Taint{{Key: "rankwright.dev/unhealthy", Effect: "NoExecute", TimeAdded: &since}}
	written := changeTo(wanted, there).write[0].Spec.Devices
	if got := written[0].Taints[0].TimeAdded; got == nil || !got.Equal(&added) {
		t.Errorf("the cordon is from %v, want %v", got, added)
	}
	if got := written[1].Taints[0].TimeAdded; got == nil || !got.Equal(&since) {
		t.Errorf("the illness is from %v, want %v", got, since)
	}
	if wanted[0].Spec.Devices[0].Taints[0].TimeAdded != nil {
		t.Error("what is wanted was changed")
	}
}

func TestChange(t *testing.T) {
	recreated := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: testNode, UID: "other"}}
	renamed := slicesOf(devices(2), node)
	renamed[0].Name = "of-another-writer"
	mixed := at(4, slicesOf(devices(100), node))
	mixed[1].Spec.Pool.Generation = 3
	tests := []struct {
		name          string
		wanted, there []resourceapi.Slice
		write         int
		generation    int64
		remove        int
	}{
		{"nothing is there", slicesOf(devices(2), node), nil, 1, 1, 0},
		{"all is there", slicesOf(devices(100), node), at(7, slicesOf(devices(100), node)), 0, 0, 0},
		{"a device more", slicesOf(devices(3), node), at(7, slicesOf(devices(2), node)), 1, 8, 0},
		{"none left", slicesOf(nil, node), at(7, slicesOf(devices(2), node)), 1, 8, 0},
		{"a slice more: all have the next generation", slicesOf(devices(65), node), at(7, slicesOf(devices(64), node)), 2, 8, 0},
		{"a slice less", slicesOf(devices(64), node), at(7, slicesOf(devices(65), node)), 1, 8, 1},
		{"one of two was deleted", slicesOf(devices(65), node), at(7, slicesOf(devices(65), node)[:1]), 2, 8, 0},
		{"a write that failed half-way", slicesOf(devices(100), node), mixed, 2, 5, 0},
		{"another Node of the name", slicesOf(devices(2), recreated), at(7, slicesOf(devices(2), node)), 1, 8, 0},
		{"a slice of another name", slicesOf(devices(2), node), at(2, renamed), 1, 3, 1},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			got := changeTo(tc.wanted, tc.there)
			if len(got.write) != tc.write || len(got.remove) != tc.remove || got.none() != (tc.write == 0 && tc.remove == 0) {
				t.Fatalf("%+v, want %d to write and %d to remove", got, tc.write, tc.remove)
			}
			for _, slice := range got.write {
				if slice.Spec.Pool.Generation != tc.generation {
					t.Errorf("%s has generation %d, want %d", slice.Name, slice.Spec.Pool.Generation, tc.generation)
				}
			}
		})
	}
}

// The longest name of a Node leaves room for none of ours.
func TestSliceName(t *testing.T) {
	long := strings.Repeat("n", validation.DNS1123SubdomainMaxLength)
	for _, node := range []string{"a", "a.b", long, long[:250]} {
		for _, number := range []int{0, 12} {
			name := sliceName(node, number)
			if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
				t.Errorf("%s: %s", name, problems)
			}
		}
	}
	if sliceName(long, 0) == sliceName(long[:250], 0) {
		t.Error("two Nodes have slices of one name")
	}
}
