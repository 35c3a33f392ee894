package controlplane_test

import (
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/rankwright/rankwright/test/controlplane"
)

// What was written outlasts the death of both components, and a backup that is restored knows nothing of what came after it.
func TestHaltedComponentsComeBack(t *testing.T) {
	c := controlplane.ForTest(t, controlplane.Options{WithoutKinds: true})
	client, err := kubernetes.NewForConfig(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	maps, backup := client.CoreV1().ConfigMaps(metav1.NamespaceDefault), filepath.Join(t.TempDir(), "backup")
	interlude := func(while func() error) {
		t.Helper()
		c.HaltAPIServer()
		c.HaltEtcd()
		for _, do := range []func() error{while, func() error { return c.ResumeEtcd(t.Context()) }, func() error { return c.ResumeAPIServer(t.Context()) }} {
			if err := do(); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, name := range []string{"before", "after"} {
		if _, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if name == "before" {
			interlude(func() error { return c.SaveEtcd(backup) })
		}
	}
	interlude(func() error { return c.RestoreEtcd(backup) })
	if _, err := maps.Get(t.Context(), "before", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	if _, err := maps.Get(t.Context(), "after", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("what came after the backup: %v", err)
	}
}
