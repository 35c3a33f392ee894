//go:build linux

package e2e

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/test/cluster"
)

// nodesAreRecorded has the agent of each node record it, its drivers' tools included, through the kubelet and the container runtime. What is replayed is what
// the agent published.
func nodesAreRecorded(t *testing.T, s *site, _ *cluster.Node) {
	for i, node := range s.Nodes {
		file := filepath.Join(t.TempDir(), "host.tar.gz")
		if told := plugin(t, "record", "node/"+node.Name, "-o", file, "--kubeconfig", s.Kubeconfig()); !strings.Contains(told, "node/"+node.Name+" recorded") {
			t.Errorf("recording %s: %s", node.Name, told)
		}
		var replayed v1alpha1.AcceleratorInventory
		if err := json.Unmarshal([]byte(plugin(t, "detect", "--replay", file, "-o", "json")), &replayed); err != nil {
			t.Fatal(err)
		}
		const devices = 8
		published := s.every(t, node, devices, func(d *v1alpha1.Device) bool { return d.Memory.Source == v1alpha1.SourceDriver })
		if diff := cmp.Diff(factsOf(published), factsOf(&replayed)); diff != "" {
			t.Errorf("%s (-published +replayed):\n%s", playedByDrivers[i], diff)
		}
		if replayed.Name == node.Name {
			t.Errorf("the recording has the name of node %s", node.Name)
		}
	}
}

// factsOf are what a device is, and what a driver alone tells of it.
func factsOf(i *v1alpha1.AcceleratorInventory) map[v1alpha1.DeviceID]v1alpha1.Device {
	facts := map[v1alpha1.DeviceID]v1alpha1.Device{}
	for _, d := range i.Status.Devices {
		known := v1alpha1.Device{Product: d.Product, DriverVersion: d.DriverVersion, Health: v1alpha1.DeviceHealth{State: d.Health.State}}
		if d.Memory != nil {
			known.Memory = &v1alpha1.DeviceMemory{TotalMiB: d.Memory.TotalMiB, Source: d.Memory.Source}
		}
		facts[d.ID] = known
	}
	return facts
}

// plugin runs a command of kubectl-rankwright, which has to succeed.
func plugin(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if code := cli.Run(t.Context(), args, term.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}); code != term.ExitOK {
		t.Fatalf("%v: exit code %d, errors %s", args, code, errs.String())
	}
	return out.String()
}
