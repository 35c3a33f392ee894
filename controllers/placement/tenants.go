package placement

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/plan"
	"github.com/rankwright/rankwright/pkg/shape"
)

// Reasons of placements that are not planned because of what their namespace may have.
const (
	ReasonQuota         = "QuotaExceeded"
	ReasonPriorityClass = "PriorityClassNotAllowed"
)

// Refusals are the reasons of all answers that there is no plan.
func Refusals() []string { return append(shape.Refusals(), ReasonQuota, ReasonPriorityClass) }

// Tenant is what the placements of some namespaces may have. Of several tenants that select a namespace the first counts; a namespace that
// none selects may have everything.
type Tenant struct {
	// NamespaceSelector selects namespaces by their labels, of which kubernetes.io/metadata.name is the name. An empty one selects all.
	NamespaceSelector metav1.LabelSelector `json:"namespaceSelector"`
	// Devices is how many devices the plans of one namespace may hold together; nil means any number.
	Devices *int32 `json:"devices,omitempty"`
	// PriorityClasses are the names that spec.priorityClassName may have; nil means every name. A placement may always leave it out.
	PriorityClasses []string `json:"priorityClasses,omitempty"`

	selector labels.Selector
}

// Tenants are in the order in which they are tried.
type Tenants []Tenant

// ReadTenants reads a YAML list of tenants from a file; an empty name means none.
func ReadTenants(path string) (Tenants, error) {
	if path == "" {
		return nil, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("tenants: %w", err)
	}
	return ParseTenants(text)
}

// ParseTenants reads a YAML list of tenants.
func ParseTenants(text []byte) (Tenants, error) {
	var tenants Tenants
	if err := yaml.UnmarshalStrict(text, &tenants); err != nil {
		return nil, fmt.Errorf("tenants: %w", err)
	}
	for i := range tenants {
		t := &tenants[i]
		var err error
		if t.selector, err = metav1.LabelSelectorAsSelector(&t.NamespaceSelector); err != nil {
			return nil, fmt.Errorf("tenants[%d].namespaceSelector: %w", i, err)
		}
		if t.Devices != nil && *t.Devices < 0 {
			return nil, fmt.Errorf("tenants[%d].devices is %d: use 0 for none, or leave it out for any number", i, *t.Devices)
		}
	}
	return tenants, nil
}

// namespaceKind is read without anything but its metadata.
var namespaceKind = corev1.SchemeGroupVersion.WithKind("Namespace")

// allowance is what a placement may have.
type allowance struct {
	// most is how many devices the namespace may have, and held how many its other plans have.
	most, held int32
	classes    []string
}

// allowed returns what a placement may have beside the plans that exist; those in force for it are replaced.
func (r *Reconciler) allowed(ctx context.Context, placement *v1alpha1.ModelPlacement, plans, own []v1alpha1.ShardingPlan) (allowance, error) {
	may := allowance{most: math.MaxInt32}
	if len(r.Tenants) == 0 {
		return may, nil
	}
	namespace := &metav1.PartialObjectMetadata{}
	namespace.SetGroupVersionKind(namespaceKind)
	if err := r.Client.Get(ctx, client.ObjectKey{Name: placement.Namespace}, namespace); err != nil {
		return may, fmt.Errorf("read labels of namespace %s: %w", placement.Namespace, err)
	}
	at := slices.IndexFunc(r.Tenants, func(t Tenant) bool { return t.selector.Matches(labels.Set(namespace.Labels)) })
	if at < 0 {
		return may, nil
	}
	may.classes, may.most = r.Tenants[at].PriorityClasses, ptr.Deref(r.Tenants[at].Devices, may.most)
	for i := range plans {
		replaced := slices.ContainsFunc(own, func(o v1alpha1.ShardingPlan) bool { return o.UID == plans[i].UID })
		if plans[i].Namespace == placement.Namespace && !replaced {
			may.held += plans[i].Spec.Totals.Devices
		}
	}
	return may, nil
}

// class refuses a priority class that the namespace may not use.
func (a *allowance) class(name string) error {
	if name == "" || a.classes == nil || slices.Contains(a.classes, name) {
		return nil
	}
	return &plan.Unplaceable{Reason: ReasonPriorityClass, Message: fmt.Sprintf(
		"spec.priorityClassName is %s, and this namespace may use %s: use one of them, or leave it out.", name, cmp.Or(strings.Join(a.classes, ", "), "none"))}
}

// devices refuses a plan of more devices than the namespace has left.
func (a *allowance) devices(needed int32) error {
	if needed <= a.most-a.held {
		return nil
	}
	left := max(0, a.most-a.held)
	return &plan.Unplaceable{
		Reason: ReasonQuota,
		Message: fmt.Sprintf("The plan needs %s. This namespace may have %d in plans, of which its other plans hold %d and %d are left: "+
			"ask for fewer, delete or shrink another placement, or have the quota raised.", words.Counted(needed, "device"), a.most, a.held, left),
		Shortfall: v1alpha1.Shortfall{NeededDevices: needed, FreeDevices: left},
	}
}
