package operation

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// RepairNamespace and RepairAccount are of who repairs, and RepairJob are settings of repairs that make a Job for each.
const (
	RepairNamespace = "repairs"
	RepairAccount   = "mender"
	RepairJob       = `
namespace: repairs
serviceAccountName: mender
template: |
  apiVersion: batch/v1
  kind: Job
  metadata: {labels: {node: {{ quote .Node }}}}
  spec:
    template:
      spec:
        restartPolicy: Never
        nodeName: {{ quote .Node }}
        containers: [{name: reset, image: reset, args: [{{ quote .PCIAddress }}, {{ quote .Fault }}]}]
`
)

// AllowRepairs gives the operator and the account that repairs what an administrator does, and the chart where repairs are enabled.
func (w *World) AllowRepairs() {
	w.Helper()
	operatorAccount := rbacv1.Subject{Kind: "ServiceAccount", Namespace: Namespace, Name: "rankwright-operator"}
	account := rbacv1.Subject{Kind: "ServiceAccount", Namespace: RepairNamespace, Name: RepairAccount}
	for _, o := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: RepairNamespace}},
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: RepairNamespace, Name: RepairAccount}},
		roleOf("impersonate", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"serviceaccounts"}, ResourceNames: []string{RepairAccount}, Verbs: []string{"impersonate"}}),
		bindingOf("impersonate", operatorAccount),
		roleOf("jobs", rbacv1.PolicyRule{APIGroups: []string{"batch"}, Resources: []string{"jobs"}, Verbs: []string{"get", "create", "delete"}}),
		bindingOf("jobs", account),
	} {
		w.Must(client.IgnoreAlreadyExists(w.Create(w.Context(), o)))
	}
	// As the chart grants it where repairs are enabled.
	taints := rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "rankwright-operator-taints"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"resource.k8s.io"}, Resources: []string{"devicetaintrules"}, Verbs: []string{"list", "create", "update", "delete"}},
		{APIGroups: []string{"resource.k8s.io"}, Resources: []string{"resourceslices"}, Verbs: []string{"list"}},
	}}
	w.Must(client.IgnoreAlreadyExists(w.Create(w.Context(), &taints)))
	w.Must(client.IgnoreAlreadyExists(w.Create(w.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: taints.Name}, Subjects: []rbacv1.Subject{operatorAccount},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: taints.Name},
	})))
}

func roleOf(name string, rule rbacv1.PolicyRule) *rbacv1.Role {
	return &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: RepairNamespace, Name: name}, Rules: []rbacv1.PolicyRule{rule}}
}

func bindingOf(name string, to rbacv1.Subject) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: RepairNamespace, Name: name}, Subjects: []rbacv1.Subject{to},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
	}
}

// CompleteJob ends a job as its controller does.
func (w *World) CompleteJob(job *batchv1.Job) {
	w.Helper()
	now, before := metav1.Now(), client.MergeFrom(job.DeepCopy())
	job.Status.StartTime, job.Status.CompletionTime = &now, &now
	for _, kind := range []batchv1.JobConditionType{batchv1.JobSuccessCriteriaMet, batchv1.JobComplete} {
		job.Status.Conditions = append(job.Status.Conditions, batchv1.JobCondition{Type: kind, Status: corev1.ConditionTrue})
	}
	w.Must(w.Status().Patch(w.Context(), job, before))
}
