package operation

import (
	"context"
	"encoding/base64"
	"fmt"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/operator"
	"github.com/rankwright/rankwright/test/controlplane"
)

// Webhook returns the settings of the operator's webhook: it serves on the test's port of the loopback, and looks at its
// certificates often.
func (w *World) Webhook() *operator.Webhook {
	return &operator.Webhook{Address: "127.0.0.1", Port: w.WebhookPort, Hosts: []string{"127.0.0.1"}, Period: 200 * time.Millisecond}
}

// Install applies the operator's webhook with a policy for when it cannot be called. The API server calls it where Webhook serves.
func (w *World) Install(policy admissionv1.FailurePolicyType) {
	w.Helper()
	objects, err := controlplane.ReadConfig("webhook")
	w.Must(err)
	for _, object := range objects {
		if object.GetKind() == "MutatingWebhookConfiguration" {
			w.CallOnLoopback(object, w.WebhookPort, nil)
			w.editHooks(object, func(hook map[string]any) { hook["failurePolicy"] = string(policy) })
		}
	}
	w.Must(controlplane.Apply(w.Context(), w.Cluster.Config(), "", objects...))
}

// CallOnLoopback lets the API server call the webhooks of a configuration on a port of the loopback, and not by their Services, to
// which nothing routes here. Their certificates are of the authority, where one is given.
func (w *World) CallOnLoopback(configuration *unstructured.Unstructured, port int, authority []byte) {
	w.Helper()
	w.editHooks(configuration, func(hook map[string]any) {
		path, _, err := unstructured.NestedString(hook, "clientConfig", "service", "path")
		w.Must(err)
		called := map[string]any{"url": fmt.Sprintf("https://127.0.0.1:%d%s", port, path)}
		if len(authority) > 0 {
			called["caBundle"] = base64.StdEncoding.EncodeToString(authority)
		}
		hook["clientConfig"] = called
	})
}

func (w *World) editHooks(configuration *unstructured.Unstructured, edit func(hook map[string]any)) {
	w.Helper()
	hooks, _, err := unstructured.NestedSlice(configuration.Object, "webhooks")
	w.Must(err)
	for i := range hooks {
		hook, isMap := hooks[i].(map[string]any)
		if !isMap {
			w.Fatalf("webhooks of %s is no list of objects", configuration.GetName())
		}
		edit(hook)
	}
	w.Must(unstructured.SetNestedSlice(configuration.Object, hooks, "webhooks"))
}

// AwaitWebhook waits until the API server reaches the webhook.
func (w *World) AwaitWebhook() {
	w.Helper()
	w.Eventually("the webhook answers", func(context.Context) bool { return w.Reaches() })
}

// Reaches says whether the API server reaches the webhook, which then refuses a pod of a placement that is not there.
func (w *World) Reaches() bool {
	stray := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Home, Name: "stray", Labels: map[string]string{v1alpha1.LabelPlacement: "nobody"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "model", Image: "model"}}},
	}
	return apierrors.IsForbidden(w.Create(w.Context(), stray, client.DryRunAll))
}
