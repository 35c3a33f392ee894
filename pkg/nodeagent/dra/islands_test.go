package dra

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/nodeagent/resourceapi"
)

func TestIslands(t *testing.T) {
	const cluster = "4c4f5a1e-1f0b-4c4f-8d3a-0c6a1b2c3d4e"
	clique := &v1alpha1.Fabric{ClusterUUID: cluster, CliqueID: "32766"}
	domain := func(name, kind string, fabric *v1alpha1.Fabric, members ...v1alpha1.DeviceID) v1alpha1.LinkDomain {
		return v1alpha1.LinkDomain{Name: name, Kind: kind, Fabric: fabric, Members: members}
	}
	tests := []struct {
		name    string
		domains []v1alpha1.LinkDomain
		want    map[v1alpha1.DeviceID]string
	}{
		{"none", nil, map[v1alpha1.DeviceID]string{}},
		{
			"two hives of a node",
			[]v1alpha1.LinkDomain{domain("xgmi-1", "XGMI", nil, "a", "b"), domain("xgmi-2", "XGMI", nil, "c")},
			map[v1alpha1.DeviceID]string{"a": "XGMI/node-1/xgmi-1", "b": "XGMI/node-1/xgmi-1", "c": "XGMI/node-1/xgmi-2"},
		},
		{
			"a clique of several nodes",
			[]v1alpha1.LinkDomain{domain("nvlink-1", "NVLink", clique, "a")},
			map[v1alpha1.DeviceID]string{"a": "NVLink/" + cluster + "/32766"},
		},
		{
			"a slice without cliques",
			[]v1alpha1.LinkDomain{domain("ici", "ICI", &v1alpha1.Fabric{ClusterUUID: "my-slice"}, "a")},
			map[v1alpha1.DeviceID]string{"a": "ICI/my-slice"},
		},
		{
			"beyond the node before larger, larger before first",
			[]v1alpha1.LinkDomain{domain("a", "X", nil, "a", "c"), domain("b", "Y", nil, "a", "b", "c", "d"), domain("c", "Z", clique, "a")},
			map[v1alpha1.DeviceID]string{"a": "Z/" + cluster + "/32766", "b": "Y/node-1/b", "c": "Y/node-1/b", "d": "Y/node-1/b"},
		},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, islandsOf(v1alpha1.Links{Domains: tc.domains}, testNode)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// The longest names leave room in an attribute for none of them, and stay apart.
func TestLongNamesOfIslands(t *testing.T) {
	domain := v1alpha1.LinkDomain{Name: strings.Repeat("d", 96), Kind: strings.Repeat("k", 32)}
	long := strings.Repeat("n", 253)
	one, other := islandName(&domain, long), islandName(&domain, long[1:])
	if len(one) > resourceapi.MaxText || one == other || !strings.HasPrefix(one, domain.Kind+"/") {
		t.Errorf("%q and %q", one, other)
	}
}
