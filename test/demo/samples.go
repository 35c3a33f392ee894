package main

import (
	"context"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
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
	{"tensor", "every layer on all eight H100", isPlaced},
	{"pipeline", "four stages on four L40S", isPlaced},
	{"single", "one device, no parallelism", isPlaced},
	{"too-large", "more memory than any vendor has here", isUnplaceable},
}

func isPlaced(placement *unstructured.Unstructured) bool {
	return condition(placement, v1alpha1.ConditionPlaced) == "True"
}

func isUnplaceable(placement *unstructured.Unstructured) bool {
	_, lacks, _ := unstructured.NestedMap(placement.Object, "status", "shortfall")
	return lacks && condition(placement, v1alpha1.ConditionPlaced) == "False"
}

// awaitInventories returns when every agent has published what it saw on its host and pods could be scheduled there.
func (d *demo) awaitInventories(ctx context.Context) error {
	d.progress.step("waiting for the inventories, and for the Nodes to be ready")
	err := d.await(ctx, v1alpha1.GroupVersion.WithResource("acceleratorinventories"), d.names(), func(inventory *unstructured.Unstructured) bool {
		return condition(inventory, v1alpha1.ConditionDetected) != ""
	})
	if err != nil {
		return err
	}
	// A Node is born with a taint that the controller manager takes away once it has seen the Node ready.
	return d.await(ctx, corev1.SchemeGroupVersion.WithResource("nodes"), d.names(), func(node *unstructured.Unstructured) bool {
		taints, _, _ := unstructured.NestedSlice(node.Object, "spec", "taints")
		return condition(node, string(corev1.NodeReady)) == "True" && len(taints) == 0
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
