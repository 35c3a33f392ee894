package planning

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/rankwright/rankwright/pkg/fleet"
)

// writeNodes writes a file for each node into a folder that must be new or empty, so that no file of another cluster is
// read with them.
func writeNodes(ctx context.Context, folder string, nodes []fleet.Node, progress *progress) error {
	if err := os.MkdirAll(folder, 0o750); err != nil {
		return fmt.Errorf("--write: %w", err)
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return fmt.Errorf("--write: %w", err)
	}
	if len(entries) > 0 {
		return fmt.Errorf("--write %s: the folder has %s in it: give a new or an empty one", folder, entries[0].Name())
	}
	for i := range nodes {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("--write %s: stopped after %d files: %w", folder, i, err)
		}
		content, err := manifestOf(&nodes[i])
		if err != nil {
			return fmt.Errorf("node %s: %w", nodes[i].Name, err)
		}
		if err := os.WriteFile(filepath.Join(folder, nodes[i].Name+".yaml"), content, 0o600); err != nil {
			return fmt.Errorf("--write: %w", err)
		}
		progress.tell("%d of %d nodes written", i+1, len(nodes))
	}
	return nil
}

// nodeManifest is what planning reads of a Node.
type nodeManifest struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        struct {
		Name   string            `json:"name"`
		Labels map[string]string `json:"labels"`
	} `json:"metadata"`
	Status struct {
		Addresses  []corev1.NodeAddress `json:"addresses"`
		Conditions []nodeCondition      `json:"conditions"`
	} `json:"status"`
}

type nodeCondition struct {
	Type   corev1.NodeConditionType `json:"type"`
	Status corev1.ConditionStatus   `json:"status"`
}

// manifestOf is a node and its inventory as YAML documents.
func manifestOf(n *fleet.Node) ([]byte, error) {
	node := nodeManifest{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}}
	node.Metadata.Name, node.Metadata.Labels = n.Name, n.Labels
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: n.Address}, {Type: corev1.NodeHostName, Address: n.Name}}
	ready := nodeCondition{corev1.NodeReady, corev1.ConditionTrue}
	if n.Unschedulable { // as where a kubelet is silent
		ready.Status = corev1.ConditionUnknown
	}
	node.Status.Conditions = []nodeCondition{ready}
	var documents [][]byte
	for _, object := range []any{node, n.Inventory} {
		text, err := yaml.Marshal(object)
		if err != nil {
			return nil, err
		}
		documents = append(documents, text)
	}
	return bytes.Join(documents, []byte("---\n")), nil
}
