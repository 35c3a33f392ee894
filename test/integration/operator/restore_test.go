package operator

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/controllers/ledger"
	"github.com/rankwright/rankwright/test/controlplane"
	"github.com/rankwright/rankwright/test/operation"
)

// After etcd was restored from a snapshot the ledger gets a resourceVersion a second time, with another record. A process that remembers the
// first commits nothing by it.
func TestResourceVersionThatComesAgainIsNoFence(t *testing.T) {
	own := controlplane.ForTest(t, controlplane.Options{})
	w := world{operation.New(t, own, testNamespace)}
	remembers := w.ledger(w.WithWatch)
	_, err := reserve(t.Context(), remembers, pool.take("a", 1))
	w.Must(err)
	backup := filepath.Join(t.TempDir(), "etcd")
	w.whileHalted(func() error { return own.SaveEtcd(backup) })
	const lead = 500 // more writes than an API server needs to start
	w.writeUntil(w.ledgerVersion() + lead)
	_, err = reserve(t.Context(), remembers, pool.take("b", 1))
	w.Must(err)
	remembered := w.ledgerVersion()

	const tries = 8
	for range tries {
		w.whileHalted(func() error { return own.RestoreEtcd(backup) })
		const create, commit = 1, 1
		w.writeUntil(remembered - create - commit)
		_, err = reserve(t.Context(), w.ledger(w.WithWatch), pool.take("c", 2))
		w.Must(err)
		if w.ledgerVersion() == remembered { // nobody else wrote meanwhile
			break
		}
	}
	if now := w.ledgerVersion(); now != remembered {
		t.Fatalf("the ledger's resourceVersion is %d and never came to be %d", now, remembered)
	}
	if _, err = reserve(t.Context(), remembers, pool.take("d", 1)); !errors.Is(err, ledger.ErrConflict) {
		t.Errorf("a plan on a device of another one: %v", err)
	}
	if _, err = reserve(t.Context(), remembers, pool.take("d", 1)); !errors.Is(err, errFull) {
		t.Errorf("after the ledger was read again: %v", err)
	}
}

// whileHalted does something while neither etcd nor the API server runs.
func (w world) whileHalted(do func() error) {
	w.Helper()
	w.Cluster.HaltAPIServer()
	w.Cluster.HaltEtcd()
	w.Must(do())
	w.Must(w.Cluster.ResumeEtcd(w.Context()))
	w.Must(w.Cluster.ResumeAPIServer(w.Context()))
}

func (w world) ledgerVersion() int64 {
	w.Helper()
	config := ledgerMap()
	w.Must(w.Get(w.Context(), client.ObjectKeyFromObject(config), config))
	return w.version(config)
}

func (w world) version(o client.Object) int64 {
	w.Helper()
	version, err := strconv.ParseInt(o.GetResourceVersion(), 10, 64)
	w.Must(err)
	return version
}

// writeUntil writes a ConfigMap until its resourceVersion is at least some number.
func (w world) writeUntil(version int64) {
	w.Helper()
	padding := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: "padding"}}
	for at := int64(0); at < version; at = w.version(padding) {
		if err := w.Get(w.Context(), client.ObjectKeyFromObject(padding), padding); err != nil {
			w.Must(w.Create(w.Context(), padding))
			continue
		}
		padding.Data = map[string]string{"at": fmt.Sprint(at, "-", w.version(padding))}
		w.Must(w.Update(w.Context(), padding))
	}
}
