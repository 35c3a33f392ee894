//go:build linux

package e2e

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/test/e2e/probe/report"
)

const (
	inventoryPath = "/apis/rankwright.dev/v1alpha1/acceleratorinventories/"
	nodePath      = "/api/v1/nodes/"
	leasePath     = "/apis/coordination.k8s.io/v1/namespaces/" + agentNamespace + "/leases/"
	slicePath     = "/apis/resource.k8s.io/v1/resourceslices/"
	managed       = "?fieldManager=thief&force=true"
)

// sliceOf is a ResourceSlice without devices.
func sliceOf(name, node, driver string) string {
	return `{"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{"name":"` + name + `"},"spec":{"driver":"` + driver +
		`","nodeName":"` + node + `","pool":{"name":"` + node + `","generation":1,"resourceSliceCount":1}}}`
}

// applied is a server-side apply.
func applied(name, path, body string) report.Request {
	return report.Request{Name: name, Method: http.MethodPatch, Path: path + managed, ContentType: string(types.ApplyPatchType), Body: body}
}

// merged is a merge patch.
func merged(name, path, body string) report.Request {
	return report.Request{Name: name, Method: http.MethodPatch, Path: path, ContentType: string(types.MergePatchType), Body: body}
}

func posted(name, path, body string) report.Request {
	return report.Request{Name: name, Method: http.MethodPost, Path: path, ContentType: "application/json", Body: body}
}

func deleted(name, path string) report.Request {
	return report.Request{Name: name, Method: http.MethodDelete, Path: path}
}

// thefts are what somebody would try who has the token of the agent on one node, own; all are to be refused.
func thefts(own, other string) []report.Request {
	const inventory = `{"apiVersion":"rankwright.dev/v1alpha1","kind":"AcceleratorInventory","metadata":{"name":"`
	const lease = `{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"`
	return []report.Request{
		merged("label another node", nodePath+other, `{"metadata":{"labels":{"rankwright.dev/x":"y"}}}`),
		merged("label the node out of our prefix", nodePath+own, `{"metadata":{"labels":{"node-role.kubernetes.io/control-plane":""}}}`),
		merged("remove a foreign label", nodePath+own, `{"metadata":{"labels":{"kubernetes.io/hostname":null}}}`),
		merged("change a foreign label", nodePath+own, `{"metadata":{"labels":{"kubernetes.io/hostname":"`+other+`"}}}`),
		merged("annotate out of our prefix", nodePath+own, `{"metadata":{"annotations":{"volumes.kubernetes.io/x":"y"}}}`),
		merged("untaint", nodePath+own, `{"spec":{"taints":[{"key":"a","effect":"NoSchedule"}]}}`),
		merged("make unschedulable", nodePath+own, `{"spec":{"unschedulable":true}}`),
		merged("add a finalizer to the node", nodePath+own, `{"metadata":{"finalizers":["rankwright.dev/x"]}}`),
		merged("own the node", nodePath+own, `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"x","uid":"x"}]}}`),
		merged("write the node's status", nodePath+own+"/status", `{"status":{"capacity":{"rankwright.dev/x":"1"}}}`),
		merged("say that the node is ready", nodePath+own+"/status", `{"status":{"conditions":[{"type":"Ready","status":"True"}]}}`),
		merged("say it of another node", nodePath+other+"/status", `{"status":{"conditions":[{"type":"AcceleratorsReady","status":"True"}]}}`),
		deleted("delete the node", nodePath+own),
		posted("create a node", nodePath, `{"apiVersion":"v1","kind":"Node","metadata":{"name":"forged"}}`),
		applied("write another node's inventory", inventoryPath+other, inventory+other+`"}}`),
		applied("write another node's status", inventoryPath+other+"/status", inventory+other+`"},"status":{"agentVersion":"x"}}`),
		applied("uncordon", inventoryPath+own, inventory+own+`"},"spec":{"cordonedDevices":["nvidia-0000:00:00.0"]}}`),
		applied("claim slots", inventoryPath+own+"/status", inventory+own+`"},"status":{"slots":[{"device":"nvidia-0000:00:00.0","resource":"rankwright.dev/slot-a"}]}}`),
		merged("disown the inventory", inventoryPath+own, `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"x","uid":"x"}]}}`),
		deleted("delete another node's inventory", inventoryPath+other),
		posted("create an inventory of no node", inventoryPath, inventory+`forged"}}`),
		applied("renew another node's lease", leasePath+other, lease+other+`","namespace":"`+agentNamespace+`"},"spec":{"holderIdentity":"x"}}`),
		applied("lease elsewhere", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/"+own, lease+own+`","namespace":"kube-node-lease"},"spec":{"holderIdentity":"x"}}`),
		applied("offer another node's devices", slicePath+"forged", sliceOf("forged", other, v1alpha1.DRADriver)),
		applied("offer another driver's devices", slicePath+"forged", sliceOf("forged", own, "gpu.nvidia.com")),
		deleted("take all devices away", slicePath),
		{Name: "read claims", Method: http.MethodGet, Path: "/apis/resource.k8s.io/v1/resourceclaims"},
		posted("create a pod", "/api/v1/namespaces/"+agentNamespace+"/pods", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"x","image":"x"}]}}`),
		{Name: "read secrets", Method: http.MethodGet, Path: "/api/v1/secrets"},
		posted("make a token", "/api/v1/namespaces/"+agentNamespace+"/serviceaccounts/"+agentNamespace+"/token", `{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{}}`),
		posted("bind a role", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRoleBinding","metadata":{"name":"x"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"cluster-admin"},"subjects":[]}`),
		posted("place a model", "/apis/rankwright.dev/v1alpha1/namespaces/default/modelplacements", `{"apiVersion":"rankwright.dev/v1alpha1","kind":"ModelPlacement","metadata":{"name":"x"},"spec":{"model":{"name":"Llama-3.1-8B"},"workload":{"inference":{"maxModelLen":1024,"maxSequences":1}}}}`),
		deleted("delete the policy", "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/rankwright-node-agent"),
	}
}

// rights are what the agent does itself; all are to be allowed.
func rights(own string) []report.Request {
	return []report.Request{
		merged("label the node under our prefix", nodePath+own, `{"metadata":{"labels":{"rankwright.dev/probe":"x"}}}`),
		{Name: "read the inventory", Method: http.MethodGet, Path: inventoryPath + own},
		{Name: "renew the lease", Method: http.MethodGet, Path: leasePath + own},
	}
}

// Whoever takes over an agent can write nothing but what is its own.
func TestStolenToken(t *testing.T) {
	s := on(t)
	s.install(t, "vendors.amd.through=DRA") // with the rights to ResourceSlices
	own, other := s.Nodes[0].Name, s.Nodes[1].Name
	for _, node := range []string{own, other} {
		s.awaitInventory(t, node, func(i *v1alpha1.AcceleratorInventory) bool { return len(i.Status.Devices) > 0 })
	}
	t.Cleanup(func() {
		patch := []byte(`{"metadata":{"labels":{"rankwright.dev/probe":null}}}`)
		if _, err := s.objects.Resource(nodes).Patch(context.Background(), own, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			t.Error(err)
		}
	})
	outcomes := s.request(t, own, append(thefts(own, other), rights(own)...))
	refused := 0
	for i, outcome := range outcomes {
		isTheft := i < len(thefts(own, other))
		switch {
		case isTheft && outcome.Code == http.StatusForbidden, isTheft && outcome.Code == http.StatusUnprocessableEntity && strings.Contains(outcome.Body, "ValidatingAdmissionPolicy"):
			refused++
		case isTheft:
			t.Errorf("%s: not refused: %d %s", outcome.Name, outcome.Code, outcome.Body)
		case outcome.Code != http.StatusOK:
			t.Errorf("%s: refused: %d %s", outcome.Name, outcome.Code, outcome.Body)
		}
	}
	step("%d of %d requests with a stolen token refused", refused, len(thefts(own, other)))
	agent, err := s.ControlPlane.ConfigForAccount(t.Context(), agentNamespace, agentNamespace, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.checkMetrics(t, own, agent.BearerToken)
}

// request sends requests from a pod that has the agent's service account.
func (s *site) request(t *testing.T, node string, requests []report.Request) []report.Outcome {
	t.Helper()
	list, err := json.Marshal(requests)
	if err != nil {
		t.Fatal(err)
	}
	pod := s.create(t, probePod("thief", "request", at(node), func(pod *corev1.Pod) {
		pod.Namespace = agentNamespace
		pod.Spec.ServiceAccountName, pod.Spec.AutomountServiceAccountToken = agentNamespace, nil
		pod.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "REQUESTS", Value: string(list)}}
	}))
	s.mustBe(t, pod, succeeded)
	return printed[[]report.Outcome](t, s, pod)
}
