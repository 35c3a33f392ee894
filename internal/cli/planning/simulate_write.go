package planning

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/pkg/fleet"
)

// writeNodes writes a file for each node into a folder that must be new or empty, so that no file of another cluster is
// read with them.
func writeNodes(ctx context.Context, folder string, nodes []fleet.Node, progress *term.Progress) error {
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
		progress.Tell("%d of %d nodes written", i+1, len(nodes))
	}
	return nil
}

// manifestOf is a node, as far as planning reads it, and its inventory as YAML documents.
func manifestOf(n *fleet.Node) ([]byte, error) {
	ready := corev1.ConditionTrue
	if n.Unschedulable { // as where a kubelet is silent
		ready = corev1.ConditionUnknown
	}
	node := map[string]any{
		"apiVersion": "v1", "kind": "Node",
		"metadata": map[string]any{"name": n.Name, "labels": n.Labels},
		"status": map[string]any{
			"addresses":  []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: n.Address}, {Type: corev1.NodeHostName, Address: n.Name}},
			"conditions": []any{map[string]any{"type": corev1.NodeReady, "status": ready}},
		},
	}
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
