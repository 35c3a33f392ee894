package installation

import (
	"context"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// kinds asks for one object of each kind.
func (i Installation) kinds(ctx context.Context) (string, error) {
	kinds := []string{"AcceleratorInventory", "ModelPlacement", "ShardingPlan", "DeviceMesh", "SiteCalibration"}
	for _, kind := range kinds {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind + "List"))
		if err := i.Reader.List(ctx, list, client.Limit(1)); err != nil {
			return "", fmt.Errorf("%s is not served: install the CustomResourceDefinitions (crds.install): %w", kind, err)
		}
	}
	return strings.Join(kinds, ", "), nil
}

func (i Installation) operator(ctx context.Context) (string, error) {
	deployment := &appsv1.Deployment{}
	key := client.ObjectKey{Namespace: i.Namespace, Name: operatorName}
	if err := i.Reader.Get(ctx, key, deployment); err != nil {
		return "", err
	}
	wanted, status := ptr.Deref(deployment.Spec.Replicas, 1), deployment.Status
	if status.ObservedGeneration < deployment.Generation || status.UpdatedReplicas < wanted || status.AvailableReplicas < wanted {
		return "", fmt.Errorf("%d of %d replicas are updated, %d available: kubectl describe -n %s deployment %s",
			status.UpdatedReplicas, wanted, status.AvailableReplicas, i.Namespace, operatorName)
	}
	return fmt.Sprintf("%d replicas", wanted), nil
}

// leader looks whether one operator works.
func (i Installation) leader(ctx context.Context) (string, error) {
	lease := &coordinationv1.Lease{}
	if err := i.Reader.Get(ctx, client.ObjectKey{Namespace: i.Namespace, Name: operatorName}, lease); err != nil {
		return "", err
	}
	leader := ptr.Deref(lease.Spec.HolderIdentity, "")
	if leader == "" || !fresh(lease, i.Now()) {
		return "", fmt.Errorf("no operator leads: kubectl logs -n %s deployment/%s", i.Namespace, operatorName)
	}
	return leader, nil
}

// fresh says whether a Lease holds at the time.
func fresh(lease *coordinationv1.Lease, now time.Time) bool {
	spec := lease.Spec
	return spec.RenewTime != nil && spec.LeaseDurationSeconds != nil &&
		now.Sub(spec.RenewTime.Time) < time.Duration(*spec.LeaseDurationSeconds)*time.Second
}
