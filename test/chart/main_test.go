// Package chart holds the tests of the Helm chart and of config/ beside it.
package chart

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rankwright/rankwright/internal/repository"
	"github.com/rankwright/rankwright/test/controlplane"
)

// cluster serves every test of this package. It has none of Rankwright's kinds: the chart brings them.
var cluster *controlplane.ControlPlane

func TestMain(m *testing.M) {
	controlplane.MainWith(m, controlplane.Options{ControllerManager: true, WithoutWatchCache: true, WithoutKinds: true}, &cluster)
}

// Names by default, in the chart as in config/.
const (
	release           = "rankwright"
	agentNamespace    = "rankwright-node-agent"
	operatorNamespace = "rankwright-operator"
)

// root is the folder of the repository.
func root(t *testing.T) string {
	t.Helper()
	dir, err := repository.Root()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func chartDir(t *testing.T) string { return filepath.Join(root(t), "charts", "rankwright") }

// tool runs a tool of the repository to its end and returns what it printed.
func tool(t *testing.T, env []string, name string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	assets, err := controlplane.FindAssets()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(assets, name)
	if _, err := os.Stat(program); err != nil {
		t.Fatalf("%v: run `tools/install.sh %s`", err, name)
	}
	var out, said bytes.Buffer
	// Not the test's own context: what takes an installation away runs when that has ended.
	command := exec.CommandContext(context.WithoutCancel(t.Context()), program, args...) //nolint:gosec // the repository's tools
	command.Env = append(os.Environ(), env...)
	command.Stdout, command.Stderr = &out, &said
	err = command.Run()
	return out.String(), said.String(), err
}

// helm runs Helm for the test's cluster, with folders of its own.
func helm(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	home := t.TempDir()
	return tool(t, []string{
		"KUBECONFIG=" + cluster.Kubeconfig(), "HELM_CACHE_HOME=" + home, "HELM_CONFIG_HOME=" + home, "HELM_DATA_HOME=" + home,
	}, "helm", args...)
}

// mustHelm runs Helm as helm does, and fails the test where Helm fails.
func mustHelm(t *testing.T, args ...string) string {
	t.Helper()
	stdout, stderr, err := helm(t, args...)
	if err != nil {
		t.Fatalf("helm %s: %v\n%s", strings.Join(args, " "), err, stderr)
	}
	return stdout
}

// render returns the objects of the chart, hooks and tests included.
func render(t *testing.T, args ...string) []*unstructured.Unstructured {
	t.Helper()
	return decode(t, mustHelm(t, append([]string{"template", release, chartDir(t), "--namespace", agentNamespace}, args...)...))
}

// decode reads the objects of a stream of YAML documents.
func decode(t *testing.T, text string) []*unstructured.Unstructured {
	t.Helper()
	path := filepath.Join(t.TempDir(), "objects.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	objects, err := controlplane.ReadManifests(path)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// key names an object in messages and maps.
func key(o *unstructured.Unstructured) string {
	return fmt.Sprintf("%s %s/%s", o.GroupVersionKind().GroupKind(), o.GetNamespace(), o.GetName())
}

const hookAnnotation = "helm.sh/hook"

// hook is the event at which Helm makes an object; empty for an object of the release.
func hook(o *unstructured.Unstructured) string { return o.GetAnnotations()[hookAnnotation] }
