package dra

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/rankwright/rankwright/pkg/nodeagent/resourceapi"
)

// sliceServer is an API server that has one ResourceSlice at most, and may drop the taints of what is written.
type sliceServer struct {
	t            *testing.T
	drops        func(dryRun bool) bool
	refuses      error // to be asked without a write
	there        *unstructured.UnstructuredList
	asks, writes int
	// seen are the devices of every write.
	seen [][]resourceapi.Device
}

func (s *sliceServer) client() dynamic.Interface {
	s.there = &unstructured.UnstructuredList{Object: map[string]any{"kind": "ResourceSliceList", "apiVersion": "resource.k8s.io/v1"}}
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{resourceapi.Slices: "ResourceSliceList"})
	client.PrependReactor("get", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, &unstructured.Unstructured{Object: map[string]any{"kind": "Node", "apiVersion": "v1", "metadata": map[string]any{"name": testNode, "uid": "node-uid"}}}, nil
	})
	client.PrependReactor("list", "resourceslices", func(clienttesting.Action) (bool, runtime.Object, error) { return true, s.there, nil })
	client.PrependReactor("patch", "resourceslices", s.patch)
	return client
}

func (s *sliceServer) patch(action clienttesting.Action) (bool, runtime.Object, error) {
	patch, isPatch := action.(clienttesting.PatchActionImpl)
	if !isPatch {
		s.t.Fatalf("%T is no patch", action)
	}
	slice := resourceapi.Slice{}
	if err := json.Unmarshal(patch.GetPatch(), &slice); err != nil {
		s.t.Fatal(err)
	}
	dryRun := slices.Equal(patch.PatchOptions.DryRun, []string{metav1.DryRunAll})
	if s.drops(dryRun) {
		for i := range slice.Spec.Devices {
			slice.Spec.Devices[i].Taints = nil
		}
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&slice)
	if err != nil {
		s.t.Fatal(err)
	}
	answer := &unstructured.Unstructured{Object: content}
	if dryRun {
		s.asks++
		return true, answer, s.refuses
	}
	s.there.Items, s.writes, s.seen = []unstructured.Unstructured{*answer}, s.writes+1, append(s.seen, slice.Spec.Devices)
	return true, answer, nil
}

// offered has a device without a taint, one of a slot, and one that is cordoned.
func offered() []resourceapi.Device {
	all := devices(3)
	all[1].Taints = []resourceapi.Taint{{Key: "rankwright.dev/slot-7f3a9c21-0", Effect: "NoSchedule"}}
	all[2].Taints = []resourceapi.Taint{{Key: "rankwright.dev/cordoned", Effect: "NoSchedule"}}
	return all
}

// namesOf returns the devices' names, with a star behind the name of a device that has taints.
func namesOf(devices []resourceapi.Device) []string {
	var names []string
	for _, d := range devices {
		name := d.Name
		if len(d.Taints) > 0 {
			name += "*"
		}
		names = append(names, name)
	}
	return names
}

// A device that new pods may not get is listed with a taint where taints last, and nowhere else. An API server that drops
// taints, as before Kubernetes 1.36, is asked again once in a while, without a write.
func TestTaintsAreWrittenWhereTheyLast(t *testing.T) {
	always := func(drops bool) func(bool) bool { return func(bool) bool { return drops } }
	tainted := []string{gpuName(0), gpuName(1) + "*", gpuName(2) + "*"}
	plain := []string{gpuName(0), gpuName(1)}
	tests := []struct {
		name         string
		drops        func(dryRun bool) bool
		refuses      error
		want         []string
		asks, writes int
	}{
		{"they last", always(false), nil, tainted, 1, 1},
		{"they are dropped", always(true), nil, plain, 1, 1},
		{"nothing can be asked without a write", always(false), apierrors.NewBadRequest("a webhook does not support dry run"), plain, 1, 1},
		{"another API server takes the write and drops them", func(dryRun bool) bool { return !dryRun }, nil, plain, 1, 2},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			s := &sliceServer{t: t, drops: tc.drops, refuses: tc.refuses}
			now := clocktesting.NewFakePassiveClock(time.Unix(0, 0).Add(time.Hour))
			p := &publisher{client: s.client(), node: testNode, clock: now}
			for range 3 {
				if _, err := p.publish(t.Context(), offered()); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(tc.want, namesOf(s.seen[len(s.seen)-1])); diff != "" {
				t.Errorf("devices (-want +got):\n%s", diff)
			}
			if s.asks != tc.asks || s.writes != tc.writes {
				t.Errorf("it was asked %d times and written %d times, want %d and %d", s.asks, s.writes, tc.asks, tc.writes)
			}
		})
	}
}

// An API server that is upgraded is found to take taints, without a start of the agent.
func TestTaintsAreAskedForAgain(t *testing.T) {
	dropped := true
	s := &sliceServer{t: t, drops: func(bool) bool { return dropped }}
	now := clocktesting.NewFakePassiveClock(time.Unix(0, 0).Add(time.Hour))
	p := &publisher{client: s.client(), node: testNode, clock: now}
	publish := func() []string {
		t.Helper()
		if _, err := p.publish(t.Context(), offered()); err != nil {
			t.Fatal(err)
		}
		return namesOf(s.seen[len(s.seen)-1])
	}
	before := publish()
	dropped = false
	if after := publish(); !slices.Equal(before, after) || s.asks != 1 {
		t.Errorf("%v, asked %d times, before it is time", after, s.asks)
	}
	now.SetTime(now.Now().Add(askAgain))
	if after := publish(); !slices.Equal(after, namesOf(offered())) || s.asks != 2 {
		t.Errorf("%v after it was asked %d times", after, s.asks)
	}
}
