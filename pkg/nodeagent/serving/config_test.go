package serving

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/pkg/nodeagent/injection"
)

func TestParseConfig(t *testing.T) {
	got, err := ParseConfig([]byte(`
vendors:
  nvidia: {serve: true, injection: CDI, resources: {gpu: nvidia.com/gpu, mig-1g.10gb: example.com/small}, shares: 4}
  amd: {serve: false}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := Config{Vendors: map[string]VendorConfig{
		"nvidia": {
			Serve: true, Injection: injection.CDI, Shares: 4,
			Resources: map[string]string{"gpu": "nvidia.com/gpu", "mig-1g.10gb": "example.com/small"},
		},
		"amd": {},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got.Empty() || !(Config{Vendors: map[string]VendorConfig{"amd": {}}}).Empty() {
		t.Error("a configuration is empty where no vendor is served, and only there")
	}
}

func TestVendorsGoThroughOneAPI(t *testing.T) {
	tests := []struct {
		text        string
		plugin, dra bool
	}{
		{"vendors: {a: {serve: true, injection: CDI}}", true, false},
		{"vendors: {a: {serve: true, injection: CDI, through: DevicePlugin}}", true, false},
		{"vendors: {a: {serve: true, injection: CDI, through: DRA, shares: 1}}", false, true},
		{"vendors: {a: {serve: true, injection: CDI, through: DRA}, b: {serve: true, injection: DeviceNodes}}", true, true},
		{"vendors: {a: {through: DRA}}", false, false},
	}
	for _, tc := range tests {
		config, err := ParseConfig([]byte(tc.text))
		if err != nil {
			t.Fatal(err)
		}
		if config.Uses(DevicePlugin) != tc.plugin || config.Uses(DRA) != tc.dra || config.Empty() != (!tc.plugin && !tc.dra) {
			t.Errorf("%s: device plugin %t, DRA %t, empty %t", tc.text, config.Uses(DevicePlugin), config.Uses(DRA), config.Empty())
		}
	}
}

func TestParseConfigNamesFieldValueAndRemedy(t *testing.T) {
	tests := []struct {
		name, text string
		want       []string
	}{
		{"no YAML", "vendors: [", []string{"not YAML", "write `vendors:`"}},
		{"type", "vendors: {nvidia: {serve: 3}}", []string{"vendors.nvidia: ", "field VendorConfig.serve of type bool", "give the field a value of that type"}},
		{"field", "vendors: {nvidia: {server: true}}", []string{`vendors.nvidia: unknown field "server"`, "take serve, through, injection"}},
		{"top field", "vendor: {}", []string{`the configuration: unknown field "vendor"`, "take vendors"}},
		{"twice", "vendors: {}\nvendors: {}", []string{"vendors", "not YAML"}},
		{"no mode", "vendors: {nvidia: {serve: true}}", []string{"vendors.nvidia.injection: is empty", "CDI or DeviceNodes"}},
		{"mode", "vendors: {nvidia: {injection: cdi}}", []string{`vendors.nvidia.injection: "cdi"`, "take CDI or DeviceNodes"}},
		{"shares", "vendors: {nvidia: {shares: 65}}", []string{"vendors.nvidia.shares: 65", "take 1 to 64"}},
		{"API", "vendors: {a: {through: dra}}", []string{`vendors.a.through: "dra" is not known`, "take DevicePlugin or DRA"}},
		{
			"device nodes through DRA", "vendors: {a: {serve: true, through: DRA, injection: DeviceNodes}}",
			[]string{`vendors.a.injection: "DeviceNodes" does not go with through: DRA`, "take injection CDI"},
		},
		{"no mode through DRA", "vendors: {a: {serve: true, through: DRA}}", []string{"vendors.a.injection", "take injection CDI"}},
		{"shares through DRA", "vendors: {a: {through: DRA, shares: 2}}", []string{"vendors.a.shares: 2 does not go with through: DRA", "ResourceClaim in several pods"}},
		{
			"resources through DRA", "vendors: {a: {through: DRA, resources: {gpu: a.b/c}}}",
			[]string{"vendors.a.resources: gpu does not go with through: DRA", "write a DeviceClass"},
		},
		{"taint", "vendors: {a: {through: DRA, unhealthyTaint: None}}", []string{`vendors.a.unhealthyTaint: "None" is not known`, "take NoSchedule or NoExecute"}},
		{"taint of a plugin's", "vendors: {a: {unhealthyTaint: NoExecute}}", []string{`vendors.a.unhealthyTaint: "NoExecute" has no use`, "take through: DRA"}},
		{"vendor", "vendors: {NVIDIA: {}}", []string{`vendors.NVIDIA: "NVIDIA"`, "take the vendor of status.devices"}},
		{"kind", "vendors: {a: {resources: {G/PU: a.b/c}}}", []string{`vendors.a.resources: "G/PU"`, "take gpu"}},
		{"no domain", "vendors: {a: {resources: {gpu: gpu}}}", []string{`vendors.a.resources.gpu: "gpu" has no domain`, "nvidia.com/gpu"}},
		{"kubernetes", "vendors: {a: {resources: {gpu: x.kubernetes.io/gpu}}}", []string{"in a domain of Kubernetes", "nvidia.com/gpu"}},
		{"slot", "vendors: {a: {resources: {gpu: rankwright.dev/slot-a}}}", []string{"how slots are named"}},
		{"name", "vendors: {a: {resources: {gpu: a.b/-}}}", []string{`"a.b/-" cannot be an extended resource`, "nvidia.com/gpu"}},
		{"same", "vendors: {a: {resources: {gpu: x.y/g}}, b: {resources: {gpu: x.y/g}}}", []string{`vendors.b.resources.gpu: "x.y/g" is taken by vendors.a.resources.gpu`}},
		{
			"NVIDIA without libcuda", "vendors: {nvidia: {serve: true, injection: DeviceNodes}}",
			[]string{"vendors.nvidia.injection: DeviceNodes gives containers no libcuda", "take injection CDI", "userLibraries"},
		},
		{
			"NVIDIA's runtime beside CDI", "vendors: {nvidia: {serve: true, injection: CDI, userLibraries: Runtime}}",
			[]string{"vendors.nvidia.userLibraries: Runtime does not go with injection CDI", "take injection DeviceNodes"},
		},
		{
			"libraries twice", "vendors: {nvidia: {serve: true, injection: CDI, cdiKind: nvidia.com/gpu, userLibraries: Image}}",
			[]string{"vendors.nvidia.userLibraries: Image does not go with cdiKind nvidia.com/gpu"},
		},
		{"libraries of somebody", "vendors: {nvidia: {userLibraries: Host}}", []string{`vendors.nvidia.userLibraries: "Host" is not known`, "Runtime", "Image"}},
		{"libraries of others", "vendors: {amd: {userLibraries: Image}}", []string{`vendors.amd.userLibraries: "Image" has no use there`, "leave it out"}},
		{"channels of others", "vendors: {amd: {imexChannels: [0]}}", []string{"vendors.amd.imexChannels: [0] has no use there"}},
		{
			"channels of the host's specification", "vendors: {nvidia: {injection: CDI, cdiKind: nvidia.com/gpu, imexChannels: [0]}}",
			[]string{"vendors.nvidia.imexChannels: [0] does not go with cdiKind nvidia.com/gpu"},
		},
		{"channel that is none", "vendors: {nvidia: {imexChannels: [2048]}}", []string{"vendors.nvidia.imexChannels: 2048", "from 0 to 2047"}},
		{"channel twice", "vendors: {nvidia: {imexChannels: [1, 1]}}", []string{"vendors.nvidia.imexChannels: 1 is out of range or there twice"}},
		{"groups without CDI", "vendors: {amd: {injection: DeviceNodes, additionalGids: true}}", []string{"vendors.amd.additionalGids", "supplementalGroups"}},
		{"groups of the host's specification", "vendors: {amd: {injection: CDI, cdiKind: amd.com/gpu, additionalGids: true}}", []string{"vendors.amd.additionalGids"}},
		{"two", "vendors: {a: {serve: true, shares: -1}}", []string{"vendors.a.injection", "vendors.a.shares: -1"}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			_, err := ParseConfig([]byte(tc.text))
			if err == nil {
				t.Fatal("no error")
			}
			for _, part := range tc.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q is not in %q", part, err)
				}
			}
		})
	}
}

// Whatever a configuration has in it is taken or refused, and what is taken names resources that a kubelet takes.
func FuzzParseConfig(f *testing.F) {
	f.Add("vendors: {nvidia: {serve: true, injection: CDI, resources: {gpu: nvidia.com/gpu}, shares: 2}}")
	f.Add("vendors: {nvidia: {serve: true, injection: DeviceNodes, userLibraries: Runtime, imexChannels: [0]}}")
	f.Add("vendors:\n  amd:\n    serve: true\n    injection: DeviceNodes\n")
	f.Fuzz(func(t *testing.T, text string) {
		config, err := ParseConfig([]byte(text))
		if err != nil {
			return
		}
		for name, vendor := range config.Vendors {
			if vendor.Serve && vendor.Injection == "" {
				t.Errorf("%s is served in no mode", name)
			}
			if name == nvidia && vendor.Serve && !bringsLibcuda(config) {
				t.Errorf("%+v gives containers no libcuda", vendor)
			}
			for kind, resource := range vendor.Resources {
				if err := checkResource(resource); err != nil {
					t.Errorf("%s %s: %v", name, kind, err)
				}
			}
		}
	})
}

// bringsLibcuda says who does, in every way that there is.
func bringsLibcuda(c Config) bool {
	v := c.Vendors[nvidia]
	bySpecification := v.Injection == injection.CDI && (c.NeedsDriver() || v.CDIKind != "")
	byRuntime := v.Injection == injection.DeviceNodes && v.UserLibraries == injection.FromRuntime
	return bySpecification || byRuntime || v.UserLibraries == injection.FromImage
}
