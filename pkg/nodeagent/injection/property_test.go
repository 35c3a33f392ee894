package injection

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// hosts are nodes of every sort that the table tells apart.
var hosts = map[string]func() []v1alpha1.Device{
	"GPUs":        func() []v1alpha1.Device { return gpus(8) },
	"MIG":         func() []v1alpha1.Device { return append(migDevices(7), gpus(3)[1:]...) },
	"AMD":         func() []v1alpha1.Device { return amdGPUs(8) },
	"Neuron":      func() []v1alpha1.Device { return neuronChips(3, 4, "LNC=2") },
	"TPU":         func() []v1alpha1.Device { return tpus(8) },
	"TPU cores":   func() []v1alpha1.Device { return cored("google", "tpu", "", "/dev/vfio/%d", 4, 2) },
	"Ascend":      func() []v1alpha1.Device { return npus(8) },
	"Gaudi":       func() []v1alpha1.Device { return gaudis(8) },
	"Tenstorrent": func() []v1alpha1.Device { return cored("tenstorrent", "tenstorrent", "", "/dev/tenstorrent/%d", 4, 2) },
}

// drawn is a grant of a host, and the rest of it.
type drawn struct {
	mode             Mode
	node             Node
	granted, ordered []v1alpha1.Device
	rest             []v1alpha1.Device
}

func draw(t *rapid.T) drawn {
	names := make([]string, 0, len(hosts))
	for name := range hosts {
		names = append(names, name)
	}
	slices.Sort(names)
	devices := hosts[rapid.SampledFrom(names).Draw(t, "host")]()
	d := drawn{mode: rapid.SampledFrom([]Mode{CDI, DeviceNodes}).Draw(t, "mode"), node: nodeOf(devices, append(modules, "/dev/nvidiactl", "/dev/nvidia-uvm")...)}
	for i := range devices {
		if rapid.Bool().Draw(t, "granted") {
			d.ordered = append(d.ordered, devices[i])
		} else {
			d.rest = append(d.rest, devices[i])
		}
	}
	d.granted = shuffled(t, d.ordered)
	return d
}

func shuffled(t *rapid.T, devices []v1alpha1.Device) []v1alpha1.Device {
	var places []int
	for i := range devices {
		places = append(places, i)
	}
	return pick(devices, rapid.Permutation(places).Draw(t, "order")...)
}

// A container gets everything of its devices, and nothing by which it sees another.
func TestExactlyTheGrantedDevices(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := draw(t)
		answer, err := For(d.mode, d.granted, d.node)
		if err != nil {
			return
		}
		if (len(answer.CDIDevices) > 0) == (len(answer.Paths) > 0) {
			t.Fatalf("modes are mixed, or there is neither: %+v", answer)
		}
		paths := pathsOf(t, answer, d.node)
		for i := range d.granted {
			for _, name := range d.granted[i].Paths {
				if !slices.Contains(paths, name) {
					t.Errorf("%s of %s is missing", name, d.granted[i].ID)
				}
			}
		}
		checkNothingElse(t, d, paths, answer)
	})
}

// pathsOf are the nodes that the runtime makes in the container.
func pathsOf(t *rapid.T, answer Answer, node Node) []string {
	paths := answer.Paths
	all, _, err := Specifications(node.Devices, node)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range answer.CDIDevices {
		kind, device, _ := strings.Cut(name, "=")
		found := false
		for _, spec := range all {
			for _, described := range registeredIn(&spec, "") {
				if spec.Kind == kind && described.name == device {
					found, paths = true, append(paths, described.nodes...)
				}
			}
		}
		if !found {
			t.Errorf("no specification has %s", name)
		}
	}
	return paths
}

func checkNothingElse(t *rapid.T, d drawn, paths []string, answer Answer) {
	for i := range d.rest {
		other := &d.rest[i]
		if !kindSeparates(other) && len(seenBy(paths, []*v1alpha1.Device{other})) > 0 {
			t.Errorf("%s is seen, too, by %v", other.ID, paths)
		}
		if slices.ContainsFunc(answer.CDIDevices, func(name string) bool { return strings.HasSuffix(name, "="+string(other.ID)) }) {
			t.Errorf("%s is named, too", other.ID)
		}
		for name, value := range answer.Environment {
			if other.UUID != "" && slices.Contains(strings.Split(value, ","), other.UUID) {
				t.Errorf("%s names %s, too", name, other.ID)
			}
		}
	}
	for _, name := range paths {
		own := slices.ContainsFunc(d.granted, func(g v1alpha1.Device) bool { return slices.Contains(g.Paths, name) })
		if !own && !slices.Contains(kindOf(&d.granted[0]).Shared, name) {
			t.Errorf("%s belongs to nothing that was granted", name)
		}
	}
}

func kindSeparates(d *v1alpha1.Device) bool { return kindOf(d).separates }

// The answer depends neither on the order of the grant nor on the order of the node's devices.
func TestOrderDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := draw(t)
		want, wantErr := For(d.mode, d.ordered, d.node)
		other := d.node
		other.Devices = shuffled(t, d.node.Devices)
		got, err := For(d.mode, d.granted, other)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-in order +shuffled:\n%s", diff)
		}
		if (err == nil) != (wantErr == nil) || err != nil && err.Error() != wantErr.Error() {
			t.Errorf("in order %v, shuffled %v", wantErr, err)
		}
	})
}

// The variable of Neuron's cores has the numbers of just the granted ones; it is unset only where every chip is granted in whole.
func TestNeuronCoresAreThoseGranted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		chips, cores := rapid.IntRange(1, 4).Draw(t, "chips"), rapid.IntRange(1, 4).Draw(t, "cores")
		devices := neuronChips(chips, cores, "")
		var granted []v1alpha1.Device
		var want []int
		for i := range devices {
			if rapid.Bool().Draw(t, "granted") {
				granted, want = append(granted, devices[i]), append(want, i)
			}
		}
		answer, err := For(DeviceNodes, granted, nodeOf(devices))
		value, set := answer.Environment["NEURON_RT_VISIBLE_CORES"]
		switch {
		case err != nil:
		case set && value != list(want):
			t.Errorf("%s, want %s", value, list(want))
		case !set && len(granted)%cores != 0:
			t.Errorf("a chip is granted in part and nothing restricts its cores")
		}
	})
}
