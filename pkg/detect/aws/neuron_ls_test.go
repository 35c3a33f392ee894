package aws

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/pci"
)

func TestParseNeuronLS(t *testing.T) {
	for name, test := range map[string]struct {
		output string
		want   map[string]neuronReport
		fails  bool
	}{
		"trn1.2xlarge, as published": {trn1NeuronLS, map[string]neuronReport{
			"0000:10:00.0": {number: 0, memoryMiB: 32 << 10, listed: 2},
		}, false},
		"a container on trn2.48xlarge, as published": {`[
    {
        "instance_type": "trn2.48xlarge",
        "instance_id": "i-0000000000000000",
        "neuron_device": 0,
        "bdf": "0000:e1:00.0",
        "cpu_affinity": "48-95,144-191",
        "numa_node": "1",
        "connected_to": [12, 1, 9, 14],
        "nc_count": 4,
        "logical_neuroncore_config": 2,
        "memory_size": 103079215104,
        "neuroncore_ids": [0, 1, 2, 3],
        "neuron_processes": [{"pid": 1966680, "command": "", "neuron_runtime_version": "2.34.10"}]
    }
]`, map[string]neuronReport{
			"0000:e1:00.0": {number: 0, memoryMiB: 96 << 10, connected: []int{12, 1, 9, 14}, listed: 4, group: 2},
		}, false},
		"an address without domain": {`[{"neuron_device": 15, "bdf": "f7:00.0"}]`, map[string]neuronReport{"0000:f7:00.0": {number: 15}}, false},
		"one of two is bad": {
			`[{"neuron_device": 1, "bdf": "here"}, {"neuron_device": 2, "bdf": "f7:00.0"}]`,
			map[string]neuronReport{"0000:f7:00.0": {number: 2}},
			true,
		},
		"numbers out of range": {`[{"neuron_device": 1, "bdf": "f7:00.0", "memory_size": 9223372036854775807, "connected_to": [-1, 64, 5],
			"logical_neuroncore_config": -2}]`, map[string]neuronReport{"0000:f7:00.0": {number: 1, connected: []int{5}}}, false},
		"no number":      {`[{"bdf": "f7:00.0"}]`, map[string]neuronReport{}, true},
		"a large number": {`[{"neuron_device": 64, "bdf": "f7:00.0"}]`, map[string]neuronReport{}, true},
		"no devices":     {`[]`, map[string]neuronReport{}, false},
		"no array":       {`{}`, nil, true},
		"cut off":        {`[{"neuron_device": 1`, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parseNeuronLS([]byte(test.output))
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(neuronReport{})); diff != "" {
				t.Error(diff)
			}
			if (err != nil) != test.fails {
				t.Errorf("got error %v", err)
			}
		})
	}
}

func FuzzNeuronLS(f *testing.F) {
	f.Add([]byte(trn1NeuronLS))
	f.Add([]byte(`[{"neuron_device": 15, "bdf": "f7:00.0", "connected_to": [1, 2], "logical_neuroncore_config": 2}]`))
	f.Fuzz(func(t *testing.T, output []byte) {
		reports, _ := parseNeuronLS(output)
		for address, report := range reports {
			if !pci.IsAddress(address) || report.number < 0 || report.number >= maxNeuronNodes {
				t.Errorf("%s: %+v", address, report)
			}
			if report.memoryMiB < 0 || report.memoryMiB > backend.MaxMemoryMiB || len(report.connected) > maxNeuronNodes {
				t.Errorf("%s: %+v", address, report)
			}
			if group := report.grouping(8); group < 0 || group > maxNeuronCores {
				t.Errorf("%s: groups of %d", address, group)
			}
		}
	})
}

func FuzzNeuronConnected(f *testing.F) {
	f.Add("12, 3, 4, 1")
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		numbers := parseNeuronConnected(text)
		graph := newNeuronGraph([]*neuronNode{{number: 0, connected: numbers}, {number: 1, connected: numbers}}, nil)
		for _, component := range backend.Components(graph) {
			graph.shape(component)
		}
		for _, number := range numbers {
			if number < 0 || number >= maxNeuronNodes {
				t.Errorf("%q: %d", text, number)
			}
		}
	})
}
