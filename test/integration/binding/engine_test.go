package binding

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/internal/repository"
	"github.com/rankwright/rankwright/test/controlplane"
	"github.com/rankwright/rankwright/test/process"
)

// engine is a controller of workloads that is installed beside Kubernetes.
type engine struct {
	// tool is the name of its binary and of its module's folder in tools/.
	tool string
	// module has the manifests, in a folder that kustomize renders.
	module, manifests string
	// user is the service account whose rights the manifests give it.
	user string
	// kind of its workloads.
	kind schema.GroupVersionKind
	// run returns the arguments and writes what they refer to.
	run func(w *world, in *installation) []string
	// mute says that its binary serves no webhooks.
	mute bool
}

// installation is where one test's engine finds its things.
type installation struct {
	dir, kubeconfig string
	port            int
}

var (
	leaderWorkerSet = engine{
		tool: "lws", module: "sigs.k8s.io/lws", manifests: "config/default",
		user: "system:serviceaccount:lws-system:lws-controller-manager",
		kind: schema.GroupVersionKind{Group: "leaderworkerset.x-k8s.io", Version: "v1", Kind: "LeaderWorkerSet"},
		run:  configured("config.lws.x-k8s.io/v1alpha1"),
	}
	jobSet = engine{
		tool: "jobset", module: "sigs.k8s.io/jobset", manifests: "config/default",
		user: "system:serviceaccount:jobset-system:jobset-controller-manager",
		kind: schema.GroupVersionKind{Group: "jobset.x-k8s.io", Version: "v1alpha2", Kind: "JobSet"},
		run:  configured("config.jobset.x-k8s.io/v1alpha1"),
	}
	mpiOperator = engine{
		tool: "mpi-operator", module: "github.com/kubeflow/mpi-operator", manifests: "manifests/overlays/standalone",
		user: "system:serviceaccount:mpi-operator:mpi-operator",
		kind: schema.GroupVersionKind{Group: "kubeflow.org", Version: "v2beta1", Kind: "MPIJob"},
		run:  onFixedPort,
	}
	trainingOperator = engine{
		tool: "training-operator", module: "github.com/kubeflow/training-operator", manifests: "manifests/overlays/standalone",
		user: "system:serviceaccount:kubeflow:training-operator",
		kind: schema.GroupVersionKind{Group: "kubeflow.org", Version: "v1", Kind: "PyTorchJob"},
		run:  func(_ *world, in *installation) []string { return []string{"--kubeconfig=" + in.kubeconfig} },
		mute: true,
	}
)

// configured writes the configuration file that LeaderWorkerSet and JobSet share, each in its own group.
func configured(apiVersion string) func(*world, *installation) []string {
	return func(w *world, in *installation) []string {
		path := filepath.Join(in.dir, "config.yaml")
		content := fmt.Sprintf(`apiVersion: %s
kind: Configuration
webhook: {host: 127.0.0.1, port: %d, certDir: %s}
metrics: {bindAddress: "0"}
health: {healthProbeBindAddress: "0"}
leaderElection: {leaderElect: false}
internalCertManagement: {enable: false}
`, apiVersion, in.port, in.dir)
		w.must(os.WriteFile(path, []byte(content), 0o600))
		return []string{"--config=" + path, "--kubeconfig=" + in.kubeconfig}
	}
}

// onFixedPort is for the MPI operator, which has its health check on a port that cannot be chosen.
func onFixedPort(w *world, in *installation) []string {
	const health = "127.0.0.1:8080"
	listener, err := net.Listen("tcp4", health)
	if err != nil {
		w.Skipf("the MPI operator serves its health there: %v", err)
	}
	w.must(listener.Close())
	return []string{"-alsologtostderr", "-lock-namespace=mpi-operator", "-kubeConfig=" + in.kubeconfig}
}

// runEngine installs an engine as its own manifests do, with its rights and webhooks, and runs it as a process until the test
// ends. It returns when the engine takes workloads.
func (w *world) runEngine(e engine) {
	w.Helper()
	assets, err := controlplane.FindAssets()
	w.must(err)
	binary := filepath.Join(assets, e.tool)
	if _, err := os.Stat(binary); err != nil {
		w.Skipf("%v: run `make engines`", err)
	}
	in := &installation{dir: w.TempDir(), port: freePort(w.T)}
	in.kubeconfig = filepath.Join(in.dir, "kubeconfig")
	args := e.run(w, in)
	config, err := cluster.ConfigForUser(e.user, "system:serviceaccounts", "system:authenticated")
	w.must(err)
	w.must(controlplane.WriteKubeconfig(in.kubeconfig, config))
	w.applyEngine(assets, e, in)

	running, err := process.Start(process.Spec{
		Name: e.tool, Path: binary, Args: args, LogFile: filepath.Join(in.dir, "log"), Env: append(os.Environ(), "KUBECONFIG="+in.kubeconfig),
	})
	w.must(err)
	w.Cleanup(func() {
		running.Stop(5 * time.Second)
		if w.Failed() {
			w.Logf("the end of the log of %s:\n%s", e.tool, running.LogTail(40))
		}
	})
	w.eventually(e.tool+" takes workloads", func(ctx context.Context) bool {
		w.must(running.Exit())
		return w.Create(ctx, w.workload(e), client.DryRunAll) == nil
	})
}

// applyEngine applies the manifests of an engine's module, with webhooks that are called on the loopback. The Deployment is left
// out, and kinds of other workloads, of which two modules have one.
func (w *world) applyEngine(assets string, e engine, in *installation) {
	w.Helper()
	rendered := filepath.Join(in.dir, "manifests.yaml")
	output, err := w.output("", filepath.Join(assets, "kubectl"), "kustomize", filepath.Join(w.moduleOf(e), e.manifests))
	w.must(err)
	w.must(os.WriteFile(rendered, output, 0o600))
	all, err := controlplane.ReadManifests(rendered)
	w.must(err)
	certificate, key, err := cert.GenerateSelfSignedCertKey("127.0.0.1", nil, nil)
	w.must(err)
	w.must(os.WriteFile(filepath.Join(in.dir, "tls.crt"), certificate, 0o600))
	w.must(os.WriteFile(filepath.Join(in.dir, "tls.key"), key, 0o600))

	var objects []*unstructured.Unstructured
	for _, object := range all {
		defined, _, err := unstructured.NestedString(object.Object, "spec", "names", "kind")
		w.must(err)
		isWebhook := strings.HasSuffix(object.GetKind(), "WebhookConfiguration")
		switch {
		case object.GetKind() == "Deployment", defined != "" && defined != e.kind.Kind, isWebhook && e.mute:
			continue
		case isWebhook:
			w.callOnLoopback(object, in.port, certificate)
			w.Cleanup(func() { _ = w.Delete(context.WithoutCancel(w.Context()), object) })
		}
		objects = append(objects, object)
	}
	w.must(controlplane.Apply(w.Context(), cluster.Config(), "", objects...))
	w.eventually(e.kind.Kind+" is served", func(ctx context.Context) bool {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(e.kind)
		return w.List(ctx, list) == nil
	})
}

// callOnLoopback replaces the Service of each webhook, to which nothing routes here.
func (w *world) callOnLoopback(configuration *unstructured.Unstructured, port int, authority []byte) {
	w.Helper()
	hooks, _, err := unstructured.NestedSlice(configuration.Object, "webhooks")
	w.must(err)
	for i := range hooks {
		hook, isMap := hooks[i].(map[string]any)
		if !isMap {
			w.Fatalf("webhooks of %s is no list of objects", configuration.GetName())
		}
		path, _, err := unstructured.NestedString(hook, "clientConfig", "service", "path")
		w.must(err)
		hook["clientConfig"] = map[string]any{
			"url": fmt.Sprintf("https://127.0.0.1:%d%s", port, path), "caBundle": base64.StdEncoding.EncodeToString(authority),
		}
	}
	w.must(unstructured.SetNestedSlice(configuration.Object, hooks, "webhooks"))
}

// moduleOf returns the folder of an engine's module, in the version that its binary is built from.
func (w *world) moduleOf(e engine) string {
	w.Helper()
	root, err := repository.Root()
	w.must(err)
	output, err := w.output(filepath.Join(root, "tools", e.tool), "go", "mod", "download", "-json", e.module)
	w.must(err)
	var module struct{ Dir string }
	w.must(json.Unmarshal(output, &module))
	return module.Dir
}

func (w *world) output(dir, name string, args ...string) ([]byte, error) {
	var complaint bytes.Buffer
	command := exec.CommandContext(w.Context(), name, args...)
	command.Dir, command.Stderr = dir, &complaint
	output, err := command.Output()
	if err != nil {
		err = fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, complaint.String())
	}
	return output, err
}

// workload is the engine's workload llm of testdata, which is not created yet.
func (w *world) workload(e engine) *unstructured.Unstructured {
	w.Helper()
	objects, err := controlplane.ReadManifests(filepath.Join("testdata", strings.ToLower(e.kind.Kind)+".yaml"))
	w.must(err)
	object := objects[0]
	object.SetNamespace(w.namespace)
	return object
}

// runWith runs the engine's workload with another value of one field.
func (w *world) runWith(e engine, value any, field ...string) {
	w.Helper()
	object := w.workload(e)
	w.must(unstructured.SetNestedField(object.Object, value, field...))
	w.must(w.Create(w.Context(), object))
}

// twoOnEach are the places of two copies, each of two pods of one device.
func twoOnEach() map[string]string {
	first, second := string(deviceID(0)), string(deviceID(1))
	return map[string]string{
		"0": "a copy 0 ranks 0: 1 of " + first, "1": "a copy 0 ranks 1: 1 of " + second,
		"2": "b copy 1 ranks 0: 1 of " + first, "3": "b copy 1 ranks 1: 1 of " + second,
	}
}

func named(pods map[string]*corev1.Pod) map[string]string {
	names := map[string]string{}
	for index, pod := range pods {
		names[index] = pod.Name
	}
	return names
}
