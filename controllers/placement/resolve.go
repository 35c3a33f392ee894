package placement

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/model"
)

// resolved is a model with the version of the object that it was read from.
type resolved struct {
	*model.Model
	version string
}

// unresolved says why a model is not known, in a word for machines and a sentence.
type unresolved struct{ reason, message string }

func (e *unresolved) Error() string { return e.message }

// resolve finds the model. Without one there is no new plan; a plan that is in force stays.
func (r *Reconciler) resolve(ctx context.Context, p *pass) error {
	found, err := r.model(ctx, p.placement)
	var why *unresolved
	if errors.As(err, &why) {
		p.report.refuse(why.reason, why.message)
		return nil
	}
	p.resolved = found
	return err
}

func (r *Reconciler) model(ctx context.Context, placement *v1alpha1.ModelPlacement) (*resolved, error) {
	source := &placement.Spec.Model
	if source.ConfigMap != nil {
		return r.modelFromConfigMap(ctx, placement.Namespace, source.ConfigMap)
	}
	found, err := model.FromSource(placement.Name, source)
	if err != nil {
		why := unresolved{v1alpha1.ReasonInvalidModel, fmt.Sprintf("spec.model: %v", err)}
		if source.Name != nil {
			why.reason = v1alpha1.ReasonModelNotFound
		}
		return nil, &why
	}
	return &resolved{Model: found}, nil
}

func (r *Reconciler) modelFromConfigMap(ctx context.Context, namespace string, ref *v1alpha1.ConfigMapKey) (*resolved, error) {
	var config corev1.ConfigMap
	err := r.Reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: ref.Name}, &config)
	if apierrors.IsNotFound(err) {
		return nil, &unresolved{v1alpha1.ReasonConfigMapNotFound, fmt.Sprintf(
			"spec.model.configMap: there is no ConfigMap %q. Create it with the model's config.json", ref.Name)}
	}
	if err != nil {
		return nil, fmt.Errorf("read ConfigMap %s of the model: %w", ref.Name, err)
	}
	text, found := config.Data[ref.Key]
	if !found {
		return nil, &unresolved{v1alpha1.ReasonKeyNotFound, fmt.Sprintf(
			"spec.model.configMap: ConfigMap %q has no key %q. Add it or name another key", ref.Name, ref.Key)}
	}
	m, err := model.FromConfig(ref.Name, []byte(text))
	if err != nil {
		return nil, &unresolved{v1alpha1.ReasonInvalidModel, fmt.Sprintf("ConfigMap %q, key %q: %v", ref.Name, ref.Key, err)}
	}
	return &resolved{Model: m, version: string(config.UID) + "/" + config.ResourceVersion}, nil
}
