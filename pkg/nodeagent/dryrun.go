package nodeagent

import (
	"bytes"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/inventory"
)

// DryRun prints, as two YAML documents, what an agent would apply after this detection to a node that has neither an
// inventory nor labels: the inventory with its status, and the Node with its labels. It leaves out what only the moment
// of writing decides: times, the owner's UID, and the conditions. The same detection gives the same bytes.
func DryRun(node, version string, detected v1alpha1.AcceleratorInventoryStatus) ([]byte, error) {
	merged := merge(v1alpha1.AcceleratorInventoryStatus{}, detected, mergeOptions{})
	merged.AgentVersion = version
	merged.Summary = inventory.Summarize(v1alpha1.AcceleratorInventorySpec{}, &merged)
	observed, err := statusManifest(node, merged)
	if err != nil {
		return nil, err
	}
	labelled := nodeManifest(object{"name": node}, Labels(&merged))
	var out bytes.Buffer
	for _, manifest := range []*unstructured.Unstructured{observed, labelled} {
		document, err := yaml.Marshal(manifest.Object)
		if err != nil {
			return nil, fmt.Errorf("print what would be applied to node %s: %w", node, err)
		}
		out.WriteString("---\n")
		out.Write(document)
	}
	return out.Bytes(), nil
}
