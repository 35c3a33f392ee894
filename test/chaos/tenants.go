package chaos

import (
	"context"
	"errors"
	"fmt"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/test/invariant"
)

// tenant is a namespace of its own, where something fails for placement llm.
type tenant struct {
	*world
	name string
}

// unblocked is how long others may take to be placed while something fails for one. It is far above the second that they take, for a
// machine that is busy.
const unblocked = 30 * time.Second

// ofOne lets something fail for good for one placement, in a namespace of its own, before or after it has a plan, and demands that a bystander in another namespace is
// placed meanwhile. What fails ends before the round does, and what was made is deleted.
func ofOne(bring func(ctx context.Context, x *tenant) (end func(context.Context) error, err error)) func(context.Context, *world) error {
	return func(ctx context.Context, w *world) error {
		w.tenant++
		x := &tenant{w, fmt.Sprintf("tenant-%d", w.tenant)}
		if err := w.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: x.name}}); err != nil {
			return err
		}
		if err := w.client.Create(ctx, x.placement("llm")); err != nil {
			return err
		}
		if err := x.awaitPlaced(ctx, "llm"); err != nil {
			return err
		}
		end, err := bring(ctx, x)
		if err != nil {
			return err
		}
		wide := x.placement("llm")
		tensor := int32(2)
		failed := w.change(ctx, wide, func() { wide.Spec.Parallelism.Tensor = &tensor })
		second := x.placement("second")
		failed = errors.Join(failed, w.client.Create(ctx, second))
		w.between(ctx, 0, 2*time.Second)
		bystander := x.placement("bystander-" + x.name)
		bystander.Namespace = home
		if err := w.client.Create(ctx, bystander); err != nil {
			return err
		}
		blocked := x.placed(ctx, bystander, unblocked)
		w.between(ctx, 0, 2*time.Second)
		failed = errors.Join(failed, end(ctx))
		for _, p := range []*v1alpha1.ModelPlacement{wide, second, bystander} {
			failed = errors.Join(failed, w.client.Delete(ctx, p))
		}
		if failed == nil && blocked != nil {
			return blockedError(blocked.Error())
		}
		return errors.Join(failed, blocked)
	}
}

// placement asks for one device of those that the load leaves alone.
func (x *tenant) placement(name string) *v1alpha1.ModelPlacement {
	p := placementOf(name, wish{1, 1})
	p.Namespace, p.Spec.Devices.Products = x.name, []string{products[1].product}
	return p
}

func (x *tenant) awaitPlaced(ctx context.Context, name string) error {
	return x.placed(ctx, x.placement(name), x.Patience)
}

func (x *tenant) placed(ctx context.Context, p *v1alpha1.ModelPlacement, patience time.Duration) error {
	const poll = 100 * time.Millisecond
	err := wait.PollUntilContextTimeout(ctx, poll, patience, true, func(ctx context.Context) (bool, error) {
		err := x.client.Get(ctx, client.ObjectKeyFromObject(p), p)
		return err == nil && invariant.Placed(p).Reason == v1alpha1.ReasonPlaced, nil
	})
	if err != nil {
		return fmt.Errorf("placement %s/%s was not placed within %s while another one fails: %+v", p.Namespace, p.Name, patience, invariant.Placed(p))
	}
	return nil
}

func quota(ctx context.Context, x *tenant) (func(context.Context) error, error) {
	none := corev1.ResourceList{"count/shardingplans.rankwright.dev": resource.MustParse("0")}
	q := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: x.name, Name: "none"}, Spec: corev1.ResourceQuotaSpec{Hard: none}}
	if err := x.client.Create(ctx, q); err != nil {
		return nil, err
	}
	q.Status = corev1.ResourceQuotaStatus{Hard: none, Used: none} // as the controller manager writes it
	return func(ctx context.Context) error { return x.client.Delete(ctx, q) }, x.client.Status().Update(ctx, q)
}

// denied refuses an operation on a kind in the tenant's namespace to everybody. It comes into force about a second later.
func denied(operation admissionv1.OperationType, of string) func(context.Context, *tenant) (func(context.Context) error, error) {
	return func(ctx context.Context, x *tenant) (func(context.Context) error, error) {
		meta := metav1.ObjectMeta{Name: "denies-" + x.name}
		policy := &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: meta, Spec: admissionv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: x.name}},
				ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{operation},
					Rule:       admissionv1.Rule{APIGroups: []string{v1alpha1.GroupVersion.Group}, APIVersions: []string{"*"}, Resources: []string{of}},
				}}},
			},
			Validations: []admissionv1.Validation{{Expression: "false", Message: "denied by chaos"}},
		}}
		binding := &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: meta, Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: meta.Name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
		}}
		err := errors.Join(x.client.Create(ctx, policy), x.client.Create(ctx, binding))
		pause(ctx, time.Second)
		return func(ctx context.Context) error {
			return errors.Join(x.client.Delete(ctx, binding), x.client.Delete(ctx, policy))
		}, err
	}
}

// finalized has a finalizer keep the plan of llm.
func finalized(ctx context.Context, x *tenant) (func(context.Context) error, error) {
	p := x.placement("llm")
	if err := x.client.Get(ctx, client.ObjectKeyFromObject(p), p); err != nil {
		return nil, err
	}
	keep := func(ctx context.Context, list string) error {
		plan := &v1alpha1.ShardingPlan{ObjectMeta: metav1.ObjectMeta{Namespace: x.name, Name: p.Status.Plan}}
		return x.client.Patch(ctx, plan, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":`+list+`}}`)))
	}
	return func(ctx context.Context) error { return client.IgnoreNotFound(keep(ctx, `null`)) }, keep(ctx, `["example.com/keep"]`)
}
