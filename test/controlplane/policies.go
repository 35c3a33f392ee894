package controlplane

import (
	"context"
	"fmt"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// lastPolicy refuses every ConfigMap of its name.
const lastPolicy = "last-policy"

// AwaitPolicies returns when all admission policies that were written so far are in force. The API server looks for new ones once a second,
// and then knows those that were written before another, since it follows policies and bindings each in the order of their writing: the one that
// is written here, and refuses what is tried, is the last. Later calls wait for nothing that was written after the first.
func (c *ControlPlane) AwaitPolicies(ctx context.Context) error {
	writer, err := client.New(c.Config(), client.Options{})
	if err != nil {
		return fmt.Errorf("client: %w", err)
	}
	for _, object := range []client.Object{refuseConfigMaps(), bindPolicy()} {
		if err := client.IgnoreAlreadyExists(writer.Create(ctx, object)); err != nil {
			return fmt.Errorf("create %T: %w", object, err)
		}
	}
	var answer error
	// An API server that has just started may wait this long before it tries again to follow its own policies.
	const poll, patience = 50 * time.Millisecond, 3 * time.Minute
	err = wait.PollUntilContextTimeout(ctx, poll, patience, true, func(ctx context.Context) (bool, error) {
		tried := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: lastPolicy}}
		answer = writer.Create(ctx, tried, client.DryRunAll)
		return apierrors.IsForbidden(answer), nil
	})
	if err != nil {
		return fmt.Errorf("the admission policies are not in force: %w; the last answer is: %w", err, answer)
	}
	return nil
}

func refuseConfigMaps() *admissionv1.ValidatingAdmissionPolicy {
	forbidden := metav1.StatusReasonForbidden
	rule := admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}}
	return &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: lastPolicy},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{
				ResourceNames:      []string{lastPolicy},
				RuleWithOperations: admissionv1.RuleWithOperations{Operations: []admissionv1.OperationType{admissionv1.Create}, Rule: rule},
			}}},
			Validations: []admissionv1.Validation{{Expression: "false", Reason: &forbidden}},
		},
	}
}

func bindPolicy() *admissionv1.ValidatingAdmissionPolicyBinding {
	return &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: lastPolicy},
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: lastPolicy, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
		},
	}
}
