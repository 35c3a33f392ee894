package operator

import (
	"path/filepath"

	"github.com/rankwright/rankwright/test/controlplane"
	"github.com/rankwright/rankwright/test/operation"
)

// operatorKubeconfig returns a kubeconfig of the operator's service account under the product's own rules and policies: an
// administrator's would hide a rule that is missing.
func (w world) operatorKubeconfig() string {
	w.Helper()
	w.Confine()
	config, err := cluster.ConfigForAccount(w.Context(), operation.Namespace, "rankwright-operator", nil)
	w.Must(err)
	path := filepath.Join(w.TempDir(), "operator.kubeconfig")
	w.Must(controlplane.WriteKubeconfig(path, config))
	return path
}
