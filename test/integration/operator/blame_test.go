package operator

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/operator"
	ranks "github.com/rankwright/rankwright/pkg/mesh"
	"github.com/rankwright/rankwright/test/operation"
)

// tenant is a namespace with a placement llm for which something fails, and which is served before all others.
type tenant struct {
	world
	name string
}

const firstClass = "first"

// newTenant makes a namespace that no other test has, and takes what is in it away in the end.
func (w world) newTenant(name string) tenant {
	w.Helper()
	w.Must(client.IgnoreAlreadyExists(w.Create(w.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})))
	w.addClass(firstClass, 1000)
	x := tenant{w, name}
	w.Cleanup(x.clear)
	return x
}

func (x tenant) clear() {
	ctx := context.WithoutCancel(x.Context())
	for _, kind := range []client.Object{&v1alpha1.ModelPlacement{}, &v1alpha1.DeviceMesh{}, &v1alpha1.ShardingPlan{}} {
		_ = x.DeleteAllOf(ctx, kind, client.InNamespace(x.name))
	}
}

func (x tenant) key(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: x.name, Name: name}
}

func (x tenant) place() {
	x.Helper()
	p := x.PlacementOf("llm", 1, 1)
	p.Namespace, p.Spec.PriorityClassName = x.name, firstClass
	x.Must(x.Create(x.Context(), p))
}

func (x tenant) llm() *v1alpha1.ModelPlacement {
	x.Helper()
	p := &v1alpha1.ModelPlacement{}
	x.Must(x.Get(x.Context(), x.key("llm"), p))
	return p
}

// widen asks for a plan of twice the devices in place of the one there is.
func (x tenant) widen() {
	x.Helper()
	p := x.llm()
	tensor := int32(2)
	changed := client.MergeFrom(p.DeepCopy())
	p.Spec.Parallelism.Tensor = &tensor
	x.Must(x.Patch(x.Context(), p, changed))
}

func (x tenant) awaitReady(plan string) {
	x.Helper()
	x.Eventually(fmt.Sprintf("%s/llm is placed by %s", x.name, plan), func(context.Context) bool {
		p := x.llm()
		return placed(p).Reason == v1alpha1.ReasonPlaced && p.Status.Plan == plan
	})
}

// deny refuses an operation on resources to everybody in the namespace, and returns what allows it again. It is in force where try
// fails.
func (x tenant) deny(verb admissionv1.OperationType, of string, try func(context.Context) error) (allow func()) {
	x.Helper()
	name := fmt.Sprintf("%s-%s", x.name, strings.ToLower(string(verb)))
	policy := &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: x.name}},
				ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{verb},
					Rule: admissionv1.Rule{
						APIGroups: []string{v1alpha1.GroupVersion.Group}, APIVersions: []string{"*"}, Resources: []string{of},
					},
				}}},
			},
			Validations: []admissionv1.Validation{{Expression: "false", Message: denial}},
		},
	}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       admissionv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny}},
	}
	allow = func() {
		ctx := context.WithoutCancel(x.Context())
		_, _ = x.Delete(ctx, binding), x.Delete(ctx, policy)
	}
	x.Cleanup(allow)
	x.Must(x.Create(x.Context(), policy))
	x.Must(x.Create(x.Context(), binding))
	x.Eventually("the policy is in force", func(ctx context.Context) bool {
		err := try(ctx)
		return err != nil && strings.Contains(err.Error(), denial)
	})
	return allow
}

const denial = "denied by the test"

// tryCreate creates a plan, without effect.
func (x tenant) tryCreate(ctx context.Context) error {
	plan := planOf("try", 1, []string{"nowhere/x"})
	plan.Namespace = x.name
	return x.Create(ctx, plan, client.DryRunAll)
}

// tryStatus writes a status, without effect.
func (x tenant) tryStatus(ctx context.Context, object client.Object, status string) error {
	dry := client.PatchOptions{DryRun: []string{metav1.DryRunAll}}
	return x.Status().Patch(ctx, object, client.RawPatch(types.MergePatchType, []byte(`{"status":`+status+`}`)), &client.SubResourcePatchOptions{PatchOptions: dry})
}

// failures are what may fail for the placement of a tenant. Each is brought about before the tenant has a plan, or after; it returns what
// ends it, nil where it does not end.
var failures = []struct {
	name   string
	placed bool
	bring  func(x tenant) (end func())
	// reason and text are what the placement says of it; empty where it cannot be written.
	reason, text string
}{
	{name: "quota", reason: "PlanRefused", text: "exceeded quota", bring: func(x tenant) func() {
		none := corev1.ResourceList{"count/shardingplans.rankwright.dev": resource.MustParse("0")}
		quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: x.name, Name: "none"}, Spec: corev1.ResourceQuotaSpec{Hard: none}}
		x.Must(x.Create(x.Context(), quota))
		x.Change(quota, func() { quota.Status = corev1.ResourceQuotaStatus{Hard: none, Used: none} })
		x.Eventually("the quota is in force", func(ctx context.Context) bool { return apierrors.IsForbidden(x.tryCreate(ctx)) })
		return func() { x.Must(x.Delete(x.Context(), quota)) }
	}},
	{name: "create", reason: "PlanRefused", text: denial, bring: func(x tenant) func() {
		return x.deny(admissionv1.Create, "shardingplans", x.tryCreate)
	}},
	{name: "delete", placed: true, reason: "OldPlanRemains", text: denial, bring: func(x tenant) func() {
		return x.deny(admissionv1.Delete, "shardingplans", func(ctx context.Context) error {
			return x.Delete(ctx, &v1alpha1.ShardingPlan{ObjectMeta: metav1.ObjectMeta{Namespace: x.name, Name: "llm-1"}}, client.DryRunAll)
		})
	}},
	{name: "finalizer", placed: true, reason: "OldPlanRemains", text: "example.com/keep", bring: func(x tenant) func() {
		finalize := func(ctx context.Context, list string) error {
			plan := &v1alpha1.ShardingPlan{ObjectMeta: metav1.ObjectMeta{Namespace: x.name, Name: "llm-1"}}
			return x.Patch(ctx, plan, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":`+list+`}}`)))
		}
		x.Must(finalize(x.Context(), `["example.com/keep"]`))
		end := func() { _ = finalize(context.WithoutCancel(x.Context()), `null`) }
		x.Cleanup(end)
		return end
	}},
	{name: "plan-status", reason: "NotActivated", text: denial, bring: func(x tenant) func() {
		plan := planOf("try", 1, []string{"nowhere/x"})
		plan.Namespace = x.name
		x.Must(x.Create(x.Context(), plan))
		end := x.deny(admissionv1.Update, "shardingplans/status", func(ctx context.Context) error {
			return x.tryStatus(ctx, plan.DeepCopy(), `{"conditions":[]}`)
		})
		x.Must(x.Delete(x.Context(), plan))
		return end
	}},
	{name: "placement-status", placed: true, bring: func(x tenant) func() {
		return x.deny(admissionv1.Update, "modelplacements/status", func(ctx context.Context) error {
			return x.tryStatus(ctx, x.llm(), `{"model":"try"}`)
		})
	}},
	{name: "mesh", reason: "MeshRefused", text: denial, bring: func(x tenant) func() {
		return x.deny(admissionv1.Create, "devicemeshes", func(ctx context.Context) error {
			spec, err := ranks.FromPlan("try", specOf("try", 1, []string{"nowhere/x"}), nil)
			x.Must(err)
			mesh := &v1alpha1.DeviceMesh{ObjectMeta: metav1.ObjectMeta{Namespace: x.name, Name: "try"}, Spec: *spec}
			return x.Create(ctx, mesh, client.DryRunAll)
		})
	}},
	{name: "terminating", reason: "PlanRefused", text: "being terminated", bring: func(x tenant) func() {
		x.Must(x.Delete(x.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: x.name}}))
		x.Eventually("nothing is created in the namespace", func(ctx context.Context) bool { return apierrors.IsForbidden(x.tryCreate(ctx)) })
		return nil
	}},
}

// TestFailureIsOfOnePlacement lets something fail for a placement that is served first: one in another namespace is placed all the same, and
// only the first one's status says what failed.
func TestFailureIsOfOnePlacement(t *testing.T) {
	for _, f := range failures {
		t.Run(f.name, func(t *testing.T) {
			w := newWorld(t, wholeCluster)
			watched := w.watchInvariant()
			w.addNode("n1", 4)
			x := w.newTenant("tenant-" + f.name)
			var end func()
			if f.placed {
				w.operate(operator.Options{Planner: operation.FirstFit})
				x.place()
				x.awaitReady("llm-1")
				end = f.bring(x)
				x.widen()
			} else {
				x.place()
				end = f.bring(x)
				w.operate(operator.Options{Planner: operation.FirstFit})
			}
			x.checkBlame(f.reason, f.text)
			if end != nil {
				end()
				x.Eventually("the first placement is placed as well", func(context.Context) bool { return placed(x.llm()).Reason == v1alpha1.ReasonPlaced })
			}
			watched.check(1)
		})
	}
}

// checkBlame waits until a placement in another namespace is placed, and until the tenant's says why it is not.
func (x tenant) checkBlame(reason, text string) {
	x.Helper()
	began := time.Now()
	x.world.place(x.PlacementOf("bystander", 1, 1))
	x.awaitPlan("bystander", "bystander-1")
	x.Logf("the bystander is placed after %s", time.Since(began).Round(time.Millisecond))
	if reason != "" {
		x.Eventually("the first placement says why it is not placed", func(context.Context) bool {
			p := x.llm()
			c, ready := placed(p), meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionReady)
			return c.Reason == reason && strings.Contains(c.Message, text) &&
				ready != nil && ready.Status == metav1.ConditionFalse && ready.Reason == reason && strings.HasPrefix(c.Message, ready.Message)
		})
	}
	for _, c := range []struct {
		placement *v1alpha1.ModelPlacement
		other     string
	}{{x.llm(), testNamespace}, {x.placement("bystander"), x.name}} {
		said, err := json.Marshal(c.placement.Status)
		x.Must(err)
		if strings.Contains(string(said), c.other) {
			x.Errorf("the status of %s/%s names namespace %s: %s", c.placement.Namespace, c.placement.Name, c.other, said)
		}
	}
}
