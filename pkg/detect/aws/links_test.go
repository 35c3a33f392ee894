package aws

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// neuronTorus is what the driver lists in connected_devices on an instance of so many times 16 chips: its table of
// trn2, with the number of the part added.
func neuronTorus(parts int) []string {
	var lines []string
	for i := range parts * 16 {
		part, row, column := i/16*16, i%16/4, i%4
		at := func(row, column int) int { return part + (row+4)%4*4 + (column+4)%4 }
		lines = append(lines, fmt.Sprintf("%d, %d, %d, %d", at(row-1, column), at(row, column-1), at(row+1, column), at(row, column+1)))
	}
	return lines
}

func neuronRing(chips int) []string {
	var lines []string
	for i := range chips {
		lines = append(lines, fmt.Sprintf("%d, %d", (i+chips-1)%chips, (i+1)%chips))
	}
	return lines
}

func TestNeuronLinks(t *testing.T) {
	for name, test := range map[string]struct {
		device    string
		connected []string
		want      []v1alpha1.LinkDomain
		degraded  string
	}{
		"inf2.48xlarge": {"7264", neuronRing(12), []v1alpha1.LinkDomain{{
			Name: "neuronlink-0000:10:00.0", Kind: "NeuronLink", Topology: v1alpha1.TopologyRing, PeerMBps: 48_000, DeviceMBps: 96_000,
		}}, ""},
		"trn1.32xlarge": {"7164", neuronTorus(1), []v1alpha1.LinkDomain{{
			Name: "neuronlink-0000:10:00.0", Kind: "NeuronLink", Topology: v1alpha1.TopologyTorus, Shape: []int32{4, 4, 2},
			PeerMBps: 48_000, DeviceMBps: 192_000,
		}}, ""},
		"trn2.48xlarge": {"7364", neuronTorus(1), []v1alpha1.LinkDomain{{
			Name: "neuronlink-0000:10:00.0", Kind: "NeuronLink", Topology: v1alpha1.TopologyTorus, Shape: []int32{4, 4, 4},
			PeerMBps: 40_000, DeviceMBps: 160_000,
		}}, ""},
		"a chain of inf1":           {"7064", []string{"1", "2, 0", "3, 1", "2"}, nil, ""},
		"two tori, not told apart":  {"7364", neuronTorus(2), nil, "neuron-ls alone tells which"},
		"a shape that is not known": {"7164", []string{"1, 2, 3", "0, 2, 3", "0, 1, 3", "0, 1, 2"}, nil, "shape that is not known"},
		"one end of a link only":    {"7164", []string{"1", "", ""}, nil, ""},
		"links to what is not here": {"7164", []string{"12, 1, 9, 14", "13, 0, 5, 2"}, []v1alpha1.LinkDomain{{
			Name: "neuronlink-0000:10:00.0", Kind: "NeuronLink", Topology: v1alpha1.TopologyRing, PeerMBps: 48_000, DeviceMBps: 48_000,
		}}, ""},
		"no links":         {"7164", []string{"", ""}, nil, ""},
		"a link to itself": {"7164", []string{"0", "1"}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTree(t)
			s.neuron(test.device, neuronDriver, len(test.connected), test.connected...)
			found := s.Detect(Neuron())
			if diff := cmp.Diff(test.want, found.Links.Domains, cmpopts.IgnoreFields(v1alpha1.LinkDomain{}, "Members")); diff != "" {
				t.Error(diff)
			}
			for _, domain := range found.Links.Domains {
				if len(domain.Members) != len(found.Devices) {
					t.Errorf("%d members of %d devices", len(domain.Members), len(found.Devices))
				}
			}
			if !strings.Contains(found.Degraded, test.degraded) {
				t.Errorf("got degraded %q, want %q", found.Degraded, test.degraded)
			}
		})
	}
}

// With neuron-ls two tori of a host are told apart.
func TestNeuronLinksOfTwoTori(t *testing.T) {
	s := newTree(t)
	s.neuron("7364", neuronDriver, 32, neuronTorus(2)...)
	var entries []string
	for i := range 32 {
		entries = append(entries, fmt.Sprintf(`{"neuron_device": %d, "bdf": "0000:%02x:00.0", "memory_size": 103079215104}`, i, 0x10+i))
	}
	s.Prints("["+strings.Join(entries, ",")+"]", "neuron-ls", "-j")
	found := s.Detect(Neuron())
	if len(found.Links.Domains) != 2 || found.Degraded != "" {
		t.Fatalf("got %d domains, degraded %q", len(found.Links.Domains), found.Degraded)
	}
	for i, domain := range found.Links.Domains {
		want := v1alpha1.DeviceID(fmt.Sprintf("aws-0000:%02x:00.0-0", 0x10+16*i))
		if len(domain.Members) != 64 || domain.Members[0] != want {
			t.Errorf("domain %d: %d members from %s on, want 64 from %s on", i, len(domain.Members), domain.Members[0], want)
		}
	}
}

func TestNeuronUltraServer(t *testing.T) {
	for name, test := range map[string]struct {
		four, two string
		want      *v1alpha1.Fabric
	}{
		"of four":      {"00000000c0ffee04", "00000000c0ffee02", &v1alpha1.Fabric{ClusterUUID: "00000000c0ffee04"}},
		"of two":       {"0000000000000000", "00000000c0ffee02", &v1alpha1.Fabric{ClusterUUID: "00000000c0ffee02"}},
		"none":         {"0000000000000000", "0000000000000000", nil},
		"not yet":      {"busy", "busy", nil},
		"no such file": {"", "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTree(t)
			s.neuron("7364", neuronDriver, 16, neuronTorus(1)...)
			if name != "no such file" {
				s.File(neuronClass+"/server_id_4", test.four+"\n")
				s.File(neuronClass+"/server_id_2", test.two+"\n")
			}
			found := s.Detect(Neuron())
			if diff := cmp.Diff(test.want, found.Links.Domains[0].Fabric); diff != "" {
				t.Error(diff)
			}
		})
	}
}
