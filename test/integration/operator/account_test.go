package operator

import (
	"path/filepath"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/internal/repository"
	"github.com/rankwright/rankwright/test/controlplane"
	"github.com/rankwright/rankwright/test/operation"
)

// operatorKubeconfig returns a kubeconfig of the operator's service account under the product's own rules: an
// administrator's would hide a rule that is missing.
func (w world) operatorKubeconfig() string {
	w.Helper()
	root, err := repository.Root()
	w.Must(err)
	manifests, err := controlplane.ReadManifests(filepath.Join(root, "config", "namespace"), filepath.Join(root, "config", "rbac"))
	w.Must(err)
	w.Must(controlplane.Apply(w.Context(), cluster.Config(), "", manifests...))
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: operation.Namespace, Name: "rankwright-operator"}}
	request := &authenticationv1.TokenRequest{}
	w.Must(w.SubResource("token").Create(w.Context(), account, request))
	path := filepath.Join(w.TempDir(), "operator.kubeconfig")
	w.Must(controlplane.WriteKubeconfig(path, cluster.ConfigForToken(request.Status.Token)))
	return path
}
