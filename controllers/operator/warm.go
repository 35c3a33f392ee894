package operator

import (
	"context"
	"fmt"
	"net/http"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/relation"
	"github.com/rankwright/rankwright/controllers/snapshot"
)

// warm starts the informers that a leader reads from with the manager's cache, whether or not this operator leads: what a standby takes over
// it knows already. Each has a check of its own at /readyz, named as its kind, since the answer gives names and no reasons, and so has the
// tally of pods, which the manager starts. What the operator lists of one placement is indexed. Claims says that the cluster has ResourceClaims.
func warm(ctx context.Context, mgr manager.Manager, named *relation.Named, tally *snapshot.Tally, claims bool) error {
	configMap, namespace := &metav1.PartialObjectMetadata{}, &metav1.PartialObjectMetadata{}
	configMap.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	read := map[string]client.Object{
		"ModelPlacement":       &v1alpha1.ModelPlacement{},
		"ShardingPlan":         &v1alpha1.ShardingPlan{},
		"DeviceMesh":           &v1alpha1.DeviceMesh{},
		"AcceleratorInventory": &v1alpha1.AcceleratorInventory{},
		"SiteCalibration":      &v1alpha1.SiteCalibration{},
		"Node":                 &corev1.Node{},
		"Pod":                  &corev1.Pod{},
		"ConfigMap":            configMap,
		"Namespace":            namespace,
		"ControllerRevision":   &appsv1.ControllerRevision{},
		"PriorityClass":        &schedulingv1.PriorityClass{},
		"PodDisruptionBudget":  &policyv1.PodDisruptionBudget{},
	}
	if claims {
		read["ResourceClaim"] = &resourcev1.ResourceClaim{}
	}
	for _, kind := range []string{"ShardingPlan", "Pod", "ConfigMap", "ControllerRevision", "ResourceClaim"} {
		if object := read[kind]; object != nil {
			if err := named.Index(ctx, mgr.GetFieldIndexer(), object); err != nil {
				return err
			}
		}
	}
	for kind, object := range read {
		informer, err := mgr.GetCache().GetInformer(ctx, object, cache.BlockUntilSynced(false))
		if err != nil {
			return fmt.Errorf("informer of kind %s: %w", kind, err)
		}
		if err := waitFor(mgr, "informer-"+kind, informer.HasSynced); err != nil {
			return err
		}
	}
	return waitFor(mgr, "pods-of-nodes", tally.HasSynced)
}

// waitFor has the operator ready only when something is known.
func waitFor(mgr manager.Manager, name string, known func() bool) error {
	err := mgr.AddReadyzCheck(name, func(*http.Request) error {
		if known() {
			return nil
		}
		return fmt.Errorf("%s: not all is known yet: see that the API server answers, and that the operator may list and watch them", name)
	})
	if err != nil {
		return fmt.Errorf("probe of %s: %w", name, err)
	}
	return nil
}
