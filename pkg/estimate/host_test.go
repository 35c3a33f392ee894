package estimate

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/accelerator"
	"github.com/rankwright/rankwright/pkg/plan/synthetic"
)

// TestHostsAreEstimatedAsTheirProducts: an inventory of hosts as they are usually built gives the answers of the catalogue's product, for one device
// and for as many as a host has.
func TestHostsAreEstimatedAsTheirProducts(t *testing.T) {
	compared := 0
	for _, name := range synthetic.Names() {
		s, err := synthetic.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		nodes, err := synthetic.Build(synthetic.Spec{Nodes: []synthetic.Count{{Shape: s, Nodes: 1}}, Pattern: synthetic.Islands})
		if err != nil {
			t.Fatal(err)
		}
		host, err := HostOf(nodes[0].Inventory, "")
		if err != nil {
			if name != "mixedx4" || !strings.Contains(err.Error(), "name one of them") {
				t.Error(err)
			}
			continue
		}
		product, err := accelerator.Find(host.Product.Name)
		if err != nil {
			t.Fatal(err)
		}
		if host.Product.LinkMBps != product.LinkMBps { // a small torus has fewer links than the product
			if got := nodes[0].Inventory.Status.Links.Domains[0].DeviceMBps; host.Product.LinkMBps != got {
				t.Errorf("%s: %d MB/s, want the %d of its domain", name, host.Product.LinkMBps, got)
			}
			product.LinkMBps = host.Product.LinkMBps
		}
		for _, tensor := range []int{1, host.Devices} {
			d := deployed(t, "Llama-3.1-8B", product.Name, "vLLM", "BF16")
			d.Product = product
			d.Degrees.Tensor, d.DevicesPerNode, d.NetworkGbps = tensor, host.Devices, host.NetworkGbps
			want, wantErr := Serve(Serving{Deployment: d, Load: Load{Input: 512, Output: 512}})
			d.Product = host.Product
			got, err := Serve(Serving{Deployment: d, Load: Load{Input: 512, Output: 512}})
			if err != nil || wantErr != nil {
				if (err == nil) != (wantErr == nil) {
					t.Errorf("%s: %v, want %v", name, err, wantErr)
				}
				continue
			}
			if diff := cmp.Diff(want.OutputTokensPerSecond, got.OutputTokensPerSecond); diff != "" || want.Basis != got.Basis {
				t.Errorf("%s, %d devices: %s and %s (-product +inventory):\n%s", name, tensor, want.Basis, got.Basis, diff)
			}
			compared++
		}
	}
	if compared < 16 {
		t.Errorf("%d answers were compared: too few", compared)
	}
}

func TestHostsWithoutADevice(t *testing.T) {
	none := &v1alpha1.AcceleratorInventory{}
	none.Name = "n"
	one := none.DeepCopy()
	one.Status.Devices = []v1alpha1.Device{{Product: "NVIDIA L4", Vendor: "nvidia", Family: v1alpha1.FamilyGPU}}
	for want, ask := range map[string]struct {
		of      *v1alpha1.AcceleratorInventory
		product string
	}{
		"n has no accelerator":                           {none, ""},
		"n has no H100: name what it has, NVIDIA L4":     {one, "H100"},
		"n has no nonsense: name what it has, NVIDIA L4": {one, "nonsense"},
	} {
		if _, err := HostOf(ask.of, ask.product); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if got, err := HostOf(one, "L4"); err != nil || got.Devices != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	one.Status.Devices[0].Product = "NVIDIA H100 80GB HBM3"
	if got, err := HostOf(one, ""); err != nil || got.Product.LinkMBps != 0 {
		t.Errorf("without a link domain %+v, %v", got, err)
	}
}

// TestHowFarALinkReachesOnAHost: link domains that join some of a host's devices, all of them, or those of other hosts too.
func TestHowFarALinkReachesOnAHost(t *testing.T) {
	for _, test := range []struct {
		members  int
		topology v1alpha1.DomainTopology
		fabric   *v1alpha1.Fabric
		domain   accelerator.Domain
		joined   int // devices of four that the link joins
	}{
		{2, v1alpha1.TopologySwitch, nil, accelerator.Bridged, 2},
		{4, v1alpha1.TopologySwitch, nil, accelerator.Switched, 4},
		{4, v1alpha1.TopologyMesh, nil, accelerator.Meshed, 4},
		{4, v1alpha1.TopologySwitch, &v1alpha1.Fabric{ClusterUUID: "f"}, accelerator.Racked, 4},
	} {
		of := &v1alpha1.AcceleratorInventory{}
		domain := v1alpha1.LinkDomain{Kind: "NVLink", Topology: test.topology, Fabric: test.fabric, DeviceMBps: 100_000}
		for _, id := range []v1alpha1.DeviceID{"a", "b", "c", "d"} {
			of.Status.Devices = append(of.Status.Devices, v1alpha1.Device{ID: id, Product: "NVIDIA H100 80GB HBM3", Vendor: "nvidia", Family: v1alpha1.FamilyGPU})
			if len(domain.Members) < test.members {
				domain.Members = append(domain.Members, id)
			}
		}
		of.Status.Links.Domains = []v1alpha1.LinkDomain{domain}
		got, err := HostOf(of, "")
		if err != nil {
			t.Fatal(err)
		}
		if p := &got.Product; p.Domain != test.domain || p.LinkMBps != 100_000 || reach(p, got.Devices) < test.joined || test.domain == accelerator.Bridged && reach(p, got.Devices) != test.joined {
			t.Errorf("%d of 4 by %s: %s joins %d", test.members, test.topology, p.Domain, reach(p, got.Devices))
		}
	}
}
