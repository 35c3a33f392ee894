package binding

import (
	"bytes"
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/controllers/operator"
	"github.com/rankwright/rankwright/test/operation"
)

// authorities counts the authorities that the API server is told to trust.
func (w *world) authorities() int {
	w.Helper()
	configuration := &admissionv1.MutatingWebhookConfiguration{}
	w.Must(w.Get(w.Context(), client.ObjectKey{Name: operator.WebhookConfiguration}, configuration))
	return bytes.Count(configuration.Webhooks[0].ClientConfig.CABundle, []byte("BEGIN CERTIFICATE"))
}

func (w *world) secret() *corev1.Secret {
	w.Helper()
	secret := &corev1.Secret{}
	w.Must(w.Get(w.Context(), client.ObjectKey{Namespace: operation.Namespace, Name: operator.WebhookSecret}, secret))
	return secret
}

// The API server verifies by the machine's clock, so the operator's runs behind it until its certificates are valid.
func TestCertificatesRotateWhileTheWebhookServes(t *testing.T) {
	w := newWorld(t, "rotated")
	secret := w.secret()
	w.Change(secret, func() { secret.Data = nil })
	const day = 24 * time.Hour
	var offset atomic.Int64
	at := func(d time.Duration) { offset.Store(int64(d)) }
	at(-500 * day)
	w.operate(func() time.Time { return time.Now().Add(time.Duration(offset.Load())) })
	w.Eventually("certificates are made", func(context.Context) bool { return len(w.secret().Data) > 0 && w.authorities() == 1 })
	probe := w.pod("probe", nil)
	w.Eventually("the API server finds the certificate expired", func(ctx context.Context) bool {
		err := w.Create(ctx, probe.DeepCopy(), client.DryRunAll)
		return err != nil && strings.Contains(err.Error(), "certificate has expired")
	})
	at(-30 * day)
	w.AwaitWebhook()

	// From here on the webhook is reached at every moment.
	reached := func(what string, holds func() bool) {
		t.Helper()
		w.Eventually(what, func(context.Context) bool {
			if !w.Reaches() {
				t.Fatalf("while waiting until %s, the API server could not call the webhook", what)
			}
			return holds()
		})
	}
	before := w.secret()
	at(0)
	reached("a second authority is known", func() bool { return w.authorities() == 2 })
	if !bytes.Equal(before.Data["tls.crt"], w.secret().Data["tls.crt"]) {
		t.Error("the new authority signed before it was known")
	}
	at(2 * time.Hour)
	reached("the new authority has signed", func() bool { return !bytes.Equal(before.Data["tls.crt"], w.secret().Data["tls.crt"]) })
	at(4 * time.Hour)
	reached("the old authority is gone", func() bool { return w.authorities() == 1 })
	if bytes.Contains(before.Data["ca.crt"], w.secret().Data["ca.crt"]) {
		t.Error("the authority is still the first one")
	}
	reached("the webhook is called with the new authority alone", w.Reaches)

	// Whoever replaces the configuration takes the authorities away for a moment.
	configuration := &admissionv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: operator.WebhookConfiguration}}
	w.Change(configuration, func() { configuration.Webhooks[0].ClientConfig.CABundle = nil })
	// The API server may call the webhook by the configuration before for a while.
	w.Eventually("the authority is back", func(context.Context) bool { return w.authorities() == 1 && w.Reaches() })
}
