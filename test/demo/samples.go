package main

import (
	"context"
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/test/controlplane"
)

// sample is a manifest in examples/ and what becomes of it on the demo's hosts.
type sample struct {
	name  string
	about string
	holds func(*unstructured.Unstructured) bool
}

// samples are placed one after the other, the pickiest first, so that every run ends the same.
var samples = []sample{
	{"tensor-parallel", "every layer on all eight H100", isReady},
	{"pipeline", "four stages on four L40S", isReady},
	{"fits-one-device", "one device, no parallelism", isReady},
	{"cannot-fit", "more memory than any vendor has here", isUnplaceable},
}

func isReady(placement *unstructured.Unstructured) bool {
	return condition(placement, v1alpha1.ConditionReady) == "True"
}

func isUnplaceable(placement *unstructured.Unstructured) bool {
	phase, _, _ := unstructured.NestedString(placement.Object, "status", "phase")
	return phase == string(v1alpha1.PhaseUnplaceable) && condition(placement, v1alpha1.ConditionPlanned) == "False"
}

// awaitInventories returns when every agent has looked at its host and published what it saw.
func (d *demo) awaitInventories(ctx context.Context) error {
	d.progress.step("waiting for the inventories")
	names := make([]string, len(d.nodes))
	for i, node := range d.nodes {
		names[i] = node.name
	}
	return d.await(ctx, v1alpha1.GroupVersion.WithResource("acceleratorinventories"), names, func(inventory *unstructured.Unstructured) bool {
		return condition(inventory, v1alpha1.ConditionDetected) != ""
	})
}

// placeSamples applies the samples and waits until each is decided.
func (d *demo) placeSamples(ctx context.Context) error {
	for _, s := range samples {
		d.progress.step("applying examples/%s.yaml: %s", s.name, s.about)
		objects, err := controlplane.ReadManifests(filepath.Join(d.root, "examples", s.name+".yaml"))
		if err != nil {
			return err
		}
		if err := controlplane.Apply(ctx, d.cluster.Config(), "default", objects...); err != nil {
			return err
		}
		if err := d.await(ctx, v1alpha1.GroupVersion.WithResource("modelplacements"), []string{s.name}, s.holds); err != nil {
			return err
		}
	}
	return nil
}
