package integration

import (
	"context"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
)

// writerRights are a tenant's namespace, and roles in it: every right over plans and meshes but to override, and that right too.
const writerRights = `
{apiVersion: v1, kind: Namespace, metadata: {name: written}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: writer, namespace: written}, rules: [
  {apiGroups: [rankwright.dev], resources: [shardingplans, shardingplans/status, devicemeshes], verbs: [get, create, update, patch, delete]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: repairer, namespace: written}, rules: [
  {apiGroups: [rankwright.dev], resources: [shardingplans], verbs: [override]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: writer, namespace: written}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: writer}, subjects: [
  {apiGroup: rbac.authorization.k8s.io, kind: User, name: writer}, {apiGroup: rbac.authorization.k8s.io, kind: User, name: repairer},
  {apiGroup: rbac.authorization.k8s.io, kind: User, name: "system:kube-controller-manager"}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: repairer, namespace: written}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: repairer}, subjects: [
  {apiGroup: rbac.authorization.k8s.io, kind: User, name: repairer}]}
`

// TestPlansAreWrittenByTheOperatorAlone has everybody who may by RBAC delete a plan and more.
func TestPlansAreWrittenByTheOperatorAlone(t *testing.T) {
	installConfig(t, "namespace", "rbac", "admission")
	applyText(t, writerRights)
	by := func(user string, groups ...string) dynamic.Interface {
		config, err := cluster.ConfigForUser(user, groups...)
		if err != nil {
			t.Fatal(err)
		}
		c, err := dynamic.NewForConfig(config)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	writer := by("writer")
	remake := func(t *testing.T) {
		t.Helper()
		applyText(t, strings.Replace(planBody(ownedByPlacement), "metadata: {", "metadata: {name: llm-1, namespace: written, ", 1))
	}
	remake(t)
	const plans = "shardingplans.rankwright.dev"
	remove := request{"delete", plans, "written", "llm-1", ""}
	tries := []request{
		{"create", plans, "written", "llm-2", planBody(ownedByPlacement)},
		{"patch", plans, "written", "llm-1", "metadata: {ownerReferences: null}"},
		{"patch", plans + "/status", "written", "llm-1", "status: {conditions: [{type: Active, status: 'True', reason: Forged, message: '', lastTransitionTime: '2026-01-01T00:00:00Z'}]}"},
		remove,
	}
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		return apierrors.IsForbidden(tries[1].by(ctx, writer)), nil
	})
	if err != nil {
		t.Fatalf("the policy did not come into force: %v", err)
	}
	for _, try := range tries {
		if err := try.by(t.Context(), writer); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "the operator alone may write shardingplans") {
			t.Errorf("%s of %s: %v", try.verb, try.resource, err)
		}
	}
	for name, c := range map[string]dynamic.Interface{
		"the operator":                 by(operatorUser, "system:serviceaccounts"),
		"the garbage collector":        by("system:serviceaccount:kube-system:generic-garbage-collector"),
		"the namespace controller":     by("system:serviceaccount:kube-system:namespace-controller"),
		"a controller of old clusters": by("system:kube-controller-manager"),
		"an administrator":             by("root", "system:masters"),
		"who may override":             by("repairer"),
	} {
		t.Run(name, func(t *testing.T) {
			remake(t)
			if err := remove.by(t.Context(), c); err != nil {
				t.Error(err)
			}
		})
	}
}
