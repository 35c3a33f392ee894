package binding

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/binding"
)

// Path is the URL path at which the webhook is served.
const Path = "/bind-pods"

// Admitter answers the webhook.
type Admitter struct {
	// Reader reads placements, plans, meshes and inventories; it may be a cache.
	Reader client.Reader
	// VerifierImage is the image of the container that verifies meshes; empty adds none.
	VerifierImage string
}

// Handle makes a pod of a placement wait for its place, or refuses it with the reason.
func (a *Admitter) Handle(ctx context.Context, request admission.Request) admission.Response {
	pod := &corev1.Pod{}
	if err := json.Unmarshal(request.Object.Raw, pod); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	key := types.NamespacedName{Namespace: request.Namespace, Name: pod.Labels[v1alpha1.LabelPlacement]}
	if key.Name == "" || binding.ByAuthor(pod) {
		return admission.Allowed("")
	}
	offer, err := readOffer(ctx, a.Reader, key)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	offer.VerifierImage = a.VerifierImage
	warnings, err := binding.Admit(pod, offer)
	if refusal, is := errors.AsType[*binding.Refusal](err); is {
		return admission.Denied(refusal.Error())
	}
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	changed, err := json.Marshal(pod)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	return admission.PatchResponseFromRaw(request.Object.Raw, changed).WithWarnings(warnings...)
}
