package repair

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/objects"
)

// Labels and annotations of the objects of repairs.
const (
	// LabelRepair is on every object of a repair.
	LabelRepair = v1alpha1.Prefix + "repair"
	// AnnotationNode and AnnotationDevice say what is repaired.
	AnnotationNode   = v1alpha1.Prefix + "node"
	AnnotationDevice = v1alpha1.Prefix + "device"
)

// Impersonate returns a configuration by which the repairs' service account is asked for, and not the operator's: what may be made is
// what an administrator grants that account. The operator needs the verb impersonate of it, and nothing else.
func (s *Settings) Impersonate(cfg *rest.Config) *rest.Config {
	as := rest.CopyConfig(cfg)
	as.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:" + s.Namespace + ":" + s.ServiceAccountName}
	return as
}

// place completes an object: a name, and a namespace where its kind has those.
func (r *Reconciler) place(object *unstructured.Unstructured, record *Record) error {
	if r.Account == nil {
		return fmt.Errorf("repair %s %s is under way and the settings of repairs name no service account to look at it: configure the template again, or remove its record from ConfigMap %s",
			record.Kind, record.Object, Name)
	}
	object.SetAPIVersion(record.APIVersion)
	object.SetKind(record.Kind)
	object.SetName(record.Object)
	namespaced, err := r.Account.IsObjectNamespaced(object)
	if err != nil {
		return fmt.Errorf("look for kind %s of %s, which the template of repairs is of: %w", record.Kind, record.APIVersion, err)
	}
	if namespaced {
		object.SetNamespace(r.Settings.Namespace)
	}
	return nil
}

// read looks at the object of a record.
func (r *Reconciler) read(ctx context.Context, record *Record) (Object, error) {
	object := &unstructured.Unstructured{}
	if err := r.place(object, record); err != nil {
		return Object{}, err
	}
	there, err := objects.Read(ctx, r.Account, client.ObjectKeyFromObject(object), object)
	if err != nil || !there {
		return Object{}, err
	}
	return Object{UID: object.GetUID(), Ended: r.Settings.ended(object)}, nil
}

// ended says whether a condition of an object's status says that it ended, well or not: which of them, the check tells.
func (s *Settings) ended(object *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(c any) bool {
		condition, is := c.(map[string]any)
		kind, _ := condition["type"].(string)
		return is && condition["status"] == "True" && (slices.Contains(s.DoneConditions, kind) || slices.Contains(s.FailedConditions, kind))
	})
}

// make makes the object of a record. One of its name was made by an operator that did not come to say so.
func (r *Reconciler) make(ctx context.Context, scene *Scene, record *Record) error {
	object, err := r.Settings.template.render(subjectOf(scene.Node, scene.Status.Device(record.Device), record))
	if err != nil {
		return fmt.Errorf("template of repairs: %w", err)
	}
	if err := r.place(object, record); err != nil {
		return err
	}
	object.SetLabels(with(object.GetLabels(), map[string]string{LabelRepair: "true"}))
	object.SetAnnotations(with(object.GetAnnotations(), map[string]string{AnnotationNode: scene.Node, AnnotationDevice: string(record.Device)}))
	if err := r.Account.Create(ctx, object); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("make %s %s for the repair of device %s of node %s: %w", record.Kind, record.Object, record.Device, scene.Node, err)
	}
	return nil
}

func with(texts, more map[string]string) map[string]string {
	if texts == nil {
		texts = map[string]string{}
	}
	for key, text := range more {
		texts[key] = text
	}
	return texts
}

// delete deletes an object that takes too long, with all that it made.
func (r *Reconciler) delete(ctx context.Context, record *Record) error {
	object := &unstructured.Unstructured{}
	if err := r.place(object, record); err != nil {
		return err
	}
	object.SetUID(record.Made)
	return objects.Delete(ctx, r.Account, object)
}
