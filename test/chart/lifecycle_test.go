package chart

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
)

// definitions are what an uninstalled release leaves by default.
var definitions = []string{
	"CustomResourceDefinition.apiextensions.k8s.io /acceleratorinventories.rankwright.dev",
	"CustomResourceDefinition.apiextensions.k8s.io /devicemeshes.rankwright.dev",
	"CustomResourceDefinition.apiextensions.k8s.io /modelplacements.rankwright.dev",
	"CustomResourceDefinition.apiextensions.k8s.io /shardingplans.rankwright.dev",
	"CustomResourceDefinition.apiextensions.k8s.io /sitecalibrations.rankwright.dev",
}

func clients(t *testing.T) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// prepare makes the release's namespace, as a platform team does, and takes the definitions of former releases away. It
// returns what the cluster has then.
func prepare(t *testing.T, namespace string) objects {
	t.Helper()
	admin := clients(t)
	_, err := admin.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: namespace, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "privileged"},
	}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	awaitNamespace(t, namespace)
	for _, definition := range definitions {
		name := definition[strings.LastIndex(definition, "/")+1:]
		if _, said, err := tool(t, []string{"KUBECONFIG=" + cluster.Kubeconfig()}, "kubectl", "delete", "crd", name, "--ignore-not-found"); err != nil {
			t.Fatal(said)
		}
	}
	return snapshot(t.Context(), t)
}

// awaitNamespace waits for what controllers make in each namespace.
func awaitNamespace(t *testing.T, name string) {
	t.Helper()
	admin := clients(t)
	await(t, "the namespace's own objects", func(ctx context.Context) bool {
		_, noAccount := admin.CoreV1().ServiceAccounts(name).Get(ctx, "default", metav1.GetOptions{})
		_, noRoot := admin.CoreV1().ConfigMaps(name).Get(ctx, "kube-root-ca.crt", metav1.GetOptions{})
		return noAccount == nil && noRoot == nil
	})
}

func await(t *testing.T, what string, condition func(context.Context) bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		return condition(ctx), nil
	})
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// runCleanup plays the kubelet, which this control plane lacks, for the pods of the cleanup: it says of each pod that it succeeded.
func runCleanup(t *testing.T) {
	t.Helper()
	admin := clients(t)
	watcher, err := admin.CoreV1().Pods(agentNamespace).Watch(t.Context(), metav1.ListOptions{LabelSelector: "app.kubernetes.io/component=cleanup"})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() { watcher.Stop(); <-done })
	go func() {
		defer close(done)
		for event := range watcher.ResultChan() {
			pod, ok := event.Object.(*corev1.Pod)
			if event.Type != watch.Added || !ok {
				continue
			}
			patch := []byte(`{"status":{"phase":"Succeeded"}}`)
			_, err := admin.CoreV1().Pods(agentNamespace).Patch(context.Background(), pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
			if err != nil && !apierrors.IsNotFound(err) {
				t.Error(err)
			}
		}
	}()
}

// rendered are the names of the objects of the release, without hooks.
func rendered(t *testing.T, args ...string) []string {
	t.Helper()
	var keys []string
	for _, object := range render(t, args...) {
		if hook(object) == "" {
			keys = append(keys, key(object))
		}
	}
	slices.Sort(keys)
	return keys
}

func TestInstallUpgradeRollbackUninstall(t *testing.T) {
	before := prepare(t, agentNamespace)
	runCleanup(t)
	inNamespace := []string{release, "--namespace", agentNamespace}
	mustHelm(t, append([]string{"install", release, chartDir(t)}, inNamespace[1:]...)...)
	installed := snapshot(t.Context(), t).without(before).ofChart()
	if diff := cmp.Diff(rendered(t), installed.keys()); diff != "" {
		t.Errorf("installed (+) is not what is rendered (-):\n%s", diff)
	}

	changes := []string{"--set", "operator.replicas=3", "--values", "testdata/values/serving.yaml", "--set", "commonLabels.team=platform"}
	mustHelm(t, append(append([]string{"upgrade", release, chartDir(t)}, inNamespace[1:]...), changes...)...)
	upgraded := snapshot(t.Context(), t).without(before).ofChart()
	if diff := cmp.Diff(rendered(t, changes...), upgraded.keys()); diff != "" {
		t.Errorf("upgraded (+) is not what is rendered (-):\n%s", diff)
	}
	for name, object := range upgraded {
		if object.GetLabels()["team"] != "platform" {
			t.Errorf("%s was not upgraded", name)
		}
		if was := installed[name]; was != nil && was.GetUID() != object.GetUID() {
			t.Errorf("%s was made anew by the upgrade", name)
		}
	}

	mustHelm(t, append([]string{"rollback"}, inNamespace...)...)
	rolledBack := snapshot(t.Context(), t).without(before).ofChart()
	if diff := cmp.Diff(installed.contents(), rolledBack.contents()); diff != "" {
		t.Errorf("rolled back (+) is not what was installed (-):\n%s", diff)
	}

	mustHelm(t, append([]string{"uninstall"}, inNamespace...)...)
	awaitKeys(t, before, definitions...)

	// The definitions that were left are taken over again.
	mustHelm(t, append([]string{"install", release, chartDir(t)}, inNamespace[1:]...)...)
	mustHelm(t, append([]string{"uninstall"}, inNamespace...)...)
	awaitKeys(t, before, definitions...)
}

// TestUninstallLeavesNothing installs each set of values and uninstalls it.
func TestUninstallLeavesNothing(t *testing.T) {
	for _, values := range valueSets(t) {
		t.Run(filepath.Base(values), func(t *testing.T) {
			before := prepare(t, agentNamespace)
			runCleanup(t)
			args := []string{"install", release, chartDir(t), "--namespace", agentNamespace, "--values", values, "--set", "crds.keep=false"}
			switch filepath.Base(values) {
			case "small.yaml":
				makeNamespace(t, operatorNamespace)
				before = snapshot(t.Context(), t)
			case "monitored.yaml", "unguarded.yaml":
				// No PodMonitor is served here: the installation fails.
				if _, stderr, err := helm(t, args...); err == nil || !strings.Contains(stderr, "PodMonitor") {
					t.Errorf("%v: %s", err, stderr)
				}
				awaitKeys(t, before)
				return
			}
			mustHelm(t, args...)
			mustHelm(t, "uninstall", release, "--namespace", agentNamespace)
			awaitKeys(t, before)
		})
	}
}

// makeNamespace makes a namespace for the test alone.
func makeNamespace(t *testing.T, name string) {
	t.Helper()
	admin := clients(t)
	_, err := admin.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := admin.CoreV1().Namespaces().Delete(context.Background(), name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
		err := wait.PollUntilContextTimeout(context.Background(), 100*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
			_, err := admin.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
			return apierrors.IsNotFound(err), nil
		})
		if err != nil {
			t.Error(err)
		}
	})
	awaitNamespace(t, name)
}

// TestUninstallAfterFailures has a row for each way in which an installation or its end may fail.
func TestUninstallAfterFailures(t *testing.T) {
	t.Run("an installation that never becomes ready", func(t *testing.T) {
		before := prepare(t, agentNamespace)
		runCleanup(t)
		// Nothing runs pods here, so no operator becomes ready.
		_, _, err := helm(t, "install", release, chartDir(t), "--namespace", agentNamespace, "--wait", "--timeout", "2s")
		if err == nil {
			t.Fatal("the installation is ready without a node")
		}
		mustHelm(t, "uninstall", release, "--namespace", agentNamespace)
		awaitKeys(t, before, definitions...)
	})
	t.Run("an installation that takes itself back", func(t *testing.T) {
		before := prepare(t, agentNamespace)
		runCleanup(t)
		_, _, err := helm(t, "install", release, chartDir(t), "--namespace", agentNamespace, "--rollback-on-failure", "--timeout", "10s")
		if err == nil {
			t.Fatal("the installation is ready without a node")
		}
		awaitKeys(t, before, definitions...)
	})
	t.Run("a cleanup that cannot run", func(t *testing.T) {
		before := prepare(t, agentNamespace)
		mustHelm(t, "install", release, chartDir(t), "--namespace", agentNamespace, "--set", "cleanup.deadlineSeconds=1")
		_, stderr, err := helm(t, "uninstall", release, "--namespace", agentNamespace)
		if err == nil || !strings.Contains(stderr, "rankwright-cleanup") {
			t.Errorf("%v, want an error that names the cleanup: %s", err, stderr)
		}
		awaitKeys(t, before, definitions...)
	})
}
