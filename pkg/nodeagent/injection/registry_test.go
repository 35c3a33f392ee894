package injection

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// vendorSpecification is what NVIDIA's tool writes, as far as it matters here: each GPU by its index and by its UUID, and
// all of them. Its indexes count downwards here, as they may differ from the kernel's numbers.
func vendorSpecification(gpus []v1alpha1.Device, byUUID bool) string {
	var b strings.Builder
	b.WriteString("---\ncdiVersion: 0.5.0\nkind: nvidia.com/gpu\ncontainerEdits:\n  deviceNodes:\n  - path: /dev/nvidiactl\n" +
		"  mounts:\n  - hostPath: /usr/lib/libcuda.so.1\n    containerPath: /usr/lib/libcuda.so.1\n  - hostPath: /usr/lib/libcuda.so." + testRelease +
		"\n    containerPath: /usr/lib/libcuda.so." + testRelease +
		"\n  hooks:\n  - hookName: createContainer\n    path: /usr/bin/nvidia-cdi-hook\ndevices:\n")
	add := func(name string, devices ...v1alpha1.Device) {
		fmt.Fprintf(&b, "- name: %q\n  containerEdits:\n    deviceNodes:\n", name)
		for i := range devices {
			for _, node := range devices[i].Paths {
				fmt.Fprintf(&b, "    - path: %s\n      hostPath: /run/nvidia/driver%s\n", node, node)
			}
		}
	}
	for i := range gpus {
		add(fmt.Sprint(len(gpus)-1-i), gpus[i])
		if byUUID {
			add(gpus[i].UUID, gpus[i])
		}
	}
	add("all", gpus...)
	return b.String()
}

func TestVendorsOwnSpecification(t *testing.T) {
	const etc, run = "/etc/cdi/nvidia.yaml", "/var/run/cdi/nvidia.yaml"
	for _, test := range []struct {
		name    string
		devices []v1alpha1.Device
		files   map[string]string
		granted []int
		want    []string
	}{
		{
			"by UUID", gpus(3),
			map[string]string{run: vendorSpecification(gpus(3), true)},
			[]int{2, 0},
			[]string{"nvidia.com/gpu=" + gpus(3)[0].UUID, "nvidia.com/gpu=" + gpus(3)[2].UUID},
		},
		{
			"by nodes, not by index", gpus(3),
			map[string]string{etc: vendorSpecification(gpus(3), false)},
			[]int{0},
			[]string{"nvidia.com/gpu=2"},
		},
		{
			"the only GPU is not called all", gpus(1),
			map[string]string{etc: vendorSpecification(gpus(1), false)},
			[]int{0},
			[]string{"nvidia.com/gpu=0"},
		},
		{
			"MIG devices", migDevices(3),
			map[string]string{etc: vendorSpecification(migDevices(3), false)},
			[]int{1},
			[]string{"nvidia.com/gpu=1"},
		},
		{
			"the newer folder hides what the older has", gpus(2),
			map[string]string{etc: vendorSpecification(append(gpus(2)[1:], gpus(1)...), false), run: vendorSpecification(gpus(2), false)},
			[]int{0},
			[]string{"nvidia.com/gpu=1"},
		},
		{
			"other kinds and files do not matter", gpus(1),
			map[string]string{etc: vendorSpecification(gpus(1), false), "/etc/cdi/broken.json": "{", "/etc/cdi/README": "- name: 0"},
			[]int{0},
			[]string{"nvidia.com/gpu=0"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			node := settled(nodeOf(test.devices), Settings{CDIKind: "nvidia.com/gpu"})
			node.Driver = nil
			for name, content := range test.files {
				node.Files.(tree)[name] = content //nolint:errcheck,forcetypeassert // nodeOf makes one
			}
			answer, err := For(CDI, pick(test.devices, test.granted...), node)
			if err != nil {
				t.Fatal(err)
			}
			want := Answer{CDIDevices: test.want, Environment: map[string]string{"NVIDIA_VISIBLE_DEVICES": "void"}}
			if diff := cmp.Diff(want, answer); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// AMD's tool leaves out the nodes for displays and names GPUs by numbers.
func TestVendorsOwnSpecificationOfAMD(t *testing.T) {
	node := nodeOf(amdGPUs(2), `/etc/cdi/amd.json={"cdiVersion":"0.6.0","kind":"amd.com/gpu","containerEdits":{"deviceNodes":[{"path":"/dev/kfd"}]},"devices":[
		{"name":"0","containerEdits":{"deviceNodes":[{"path":"/dev/dri/renderD128"}]}},
		{"name":"1","containerEdits":{"deviceNodes":[{"path":"/dev/dri/renderD129"}]}}]}`)
	node = settled(node, Settings{CDIKind: "amd.com/gpu"})
	answer, err := For(CDI, node.Devices[1:], node)
	if err != nil || len(answer.CDIDevices) != 1 || answer.CDIDevices[0] != "amd.com/gpu=1" {
		t.Errorf("got %+v, %v", answer, err)
	}
}

func TestVendorsOwnSpecificationIsMissing(t *testing.T) {
	const generate = "nvidia-ctk cdi generate --output=/var/run/cdi/nvidia.yaml"
	for _, test := range []struct {
		name, kind string
		files      map[string]string
		want       []string
	}{
		{"none", "nvidia.com/gpu", nil, []string{"device nvidia-0000:00:00.0", "/etc/cdi or /var/run/cdi", "kind nvidia.com/gpu", generate, "unset cdiKind"}},
		{"of another GPU", "nvidia.com/gpu", map[string]string{"/etc/cdi/a.yaml": vendorSpecification(gpus(2)[1:], true)}, []string{generate}},
		{
			"broken", "nvidia.com/gpu",
			map[string]string{"/etc/cdi/a.yaml": "kind: [", "/etc/cdi/b.json": "[]"},
			[]string{"/etc/cdi/a.yaml: not a CDI specification", "/etc/cdi/b.json: not a CDI specification"},
		},
		{
			"twice", "nvidia.com/gpu",
			map[string]string{"/etc/cdi/a.yaml": vendorSpecification(gpus(2), false), "/etc/cdi/b.yaml": vendorSpecification(gpus(2), false)},
			[]string{"nvidia.com/gpu=1 is in /etc/cdi/a.yaml and in /etc/cdi/b.yaml"},
		},
		{
			"without libcuda", "nvidia.com/gpu",
			map[string]string{"/etc/cdi/a.yaml": strings.ReplaceAll(vendorSpecification(gpus(2), true), "libcuda.so", "libcudart.so")},
			[]string{"nvidia.com/gpu=" + gpus(1)[0].UUID + " of /etc/cdi/a.yaml mounts no libcuda.so", generate},
		},
		{
			"of the driver before", "nvidia.com/gpu",
			map[string]string{"/etc/cdi/a.yaml": strings.ReplaceAll(vendorSpecification(gpus(2), true), testRelease, "570.86.15")},
			[]string{"/etc/cdi/a.yaml is of driver 570.86.15, and the node's is 580.105.08", generate},
		},
		{"kind that is none", "nvidia", nil, []string{`CDI kind "nvidia": want vendor/class`}},
		{"kind without a known tool", "vendor.com/gpu", nil, []string{"by the vendor's tool"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			node := settled(nodeOf(changed(gpus(2), func(d *v1alpha1.Device) { d.DriverVersion = testRelease })), Settings{CDIKind: test.kind})
			for name, content := range test.files {
				node.Files.(tree)[name] = content //nolint:errcheck,forcetypeassert // nodeOf makes one
			}
			answer, err := For(CDI, node.Devices[:1], node)
			if err == nil {
				t.Fatalf("answered %+v", answer)
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v\ndoes not say %s", err, want)
				}
			}
		})
	}
	if _, err := For(CDI, gpus(1), settled(Node{Devices: gpus(1)}, Settings{CDIKind: "nvidia.com/gpu"})); err == nil || !strings.Contains(err.Error(), "files are not known") {
		t.Errorf("without files: %v", err)
	}
}

func FuzzParseSpecification(f *testing.F) {
	f.Add([]byte(vendorSpecification(gpus(2), true)))
	f.Add([]byte(`{"kind":"a/b","devices":[{"name":"0","containerEdits":{"deviceNodes":[null,{"path":"/dev/null"}]}}]}`))
	f.Add([]byte("kind: &a [*a]"))
	f.Fuzz(func(t *testing.T, content []byte) {
		spec, err := parseSpecification(content)
		if (spec == nil) == (err == nil) {
			t.Fatalf("specification %v and error %v", spec, err)
		}
		if err != nil {
			return
		}
		for _, d := range registeredIn(spec, "file") {
			d.gives(&gpus(1)[0], nil)
		}
	})
}
