package nodeagent

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

func TestRemoveFields(t *testing.T) {
	full := status(backends(backendIs("nvidia", v1alpha1.BackendFound)), h100(0), h100(1))
	full.Host.NUMANodes = []v1alpha1.NUMANode{{ID: 0, CPUs: "0-3"}, {ID: 1, CPUs: "4-7"}}
	without := func(change func(*v1alpha1.AcceleratorInventoryStatus)) v1alpha1.AcceleratorInventoryStatus {
		s := *full.DeepCopy()
		change(&s)
		return s
	}
	tests := []struct {
		name   string
		fields []string
		want   v1alpha1.AcceleratorInventoryStatus
	}{
		{"none", nil, full},
		{"a member", []string{".status.host"}, without(func(s *v1alpha1.AcceleratorInventoryStatus) { s.Host = v1alpha1.Host{} })},
		{
			"in an item",
			[]string{`.status.devices[id="nvidia-0000:11:00.0"].product`},
			without(func(s *v1alpha1.AcceleratorInventoryStatus) { s.Devices[1].Product = "" }),
		},
		{
			"in an item with a number for key",
			[]string{`.status.host.numaNodes[id=1].cpus`},
			without(func(s *v1alpha1.AcceleratorInventoryStatus) { s.Host.NUMANodes[1].CPUs = "" }),
		},
		{
			"two",
			[]string{".status.devices", ".status.backends"},
			without(func(s *v1alpha1.AcceleratorInventoryStatus) { s.Devices, s.Backends = nil, nil }),
		},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			manifest, err := statusManifest("n", full)
			if err != nil {
				t.Fatal(err)
			}
			if err := removeFields(manifest.Object, tc.fields); err != nil {
				t.Fatal(err)
			}
			content, err := json.Marshal(manifest.Object["status"])
			if err != nil {
				t.Fatal(err)
			}
			var got v1alpha1.AcceleratorInventoryStatus
			if err := json.Unmarshal(content, &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("status differs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRemoveFieldsRefusesWhatItCannotFind(t *testing.T) {
	for _, field := range []string{
		"", ".status", ".status.nothing", ".status.host.nothing", `.status.devices[id="other"].product`, `.status.devices[id="nvidia-0000:10:00.0"]`,
		`.status.devices[0].product`, `.status.summary[id=1].devices`, "status.devices",
	} {
		manifest, err := statusManifest("n", status(nil, h100(0)))
		if err != nil {
			t.Fatal(err)
		}
		if err := removeFields(manifest.Object, []string{field}); err == nil {
			t.Errorf("no error for %q", field)
		}
	}
}
