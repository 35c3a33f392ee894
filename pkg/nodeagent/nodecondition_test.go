package nodeagent

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

func TestAcceleratorsReady(t *testing.T) {
	of := func(id v1alpha1.DeviceID, state v1alpha1.HealthState, reason string, served bool) v1alpha1.Device {
		d := v1alpha1.Device{ID: id, Family: v1alpha1.FamilyGPU, Health: v1alpha1.DeviceHealth{State: state, Reason: reason}}
		if served {
			d.Service = &v1alpha1.DeviceService{Server: v1alpha1.ServedByDevicePlugin, Resource: "nvidia.com/gpu"}
		}
		return d
	}
	processor := of("cpu-0", v1alpha1.Healthy, "", false)
	processor.Family = v1alpha1.FamilyCPU
	condition := func(kind, status, reason, message string) metav1.Condition {
		return metav1.Condition{Type: kind, Status: metav1.ConditionStatus(status), Reason: reason, Message: message}
	}
	looked, asked := condition("Detected", "True", "AllBackendsLooked", ""), condition("AllocationsCurrent", "True", "KubeletAnswers", "")
	blind := condition("Detected", "False", "BackendFailed", "could not look: nvidia")
	late, lost := condition("Served", "Unknown", "Registering", "registering"), condition("Served", "False", "PoolsNotServed", "the kubelet is away")
	well, ill := of("a", v1alpha1.Healthy, "", true), of("b", v1alpha1.Unhealthy, "ECC", true)
	unseen, unwatched, unserved := of("c", v1alpha1.Unknown, "NoAnswer", true), of("d", v1alpha1.Unknown, v1alpha1.ReasonNotMonitored, true), of("e", v1alpha1.Healthy, "", false)
	const everybody = "served by nobody, so serve their vendor here or install its device plugin or DRA driver: e"
	tests := []struct {
		name       string
		devices    []v1alpha1.Device
		cordoned   []v1alpha1.DeviceID
		conditions []metav1.Condition
		want       metav1.Condition
	}{
		{
			"all is well",
			[]v1alpha1.Device{well, unwatched, processor},
			nil,
			[]metav1.Condition{looked, asked},
			condition("", "True", "AllDevicesReady", "every accelerator is detected, usable and served"),
		},
		{"no accelerator", []v1alpha1.Device{processor}, nil, []metav1.Condition{looked, asked}, condition("", "False", "NoAccelerators", "the node has no accelerator any more")},
		{"none is seen", nil, nil, []metav1.Condition{blind, asked}, condition("", "Unknown", "BackendFailed", "could not look: nvidia")},
		{"one is ill", []v1alpha1.Device{well, ill}, nil, []metav1.Condition{looked, asked}, condition("", "False", "DevicesUnhealthy", "not usable: b (ECC)")},
		{
			"the ill one is cordoned",
			[]v1alpha1.Device{well, ill},
			[]v1alpha1.DeviceID{"b"},
			[]metav1.Condition{looked, asked},
			condition("", "True", "AllDevicesReady", "every accelerator is detected, usable and served"),
		},
		{"one is not seen", []v1alpha1.Device{well, unseen}, nil, []metav1.Condition{looked, asked}, condition("", "Unknown", "DevicesUnknown", "not known to be usable: c (NoAnswer)")},
		{"one is served by nobody", []v1alpha1.Device{well, unserved}, nil, []metav1.Condition{looked, asked}, condition("", "False", "DevicesNotServed", everybody)},
		{
			"nobody can be asked who serves it",
			[]v1alpha1.Device{unserved},
			nil,
			[]metav1.Condition{looked},
			condition("", "True", "AllDevicesReady", "every accelerator is detected, usable and served"),
		},
		{"the kubelet is on its way", []v1alpha1.Device{well}, nil, []metav1.Condition{looked, late, asked}, condition("", "Unknown", "Registering", "registering")},
		{
			"the worst counts and all is told",
			[]v1alpha1.Device{ill, unseen, unserved},
			nil,
			[]metav1.Condition{blind, lost, asked},
			condition("", "False", "PoolsNotServed", "could not look: nvidia; the kubelet is away; not usable: b (ECC); "+everybody+"; not known to be usable: c (NoAnswer)"),
		},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			tc.want.Type = "AcceleratorsReady"
			got := acceleratorsReady(v1alpha1.AcceleratorInventorySpec{CordonedDevices: tc.cordoned}, tc.devices, tc.conditions)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A condition is written where it differs, as the only thing, and keeps the time of its status.
func TestNodeConditionIsWrittenWhereItDiffers(t *testing.T) {
	before, now := metav1.NewTime(time.Unix(1000, 0)), metav1.NewTime(time.Unix(2000, 0))
	is := func(status metav1.ConditionStatus, reason, message string) metav1.Condition {
		return metav1.Condition{Type: "AcceleratorsReady", Status: status, Reason: reason, Message: message, LastTransitionTime: before}
	}
	tests := []struct {
		name   string
		there  []metav1.Condition
		wanted metav1.Condition
		since  string
	}{
		{"it is there", []metav1.Condition{is("True", "A", "a")}, is("True", "A", "a"), ""},
		{"the first", []metav1.Condition{{Type: "Ready", Status: "True"}}, is("True", "A", "a"), "1970-01-01T00:33:20Z"},
		{"another message", []metav1.Condition{is("False", "A", "a")}, is("False", "A", "b"), "1970-01-01T00:16:40Z"},
		{"another status", []metav1.Condition{is("True", "A", "a")}, is("False", "A", "a"), "1970-01-01T00:33:20Z"},
		{"a node that never had any", nil, is("False", reasonNoAccelerators, ""), ""},
		{"a node that had some", []metav1.Condition{is("True", "A", "a")}, is("False", reasonNoAccelerators, ""), "1970-01-01T00:33:20Z"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			client := fake.NewSimpleDynamicClient(runtime.NewScheme())
			var written []string
			client.PrependReactor("patch", "nodes", func(action clienttesting.Action) (bool, runtime.Object, error) {
				patch, isPatch := action.(clienttesting.PatchAction)
				if !isPatch || patch.GetPatchType() != types.StrategicMergePatchType || action.GetSubresource() != "status" {
					t.Fatalf("%+v is no patch of a status", action)
				}
				written = append(written, string(patch.GetPatch()))
				return true, &unstructured.Unstructured{}, nil
			})
			node := &nodeNow{PartialObjectMetadata: metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "u"}}}
			node.Status.Conditions = tc.there
			if err := writeNodeCondition(t.Context(), client, node, tc.wanted, now); err != nil {
				t.Fatal(err)
			}
			if tc.since == "" {
				if len(written) > 0 {
					t.Errorf("it wrote %s", written)
				}
				return
			}
			want, err := json.Marshal(map[string]any{
				"metadata": map[string]any{"uid": "u"},
				"status": map[string]any{"conditions": []any{map[string]any{
					"type": "AcceleratorsReady", "status": tc.wanted.Status, "reason": tc.wanted.Reason, "message": tc.wanted.Message,
					"lastTransitionTime": tc.since, "lastHeartbeatTime": "1970-01-01T00:33:20Z",
				}}},
			})
			if err != nil {
				t.Fatal(err)
			}
			if len(written) != 1 || strings.TrimSpace(written[0]) != string(want) {
				t.Errorf("it wrote %s, want %s", written, want)
			}
		})
	}
}
