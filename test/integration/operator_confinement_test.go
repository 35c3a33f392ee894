package integration

import (
	"context"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"github.com/rankwright/rankwright/test/controlplane"
)

const (
	operatorName = "rankwright-operator"
	operatorUser = "system:serviceaccount:rankwright-operator:rankwright-operator"
)

// What the tenant's objects have in common.
const (
	ownedByMesh      = "ownerReferences: [{apiVersion: rankwright.dev/v1alpha1, kind: DeviceMesh, name: llm, uid: 0f0f, controller: true}]"
	ownedByPlacement = "ownerReferences: [{apiVersion: rankwright.dev/v1alpha1, kind: ModelPlacement, name: llm, uid: 0f0f, controller: true}]"
	ownedByOther     = "ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: 0f0f, controller: true}]"
	heldPods         = "selector: {matchLabels: {rankwright.dev/placement: llm}, matchExpressions: [{key: rankwright.dev/released, operator: DoesNotExist}]}"
	gatedSpec        = "spec: {containers: [{name: model, image: model}], schedulingGates: [{name: rankwright.dev/placement}, {name: example.com/quota}]}"
)

// tenantObjects are there before anything is stolen: in namespace tenant, objects of a placement beside others; in namespace
// bystander, which has no placement, a pod; and in kube-system a pod with a placement, since evictions are refused where none is,
// and of two policies that refuse a request either may be named.
const tenantObjects = `
{apiVersion: v1, kind: Namespace, metadata: {name: tenant, labels: {resource.kubernetes.io/admin-access: "true"}}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: bystander}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: default, namespace: tenant}}
---
{apiVersion: rankwright.dev/v1alpha1, kind: ModelPlacement, metadata: {name: llm, namespace: tenant}, spec: {model: {name: Llama-3.1-8B}, workload: {inference: {maxModelLen: 8192}}}}
---
{apiVersion: rankwright.dev/v1alpha1, kind: ModelPlacement, metadata: {name: llm, namespace: kube-system}, spec: {model: {name: Llama-3.1-8B}, workload: {inference: {maxModelLen: 8192}}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: placed, namespace: tenant, labels: {rankwright.dev/placement: llm, app: llm}}, ` + gatedSpec + `}
---
{apiVersion: v1, kind: Pod, metadata: {name: plain, namespace: tenant, labels: {app: web}}, ` + gatedSpec + `}
---
{apiVersion: v1, kind: Pod, metadata: {name: plain, namespace: bystander, labels: {app: web}}, ` + gatedSpec + `}
---
{apiVersion: v1, kind: Pod, metadata: {name: placed, namespace: kube-system, labels: {rankwright.dev/placement: llm}}, ` + gatedSpec + `}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: llm-mesh, namespace: tenant, ` + ownedByMesh + `}, data: {a: b}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: theirs, namespace: tenant}, data: {a: b}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: of-web, namespace: tenant, ` + ownedByOther + `}, data: {a: b}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: theirs, namespace: rankwright-operator}, data: {a: b}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: rankwright-cordons, namespace: rankwright-operator}, data: {a: b}}
---
{apiVersion: v1, kind: Secret, metadata: {name: theirs, namespace: tenant}}
---
{apiVersion: v1, kind: Secret, metadata: {name: theirs, namespace: rankwright-operator}}
---
{apiVersion: v1, kind: Node, metadata: {name: stolen-node}}
---
{apiVersion: rankwright.dev/v1alpha1, kind: AcceleratorInventory, metadata: {name: stolen-node, labels: {a: b}}, spec: {cordonedDevices: ["nvidia-0000:17:00.0"]}}
---
{apiVersion: rankwright.dev/v1alpha1, kind: AcceleratorInventory, metadata: {name: fresh-node}}
---
{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: theirs, namespace: tenant}, spec: {devices: {requests: [{name: a, exactly: {deviceClassName: gpu}}]}}}
---
{apiVersion: apps/v1, kind: ControllerRevision, metadata: {name: theirs, namespace: tenant, ` + ownedByOther + `}, data: {a: b}, revision: 1}
---
{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: theirs, namespace: tenant}, spec: {minAvailable: 1, selector: {matchLabels: {rankwright.dev/placement: llm}}}}
---
{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: of-web, namespace: tenant, ` + ownedByOther + `}, spec: {minAvailable: 1, ` + heldPods + `}}
---
{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: llm-drain, namespace: tenant, ` + ownedByPlacement + `}, spec: {minAvailable: 1, ` + heldPods + `}}
---
{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: gone-drain, namespace: tenant}, spec: {minAvailable: 1, ` + heldPods + `}}
---
{apiVersion: events.k8s.io/v1, kind: Event, metadata: {name: theirs, namespace: tenant}, reportingController: web, reportingInstance: web-0, type: Normal, reason: A, action: B, eventTime: "2026-01-01T00:00:00.000000Z", regarding: {kind: Pod, name: plain, namespace: tenant}}
---
{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingWebhookConfiguration, metadata: {name: theirs}, webhooks: [{name: a.example.com, admissionReviewVersions: [v1], sideEffects: None, failurePolicy: Ignore, clientConfig: {url: "https://127.0.0.1:1/"}, rules: [{apiGroups: [example.com], apiVersions: [v1], resources: [things], operations: [CREATE]}]}]}
`

func event(reporter string) string {
	return `{apiVersion: events.k8s.io/v1, kind: Event, reportingController: ` + reporter + `, reportingInstance: x, type: Normal, reason: A, action: B,
		eventTime: "2026-01-01T00:00:00.000000Z", regarding: {kind: Pod, name: placed, namespace: tenant}}`
}

func claim(metadata, request string) string {
	return "{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {" + metadata + "}, spec: {devices: {requests: [{name: a, " + request + "}]}}}"
}

func secret(kind, metadata string) string {
	return "{apiVersion: v1, kind: Secret, type: " + kind + ", metadata: {" + metadata + "}}"
}

func budgetBody(metadata, selector string) string {
	return "{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {" + metadata + "}, spec: {minAvailable: 1, selector: " + selector + "}}"
}

func configMap(metadata string) string {
	return "{apiVersion: v1, kind: ConfigMap, metadata: {" + metadata + "}, data: {a: b}}"
}

func eviction(options string) string {
	return "{apiVersion: policy/v1, kind: Eviction, deleteOptions: {" + options + "}}"
}

// ours are the labels and the owner of what belongs to mesh llm.
const ours = "labels: {rankwright.dev/placement: llm}, " + ownedByMesh

// theft is a request that the operator's token is refused, with a part of the policy's answer.
type theft struct {
	request
	want string
}

// thefts are those of which the test knows, by what they do.
func thefts() map[string]theft {
	const (
		webhooks    = "mutatingwebhookconfigurations.admissionregistration.k8s.io"
		inventories = "acceleratorinventories.rankwright.dev"
		plans       = "shardingplans.rankwright.dev"
		mapOnly     = "ConfigMaps that are a mesh's"
		secretOnly  = "Secrets of type rankwright.dev/mesh-key"
		budgets     = "poddisruptionbudgets.policy"
		budgetsOnly = "PodDisruptionBudgets of placements"
		labelsOnly  = "labels the operator may write plan, index, worker and released alone"
		marksOnly   = "annotations the operator may write those of its place alone"
		specOnly    = "spec the operator may write the node that it requires"
		placedOnly  = "pods that have the label rankwright.dev/placement"
		claimsOnly  = "ResourceClaims of its meshes"
	)
	return map[string]theft{
		// Pods.
		"label a pod that is nobody's of ours":      {request{"patch", "pods", "tenant", "plain", "metadata: {labels: {rankwright.dev/placement: llm}}"}, placedOnly},
		"take our gate from a pod that is not ours": {request{"patch", "pods", "tenant", "plain", "spec: {schedulingGates: [{name: example.com/quota}]}"}, placedOnly},
		"take the gate of somebody's quota":         {request{"patch", "pods", "tenant", "placed", "spec: {schedulingGates: []}"}, "no scheduling gate from a pod but"},
		"run another image":                         {request{"patch", "pods", "tenant", "placed", "spec: {containers: [{name: model, image: miner}]}"}, specOnly},
		"tolerate every taint":                      {request{"patch", "pods", "tenant", "placed", "spec: {tolerations: [{key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute, tolerationSeconds: 300}, {key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute, tolerationSeconds: 300}, {operator: Exists}]}"}, specOnly},
		"select nodes":                              {request{"patch", "pods", "tenant", "placed", "spec: {nodeSelector: {a: b}}"}, specOnly},
		"end a pod by a deadline":                   {request{"patch", "pods", "tenant", "placed", "spec: {activeDeadlineSeconds: 1}"}, specOnly},
		"take a pod's label":                        {request{"patch", "pods", "tenant", "placed", "metadata: {labels: {app: null}}"}, labelsOnly},
		"put a pod behind a Service":                {request{"patch", "pods", "tenant", "placed", "metadata: {labels: {app: web}}"}, labelsOnly},
		"give a pod to another placement":           {request{"patch", "pods", "tenant", "placed", "metadata: {labels: {rankwright.dev/placement: other}}"}, labelsOnly},
		"annotate a pod for others":                 {request{"patch", "pods", "tenant", "placed", "metadata: {annotations: {sidecar.istio.io/inject: 'false'}}"}, marksOnly},
		"annotate a pod beyond its place":           {request{"patch", "pods", "tenant", "placed", "metadata: {annotations: {rankwright.dev/container: other}}"}, marksOnly},
		"keep a pod by a finalizer":                 {request{"patch", "pods", "tenant", "placed", "metadata: {finalizers: [example.com/hold]}"}, "neither set nor remove finalizers"},
		"have a pod collected with another owner":   {request{"patch", "pods", "tenant", "placed", "metadata: {" + ownedByPlacement + "}"}, "may not change an object's owners"},
		"change a pod of kube-system":               {request{"patch", "pods", "kube-system", "placed", "metadata: {labels: {rankwright.dev/plan: a}}"}, "nothing in namespace kube-system"},
		"create a pod":                              {request{"create", "pods", "tenant", "new", "{apiVersion: v1, kind: Pod, " + gatedSpec + "}"}, "may not CREATE pods"},
		"delete a pod":                              {request{"delete", "pods", "tenant", "placed", ""}, "may not DELETE pods"},
		"delete all pods":                           {request{"deletecollection", "pods", "tenant", "", ""}, "may not DELETE pods"},
		"write a pod's status":                      {request{"patch", "pods/status", "tenant", "placed", "status: {phase: Failed}"}, "may not UPDATE pods/status"},
		"bind a pod to a node":                      {request{"create", "pods/binding", "tenant", "placed", "{apiVersion: v1, kind: Binding, target: {kind: Node, name: stolen-node}}"}, "may not CREATE pods/binding"},
		"evict a pod of kube-system":                {request{"create", "pods/eviction", "kube-system", "placed", eviction("preconditions: {uid: a}")}, "kube-system"},
		"evict where no placement is":               {request{"create", "pods/eviction", "bystander", "plain", eviction("preconditions: {uid: a}")}, "rankwright-evictions"},
		"evict whatever has a name":                 {request{"create", "pods/eviction", "tenant", "placed", eviction("")}, "evict a pod by its uid"},
		"evict without grace":                       {request{"create", "pods/eviction", "tenant", "placed", eviction("preconditions: {uid: a}, gracePeriodSeconds: 0")}, "the grace that the pod has"},
		// Budgets.
		"write somebody's budget":            {request{"patch", budgets, "tenant", "theirs", "spec: {minAvailable: 0}"}, budgetsOnly},
		"adopt somebody's budget":            {request{"patch", budgets, "tenant", "theirs", "metadata: {" + ownedByPlacement + "}"}, budgetsOnly},
		"delete somebody's budget":           {request{"delete", budgets, "tenant", "theirs", ""}, budgetsOnly},
		"delete a Deployment's budget":       {request{"delete", budgets, "tenant", "of-web", ""}, budgetsOnly},
		"write a budget without a placement": {request{"patch", budgets, "tenant", "gone-drain", "spec: {minAvailable: 9}"}, budgetsOnly},
		"hold all pods":                      {request{"create", budgets, "tenant", "new", budgetBody(ownedByPlacement, "{}")}, "pods of the budget's own placement"},
		"hold pods of another placement":     {request{"create", budgets, "tenant", "new", budgetBody(ownedByPlacement, "{matchLabels: {rankwright.dev/placement: other}}")}, "pods of the budget's own placement"},
		"hold pods for nobody":               {request{"create", budgets, "tenant", "new", budgetBody("", "{matchLabels: {rankwright.dev/placement: llm}}")}, budgetsOnly},
		"hold more pods than before":         {request{"patch", budgets, "tenant", "llm-drain", "spec: {selector: {matchLabels: {rankwright.dev/placement: null}}}"}, "pods of the budget's own placement"},
		"give a budget to somebody else":     {request{"patch", budgets, "tenant", "llm-drain", "metadata: {" + ownedByOther + "}"}, "may not change an object's owners"},
		"hold pods of kube-system":           {request{"create", budgets, "kube-system", "new", budgetBody(ownedByPlacement, "{matchLabels: {rankwright.dev/placement: llm}}")}, "nothing in namespace kube-system"},
		"say that evictions are allowed":     {request{"patch", budgets + "/status", "tenant", "theirs", "status: {disruptionsAllowed: 9}"}, "may not UPDATE policy/poddisruptionbudgets/status"},
		"release a pod that is not ours":     {request{"patch", "pods", "tenant", "plain", "metadata: {labels: {rankwright.dev/released: Moved}}"}, placedOnly},
		// ConfigMaps.
		"write somebody's ConfigMap":                {request{"patch", "configmaps", "tenant", "theirs", "data: {a: c}"}, mapOnly},
		"adopt somebody's ConfigMap":                {request{"patch", "configmaps", "tenant", "theirs", "metadata: {" + ours + "}"}, mapOnly},
		"delete somebody's ConfigMap":               {request{"delete", "configmaps", "tenant", "theirs", ""}, mapOnly},
		"delete a Deployment's ConfigMap":           {request{"delete", "configmaps", "tenant", "of-web", ""}, mapOnly},
		"delete all Secrets":                        {request{"deletecollection", "secrets", "tenant", "", ""}, "may not DELETE secrets"},
		"make a ConfigMap without an owner":         {request{"create", "configmaps", "tenant", "llm-mesh-7", configMap("")}, mapOnly},
		"make a ConfigMap that a program looks for": {request{"create", "configmaps", "tenant", "kube-root-ca.crt", configMap(ours)}, mapOnly},
		"give a mesh's ConfigMap away":              {request{"patch", "configmaps", "tenant", "llm-mesh", "metadata: {ownerReferences: null}"}, "may not change an object's owners"},
		"write in kube-system":                      {request{"create", "configmaps", "kube-system", "llm-mesh", configMap(ours)}, "nothing in namespace kube-system"},
		"write in kube-public":                      {request{"create", "configmaps", "kube-public", "llm-mesh", configMap(ours)}, "nothing in namespace kube-public"},
		"write beside the agents":                   {request{"create", "configmaps", "rankwright-node-agent", "llm-mesh", configMap(ours)}, "nothing in namespace rankwright-node-agent"},
		"write another ConfigMap of the operator's": {request{"patch", "configmaps", "rankwright-operator", "theirs", "data: {a: c}"}, "configmaps theirs of its namespace"},
		"make files in the operator's namespace":    {request{"create", "configmaps", "rankwright-operator", "llm-mesh", configMap(ours)}, "configmaps llm-mesh of its namespace"},
		"delete the cordons":                        {request{"delete", "configmaps", "rankwright-operator", "rankwright-cordons", ""}, "configmaps rankwright-cordons of its namespace"},
		// Secrets.
		"make a service account's token":            {request{"create", "secrets", "tenant", "llm-mesh-key", secret("kubernetes.io/service-account-token", "annotations: {kubernetes.io/service-account.name: default}, "+ours)}, secretOnly},
		"make a token of kube-system":               {request{"create", "secrets", "kube-system", "llm-mesh-key", secret("kubernetes.io/service-account-token", "annotations: {kubernetes.io/service-account.name: default}, "+ours)}, "nothing in namespace kube-system"},
		"make an opaque Secret":                     {request{"create", "secrets", "tenant", "llm-mesh-key", secret("Opaque", ours)}, secretOnly},
		"make a key of another name":                {request{"create", "secrets", "tenant", "default-token", secret("rankwright.dev/mesh-key", ours)}, secretOnly},
		"make a key without a mesh":                 {request{"create", "secrets", "tenant", "llm-mesh-key", secret("rankwright.dev/mesh-key", "")}, secretOnly},
		"make a bootstrap token":                    {request{"create", "secrets", "kube-system", "bootstrap-token-abcdef", secret("bootstrap.kubernetes.io/token", "")}, "nothing in namespace kube-system"},
		"write somebody's Secret":                   {request{"patch", "secrets", "tenant", "theirs", "data: {a: Yg==}"}, secretOnly},
		"write another Secret of the operator's":    {request{"patch", "secrets", "rankwright-operator", "theirs", "data: {a: Yg==}"}, "secrets theirs of its namespace"},
		"make a Secret in the operator's namespace": {request{"create", "secrets", "rankwright-operator", "llm-mesh-key", secret("rankwright.dev/mesh-key", ours)}, "secrets llm-mesh-key of its namespace"},
		"ask for a service account's token":         {request{"create", "serviceaccounts/token", "tenant", "default", "{apiVersion: authentication.k8s.io/v1, kind: TokenRequest, spec: {}}"}, "may not CREATE serviceaccounts/token"},
		// Webhooks.
		"send pods elsewhere":                   {request{"patch", webhooks, "", "rankwright-pods", hook("clientConfig: {url: 'https://example.com/'}")}, "caBundle of rankwright-pods alone"},
		"see more than pods":                    {request{"patch", webhooks, "", "rankwright-pods", hook("rules: [{apiGroups: ['*'], apiVersions: ['*'], resources: ['*/*'], operations: ['*']}]")}, "caBundle of rankwright-pods alone"},
		"let pods through unseen":               {request{"patch", webhooks, "", "rankwright-pods", hook("failurePolicy: Ignore")}, "caBundle of rankwright-pods alone"},
		"see pods of every namespace":           {request{"patch", webhooks, "", "rankwright-pods", hook("namespaceSelector: {}")}, "caBundle of rankwright-pods alone"},
		"have no webhook":                       {request{"patch", webhooks, "", "rankwright-pods", "webhooks: []"}, "caBundle of rankwright-pods alone"},
		"write another webhook's configuration": {request{"patch", webhooks, "", "theirs", "metadata: {labels: {a: b}}"}, "caBundle of rankwright-pods alone"},
		"delete the webhook's configuration":    {request{"delete", webhooks, "", "rankwright-pods", ""}, "may not DELETE"},
		// Claims, revisions, events.
		"delete somebody's claim":               {request{"delete", "resourceclaims.resource.k8s.io", "tenant", "theirs", ""}, claimsOnly},
		"make a claim without a mesh":           {request{"create", "resourceclaims.resource.k8s.io", "tenant", "new", claim("", "exactly: {deviceClassName: gpu}")}, claimsOnly},
		"look into devices as an administrator": {request{"create", "resourceclaims.resource.k8s.io", "tenant", "new", claim(ours, "exactly: {deviceClassName: gpu, adminAccess: true}")}, "adminAccess"},
		"make a revision of a Deployment":       {request{"create", "controllerrevisions.apps", "tenant", "new", "{apiVersion: apps/v1, kind: ControllerRevision, data: {a: b}, revision: 1, metadata: {" + ownedByOther + "}}"}, "ControllerRevisions of placements"},
		"delete a Deployment's revision":        {request{"delete", "controllerrevisions.apps", "tenant", "theirs", ""}, "ControllerRevisions of placements"},
		"speak in another's name":               {request{"create", "events.events.k8s.io", "tenant", "new", event("kubelet")}, "its own events alone"},
		"change another's event":                {request{"patch", "events.events.k8s.io", "tenant", "theirs", "series: {count: 2, lastObservedTime: '2026-01-01T00:00:00.000000Z'}"}, "its own events alone"},
		"make a Lease elsewhere":                {request{"create", "leases.coordination.k8s.io", "tenant", "rankwright-operator", "{apiVersion: coordination.k8s.io/v1, kind: Lease}"}, "Lease of its election"},
		"make another Lease":                    {request{"create", "leases.coordination.k8s.io", "rankwright-operator", "other", "{apiVersion: coordination.k8s.io/v1, kind: Lease}"}, "Lease of its election"},
		"keep a node alive":                     {request{"create", "leases.coordination.k8s.io", "kube-node-lease", "stolen-node", "{apiVersion: coordination.k8s.io/v1, kind: Lease}"}, "nothing in namespace kube-node-lease"},
		// Our kinds.
		"change a placement":           {request{"patch", "modelplacements.rankwright.dev", "tenant", "llm", "spec: {replicas: 9}"}, "may not UPDATE rankwright.dev/modelplacements"},
		"delete a placement":           {request{"delete", "modelplacements.rankwright.dev", "tenant", "llm", ""}, "may not DELETE rankwright.dev/modelplacements"},
		"change a plan":                {request{"patch", plans, "tenant", "llm-1", "metadata: {labels: {a: b}}"}, "may not UPDATE rankwright.dev/shardingplans"},
		"make a plan of no placement":  {request{"create", plans, "tenant", "llm-9", planBody("")}, "that their placement owns"},
		"make a plan in kube-system":   {request{"create", plans, "kube-system", "llm-9", planBody(ownedByPlacement)}, "nothing in namespace kube-system"},
		"lift a cordon":                {request{"patch", inventories, "", "stolen-node", "spec: {cordonedDevices: []}"}, "restore the cordons"},
		"label an inventory":           {request{"patch", inventories, "", "stolen-node", "metadata: {labels: {a: c}}"}, "cordons alone"},
		"keep an inventory":            {request{"patch", inventories, "", "stolen-node", "metadata: {finalizers: [example.com/hold]}"}, "neither set nor remove finalizers"},
		"run a Job":                    {request{"create", "jobs.batch", "tenant", "new", "{apiVersion: batch/v1, kind: Job, spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}}"}, "may not CREATE batch/jobs"},
		"record repairs of a tenant's": {request{"create", "configmaps", "tenant", "rankwright-repairs", configMap("")}, mapOnly},
		"forge what an agent saw":      {request{"patch", inventories + "/status", "", "stolen-node", "status: {agentVersion: forged}"}, "of the status of an AcceleratorInventory the operator may write slots and repairs alone"},
		"delete an inventory":          {request{"delete", inventories, "", "stolen-node", ""}, "may not DELETE rankwright.dev/acceleratorinventories"},
		// Everything else.
		"label a node":           {request{"patch", "nodes", "", "stolen-node", "metadata: {labels: {a: b}}"}, "may not UPDATE nodes"},
		"label a namespace":      {request{"patch", "namespaces", "", "tenant", "metadata: {labels: {pod-security.kubernetes.io/enforce: privileged}}"}, "may not UPDATE namespaces"},
		"make a service account": {request{"create", "serviceaccounts", "tenant", "new", "{apiVersion: v1, kind: ServiceAccount}"}, "may not CREATE serviceaccounts"},
		"run a Deployment":       {request{"create", "deployments.apps", "tenant", "new", "{apiVersion: apps/v1, kind: Deployment, spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: a}]}}}}"}, "may not CREATE apps/deployments"},
		"grant itself rights":    {request{"create", "clusterrolebindings.rbac.authorization.k8s.io", "", "new", "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}}"}, "may not CREATE rbac.authorization.k8s.io/clusterrolebindings"},
		"widen its role":         {request{"patch", "clusterroles.rbac.authorization.k8s.io", "", "rankwright-operator", "rules: [{apiGroups: ['*'], resources: ['*'], verbs: ['*']}]"}, "may not UPDATE rbac.authorization.k8s.io/clusterroles"},
	}
}

// deeds are requests of the operator's, in this order. What its tests do under the same policies is not repeated here.
var deeds = []request{
	{"patch", "pods", "tenant", "placed", `{metadata: {labels: {rankwright.dev/plan: llm-1, rankwright.dev/index: "0", rankwright.dev/worker: "0"}, annotations: {rankwright.dev/node: stolen-node}},
		spec: {schedulingGates: [{name: example.com/quota}], affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {
		nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [stolen-node]}]}]}}}}}`},
	{"patch", "pods", "tenant", "placed", "metadata: {labels: {rankwright.dev/released: Moved}}"},
	{"patch", "pods", "tenant", "placed", "metadata: {labels: {rankwright.dev/released: null}}"},
	{"create", "poddisruptionbudgets.policy", "tenant", "ours", budgetBody(ownedByPlacement, "{matchLabels: {rankwright.dev/placement: llm}}")},
	{"patch", "poddisruptionbudgets.policy", "tenant", "ours", "spec: {minAvailable: 2}"},
	{"delete", "poddisruptionbudgets.policy", "tenant", "ours", ""},
	{"delete", "poddisruptionbudgets.policy", "tenant", "gone-drain", ""},
	{"create", "secrets", "tenant", "llm-mesh-key", secret("rankwright.dev/mesh-key", ours)},
	{"create", "resourceclaims.resource.k8s.io", "tenant", "llm-0", claim(ours, "exactly: {deviceClassName: gpu}")},
	{"delete", "resourceclaims.resource.k8s.io", "tenant", "llm-0", ""},
	{"create", "controllerrevisions.apps", "tenant", "llm-1", "{apiVersion: apps/v1, kind: ControllerRevision, data: {a: b}, revision: 1, metadata: {" + ownedByPlacement + "}}"},
	{"delete", "controllerrevisions.apps", "tenant", "llm-1", ""},
	{"create", "events.events.k8s.io", "tenant", "ours", event("rankwright-operator")},
	{"patch", "events.events.k8s.io", "tenant", "ours", "series: {count: 2, lastObservedTime: '2026-01-01T00:00:00.000000Z'}"},
	{"patch", "acceleratorinventories.rankwright.dev", "", "fresh-node", `spec: {cordonedDevices: ["nvidia-0000:17:00.0"]}`},
	{"patch", "mutatingwebhookconfigurations.admissionregistration.k8s.io", "", "rankwright-pods", hook("clientConfig: {caBundle: Cg==, service: {name: rankwright-webhook, namespace: rankwright-operator, path: /bind-pods, port: 443}}")},
	{"patch", "configmaps", "tenant", "llm-mesh", "data: {a: c}"},
	{"delete", "configmaps", "tenant", "llm-mesh", ""},
}

// hook is our webhook, in which something is otherwise.
func hook(change string) string {
	object, err := controlplane.ReadConfig("webhook")
	if err != nil {
		panic(err)
	}
	hooks, _, _ := unstructured.NestedSlice(object[0].Object, "webhooks")
	first, _ := hooks[0].(map[string]any)
	var changes map[string]any
	if err := yaml.Unmarshal([]byte("{"+change+"}"), &changes); err != nil {
		panic(err)
	}
	for key, value := range changes {
		first[key] = value
	}
	text, _ := yaml.Marshal(map[string]any{"webhooks": hooks})
	return string(text)
}

// planBody is a plan of placement llm.
func planBody(metadata string) string {
	return `{apiVersion: rankwright.dev/v1alpha1, kind: ShardingPlan, metadata: {` + metadata + `}, spec: {placement: {name: llm, uid: 0f0f}, revision: 1,
		model: {name: small, parameters: 1, architecture: {layers: 1, hiddenSize: 1, vocabSize: 1, attention: {heads: 1, kvHeads: 1, headDim: 1}, mlp: {intermediateSize: 1}}},
		quantization: BF16, kvCacheType: BF16, engine: vLLM,
		strategy: {name: TensorParallel, summary: TP1, tensor: 1, pipeline: 1, data: 1, expert: 1, context: 1, replicas: 1},
		stages: [{firstLayer: 0, lastLayer: 0, perDevice: {weightsBytes: 1, kvCacheBytes: 1, activationsBytes: 1, overheadBytes: 1, totalBytes: 4}}],
		nodes: [{node: a-node, devices: ["nvidia-0000:17:00.0"]}],
		totals: {devices: 1, nodes: 1, weightsBytes: 1, kvCacheBytes: 1, totalBytes: 4, memory: 4 B}, enforcement: Advisory}}`
}

func TestOperatorIsConfined(t *testing.T) {
	admin, err := kubernetes.NewForConfig(cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	installConfig(t, "namespace", "rbac", "admission")
	applyText(t, tenantObjects)
	applyText(t, strings.Replace(planBody(ownedByPlacement), "metadata: {", "metadata: {name: llm-1, namespace: tenant, ", 1))
	installConfig(t, "webhook")
	t.Cleanup(func() {
		_ = admin.AdmissionregistrationV1().MutatingWebhookConfigurations().Delete(context.Background(), "rankwright-pods", metav1.DeleteOptions{})
	})
	operator := cluster.AccountClient(t, operatorName, operatorName, nil)
	if err := cluster.AwaitPolicies(t.Context()); err != nil {
		t.Fatal(err)
	}

	granted := 0
	for name, theft := range thefts() {
		if theft.granted(t, admin, operatorUser) {
			granted++
			t.Run("refused: "+name, func(t *testing.T) { theft.refused(t, operator, theft.want) })
		}
	}
	if all := len(thefts()); all < 40 || granted < 40 {
		t.Errorf("%d thefts, of which RBAC allows %d: want 40 that only the policy refuses", all, granted)
	}
	// Whatever RBAC grants one day, the policy is in the way.
	role := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "stolen"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: operatorName, Name: operatorName}},
	}
	if _, err := admin.RbacV1().ClusterRoleBindings().Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = admin.RbacV1().ClusterRoleBindings().Delete(context.Background(), role.Name, metav1.DeleteOptions{})
	})
	for name, theft := range thefts() {
		t.Run("refused with all rights: "+name, func(t *testing.T) { theft.refused(t, operator, theft.want) })
	}
	for _, deed := range deeds {
		t.Run("allowed: "+deed.verb+" "+deed.resource+" "+deed.object, func(t *testing.T) {
			if err := deed.by(t.Context(), operator); err != nil {
				t.Error(err)
			}
		})
	}
}

// refused makes a request that a policy refuses.
func (r request) refused(t *testing.T, c dynamic.Interface, want string) {
	t.Helper()
	if err := r.by(t.Context(), c); err == nil || !strings.Contains(err.Error(), "ValidatingAdmissionPolicy 'rankwright-") || !strings.Contains(err.Error(), want) {
		t.Errorf("%s of %s %s/%s: %v; want a policy's refusal with %q", r.verb, r.resource, r.namespace, r.object, err, want)
	}
}

// installConfig applies parts of config/, as a cluster's administrator does.
func installConfig(t *testing.T, names ...string) {
	t.Helper()
	objects, err := controlplane.ReadConfig(names...)
	if err == nil {
		err = controlplane.Apply(t.Context(), cluster.Config(), "", objects...)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// applyText applies objects that are written as YAML.
func applyText(t *testing.T, text string) {
	t.Helper()
	for document := range strings.SplitSeq(text, "\n---\n") {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
			t.Fatal(err)
		}
		if err := controlplane.Apply(t.Context(), cluster.Config(), "", object); err != nil {
			t.Fatal(err)
		}
	}
}
