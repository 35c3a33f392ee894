package binding

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/internal/repository"
	"github.com/rankwright/rankwright/test/controlplane"
	"github.com/rankwright/rankwright/test/process"
)

// controller is a controller of workloads that is installed beside Kubernetes.
type controller struct {
	// tool is the name of its binary, which the module in a folder of tools/ pins.
	tool, folder string
	// module has the manifests, in a folder that kustomize renders.
	module, manifests string
	// user is the service account whose rights the manifests give it.
	user string
	// kind is the kind of the workloads that it makes pods of.
	kind schema.GroupVersionKind
	// run returns the arguments and writes what they refer to.
	run func(w *world, in *installation) []string
	// mute says that its binary serves no webhooks.
	mute bool
}

// installation is where one test's controller finds its things.
type installation struct {
	dir, kubeconfig string
	port            int
}

var (
	leaderWorkerSet = controller{
		tool: "lws", folder: "lws", module: "sigs.k8s.io/lws", manifests: "config/default",
		user: "system:serviceaccount:lws-system:lws-controller-manager",
		kind: schema.GroupVersionKind{Group: "leaderworkerset.x-k8s.io", Version: "v1", Kind: "LeaderWorkerSet"},
		run:  configured("config.lws.x-k8s.io/v1alpha1"),
	}
	jobSet = controller{
		tool: "jobset", folder: "jobset", module: "sigs.k8s.io/jobset", manifests: "config/default",
		user: "system:serviceaccount:jobset-system:jobset-controller-manager",
		kind: schema.GroupVersionKind{Group: "jobset.x-k8s.io", Version: "v1alpha2", Kind: "JobSet"},
		run:  configured("config.jobset.x-k8s.io/v1alpha1"),
	}
	mpiOperator = controller{
		tool: "mpi-operator", folder: "kubeflow", module: "github.com/kubeflow/mpi-operator", manifests: "manifests/overlays/standalone",
		user: "system:serviceaccount:mpi-operator:mpi-operator",
		kind: schema.GroupVersionKind{Group: "kubeflow.org", Version: "v2beta1", Kind: "MPIJob"},
		run:  onFixedPort,
	}
	trainingOperator = controller{
		tool: "training-operator", folder: "kubeflow", module: "github.com/kubeflow/training-operator", manifests: "manifests/overlays/standalone",
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
		w.Must(os.WriteFile(path, []byte(content), 0o600))
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
	w.Must(listener.Close())
	return []string{"-alsologtostderr", "-lock-namespace=mpi-operator", "-kubeConfig=" + in.kubeconfig}
}

// newControlledWorld is a world in which a controller and the operator run.
func newControlledWorld(t *testing.T, namespace string, e controller) *world {
	t.Helper()
	w := newWorld(t, namespace)
	w.runController(e)
	w.operate(nil)
	return w
}

// runController installs a controller as its own manifests do, with its rights and webhooks, and runs it as a process until the test
// ends. It returns when the controller takes workloads.
func (w *world) runController(e controller) {
	w.Helper()
	assets, err := controlplane.FindAssets()
	w.Must(err)
	binary := filepath.Join(assets, e.tool)
	if _, err := os.Stat(binary); err != nil {
		w.Skipf("%v: run `make workloads`", err)
	}
	ports, err := controlplane.FreePorts(1)
	w.Must(err)
	in := &installation{dir: w.TempDir(), port: ports[0]}
	in.kubeconfig = filepath.Join(in.dir, "kubeconfig")
	args := e.run(w, in)
	config, err := cluster.ConfigForUser(e.user, "system:serviceaccounts", "system:authenticated")
	w.Must(err)
	w.Must(controlplane.WriteKubeconfig(in.kubeconfig, config))
	w.applyController(assets, e, in)

	running, err := process.Start(process.Spec{
		Name: e.tool, Path: binary, Args: args, LogFile: filepath.Join(in.dir, "log"), Env: append(os.Environ(), "KUBECONFIG="+in.kubeconfig),
	})
	w.Must(err)
	w.Cleanup(func() {
		running.Stop(5 * time.Second)
		if w.Failed() {
			w.Logf("the end of the log of %s:\n%s", e.tool, running.LogTail(40))
		}
	})
	w.Eventually(e.tool+" takes workloads", func(ctx context.Context) bool {
		w.Must(running.Exit())
		return w.Create(ctx, w.workload(e), client.DryRunAll) == nil
	})
}

// applyController applies the manifests of a controller's module, with webhooks that are called on the loopback. The Deployment is left
// out, and kinds of other workloads, of which two modules have one.
func (w *world) applyController(assets string, e controller, in *installation) {
	w.Helper()
	rendered := filepath.Join(in.dir, "manifests.yaml")
	output, err := w.output("", filepath.Join(assets, "kubectl"), "kustomize", filepath.Join(w.moduleOf(e), e.manifests))
	w.Must(err)
	w.Must(os.WriteFile(rendered, output, 0o600))
	all, err := controlplane.ReadManifests(rendered)
	w.Must(err)
	certificate, key, err := cert.GenerateSelfSignedCertKey("127.0.0.1", nil, nil)
	w.Must(err)
	w.Must(os.WriteFile(filepath.Join(in.dir, "tls.crt"), certificate, 0o600))
	w.Must(os.WriteFile(filepath.Join(in.dir, "tls.key"), key, 0o600))

	var objects []*unstructured.Unstructured
	for _, object := range all {
		defined, _, err := unstructured.NestedString(object.Object, "spec", "names", "kind")
		w.Must(err)
		isWebhook := strings.HasSuffix(object.GetKind(), "WebhookConfiguration")
		switch {
		case object.GetKind() == "Deployment", defined != "" && defined != e.kind.Kind, isWebhook && e.mute:
			continue
		case isWebhook:
			w.CallOnLoopback(object, in.port, certificate)
			w.Cleanup(func() { _ = w.Delete(context.WithoutCancel(w.Context()), object) })
		}
		objects = append(objects, object)
	}
	w.Must(controlplane.Apply(w.Context(), cluster.Config(), "", objects...))
	w.Eventually(e.kind.Kind+" is served", func(ctx context.Context) bool {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(e.kind)
		return w.List(ctx, list) == nil
	})
}

// moduleOf returns the folder of a controller's module, in the version that its binary is built from.
func (w *world) moduleOf(e controller) string {
	w.Helper()
	root, err := repository.Root()
	w.Must(err)
	output, err := w.output(filepath.Join(root, "tools", e.folder), "go", "mod", "download", "-json", e.module)
	w.Must(err)
	var module struct{ Dir string }
	w.Must(json.Unmarshal(output, &module))
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

// workload is the controller's workload llm of testdata, which is not created yet.
func (w *world) workload(e controller) *unstructured.Unstructured {
	w.Helper()
	objects, err := controlplane.ReadManifests(filepath.Join("testdata", strings.ToLower(e.kind.Kind)+".yaml"))
	w.Must(err)
	object := objects[0]
	object.SetNamespace(w.Home)
	return object
}

// run runs the controller's workload.
func (w *world) run(e controller) {
	w.Helper()
	w.Must(w.Create(w.Context(), w.workload(e)))
}

// runWith runs the controller's workload with another value of one field.
func (w *world) runWith(e controller, value any, field ...string) {
	w.Helper()
	object := w.workload(e)
	w.Must(unstructured.SetNestedField(object.Object, value, field...))
	w.Must(w.Create(w.Context(), object))
}
