package peers

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/rankwright/rankwright/internal/repository"
	"github.com/rankwright/rankwright/test/controlplane"
	"github.com/rankwright/rankwright/test/scale"
)

var workloads = schema.GroupVersionKind{Group: "kueue.x-k8s.io", Version: "v1beta2", Kind: "Workload"}

// queues are one queue that may use all devices, on nodes that are told apart by their names. The cluster's quota is no limit.
const queues = `
apiVersion: kueue.x-k8s.io/v1beta2
kind: Topology
metadata: {name: hosts}
spec: {levels: [{nodeLabel: kubernetes.io/hostname}]}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: devices}
spec: {topologyName: hosts, nodeLabels: {kubernetes.io/os: linux}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: all}
spec:
  namespaceSelector: {}
  queueingStrategy: BestEffortFIFO
  resourceGroups:
  - coveredResources: [nvidia.com/gpu]
    flavors: [{name: devices, resources: [{name: nvidia.com/gpu, nominalQuota: "1000000"}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: all, namespace: ` + scale.Home + `}
spec: {clusterQueue: all}
`

// metricsCertificates is where Kueue wants to have a certificate for metrics, also where it serves none; the path cannot be chosen.
const metricsCertificates = "/etc/kueue/metrics/certs"

// kueue measures Kueue with the limits of requests that it is shipped with, and without its webhooks, whose work is to default and to check.
func (f *field) kueue(ctx context.Context) ([]time.Time, error) {
	if err := f.installKueue(ctx); err != nil {
		return nil, err
	}
	ended, err := f.start("kueue", "kubernetes-admin", func(dir, kubeconfig string) ([]string, error) {
		file := filepath.Join(dir, "config.yaml")
		return []string{"--config=" + file, "--kubeconfig=" + kubeconfig}, f.configureKueue(dir, file)
	}, "system:masters")
	if err != nil {
		return nil, err
	}
	defer func() {
		ended()
		_ = os.RemoveAll(metricsCertificates)
	}()
	if err := f.apply(ctx, queues); err != nil {
		return nil, err
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(workloads)
	return f.all(ctx, list, func(i int) client.Object { return workload(i) }, func(o client.Object) bool {
		u, is := o.(*unstructured.Unstructured)
		return is && admitted(u)
	})
}

// installKueue installs Kueue's kinds from its module.
func (f *field) installKueue(ctx context.Context) error {
	root, err := repository.Root()
	if err != nil {
		return err
	}
	list := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/kueue")
	list.Dir = filepath.Join(root, "tools", "kueue")
	module, err := list.Output()
	if err != nil {
		return fmt.Errorf("module of Kueue: %w", err)
	}
	return f.plane.InstallCRDs(ctx, filepath.Join(strings.TrimSpace(string(module)), "config", "components", "crd", "bases"))
}

// configureKueue writes Kueue's configuration. Its webhook has a certificate that nobody asks for.
func (*field) configureKueue(dir, file string) error {
	ports, err := controlplane.FreePorts(1)
	if err != nil {
		return err
	}
	text := fmt.Sprintf(`apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
webhook: {host: 127.0.0.1, port: %d, certDir: %s}
metrics: {bindAddress: "0"}
health: {healthProbeBindAddress: "0"}
leaderElection: {leaderElect: false}
internalCertManagement: {enable: false}
clientConnection: {qps: 50, burst: 100}
featureGates: {VisibilityOnDemand: false}
integrations: {frameworks: [batch/job]}
`, ports[0], dir)
	certificate, key, err := cert.GenerateSelfSignedCertKey("127.0.0.1", nil, nil)
	if err != nil {
		return fmt.Errorf("certificate: %w", err)
	}
	if err := os.MkdirAll(metricsCertificates, 0o700); err != nil {
		return fmt.Errorf("certificate of Kueue: %w", err)
	}
	files := map[string][]byte{file: []byte(text)}
	for _, folder := range []string{dir, metricsCertificates} {
		files[filepath.Join(folder, "tls.crt")], files[filepath.Join(folder, "tls.key")] = certificate, key
	}
	for name, content := range files {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			return fmt.Errorf("configuration of Kueue: %w", err)
		}
	}
	return nil
}

func (f *field) apply(ctx context.Context, manifests string) error {
	var objects []*unstructured.Unstructured
	for text := range strings.SplitSeq(manifests, "\n---\n") {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &object.Object); err != nil {
			return fmt.Errorf("manifest: %w", err)
		}
		objects = append(objects, object)
	}
	return controlplane.Apply(ctx, f.Config, "", objects...)
}

// workload asks for the devices of the pod of its number, on one node.
func workload(number int) *unstructured.Unstructured {
	n := fmt.Sprint(devices[number%len(devices)])
	container := map[string]any{"name": "main", "image": "none", "resources": map[string]any{
		"requests": map[string]any{string(resourceName): n}, "limits": map[string]any{string(resourceName): n},
	}}
	made := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"queueName": "all",
		"podSets": []any{map[string]any{
			"name": "main", "count": int64(1), "topologyRequest": map[string]any{"required": "kubernetes.io/hostname"},
			"template": map[string]any{"spec": map[string]any{"containers": []any{container}, "restartPolicy": "Never"}},
		}},
	}}}
	made.SetGroupVersionKind(workloads)
	made.SetNamespace(scale.Home)
	made.SetName(fmt.Sprintf("workload%05d", number))
	return made
}

func admitted(workload *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(workload.Object, "status", "conditions")
	for _, c := range conditions {
		if fields, is := c.(map[string]any); is && fields["type"] == "Admitted" && fields["status"] == "True" {
			return true
		}
	}
	return false
}
