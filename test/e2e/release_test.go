//go:build linux

package e2e

import (
	"bytes"
	"context"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/test/controlplane"
	released "github.com/rankwright/rankwright/test/release"
)

// previous is the revision from which a release is upgraded: the tag of the last one, or the one that was installed before there was any.
const previous = "6e1f3c59"

// candidate is what `make release-dry-run` made.
type candidate struct{ folder, version string }

func candidateOf(t *testing.T) candidate {
	t.Helper()
	folder := os.Getenv("RANKWRIGHT_DIST")
	if folder == "" {
		t.Skip("runs under make release-dry-run, which makes the release")
	}
	version, err := os.ReadFile(filepath.Join(folder, "version"))
	if err != nil {
		t.Fatal(err)
	}
	return candidate{folder, strings.TrimSpace(string(version))}
}

// load gives the nodes the images of the release.
func (c candidate) load(t *testing.T, s *site) {
	t.Helper()
	archives, err := filepath.Glob(filepath.Join(c.folder, "images", "*.tar"))
	if err != nil || len(archives) != len(products) {
		t.Fatalf("images of the release: %v, %v", archives, err)
	}
	for _, archive := range archives {
		if err := s.LoadImage(t.Context(), archive); err != nil {
			t.Fatal(err)
		}
	}
}

// published pushes the chart to a registry that lasts as long as the test, and returns how Helm installs it from there.
func (c candidate) published(t *testing.T, s *site) *product {
	t.Helper()
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	charts := "oci://" + strings.TrimPrefix(server.URL, "http://") + "/charts"
	s.mustHelm(t, "push", filepath.Join(c.folder, "assets", "rankwright-"+c.version+".tgz"), charts, "--plain-http")
	return &product{
		chart: []string{charts + "/rankwright", "--version", c.version, "--plain-http"}, set: []string{"image.registry=ghcr.io", "image.tag="},
	}
}

// before makes chart and images of the previous revision, and gives the images to the nodes.
func (s *site) before(t *testing.T) *product {
	t.Helper()
	sources, programs := filepath.Join(s.dir, "previous"), filepath.Join(s.dir, "previous-programs")
	for _, folder := range []string{sources, programs} {
		if err := os.MkdirAll(folder, 0o755); err != nil { //nolint:gosec // no secret
			t.Fatal(err)
		}
	}
	step("build the images of %s", previous)
	archive, err := exec.CommandContext(t.Context(), "git", "-C", "../..", "archive", previous).Output()
	if err != nil {
		t.Fatalf("git archive %s: %v: the whole history is needed, such as git fetch --unshallow", previous, err)
	}
	unpack := exec.CommandContext(t.Context(), "tar", "-x", "-C", sources) //nolint:gosec // the test's folder
	unpack.Stdin = bytes.NewReader(archive)
	if output, err := unpack.CombinedOutput(); err != nil {
		t.Fatalf("tar: %v\n%s", err, output)
	}
	archives, err := productImages(t.Context(), sources, programs, previous)
	if err != nil {
		t.Fatal(err)
	}
	for _, archive := range archives {
		if err := s.LoadImage(t.Context(), archive); err != nil {
			t.Fatal(err)
		}
	}
	return &product{chart: []string{filepath.Join(sources, "charts", "rankwright")}, set: []string{"image.tag=" + previous}}
}

// A release is upgraded to while pods of a placement run: they go on, with their devices, their plan stays, and what is new binds
// pods to it. The plugin of the release, installed as krew does, shows them.
func TestReleaseUpgrade(t *testing.T) {
	s := on(t)
	c := candidateOf(t)
	c.load(t, s)
	t.Cleanup(func() { s.other = nil })
	s.other = s.before(t)
	s.spread(t)
	s.applyText(t, steady, "NAME", "steady", "COMMAND", "hold", "ENFORCEMENT", string(v1alpha1.EnforcementSlot))
	s.awaitPlan(t, "steady", "steady-1")
	before := s.awaitRanks(t, "steady", nil)

	s.other = c.published(t, s)
	s.mustHelm(t, s.upgradeArgs([]string{"upgrade", "--reset-then-reuse-values"})...)
	s.mustHelm(t, "test", release, "--namespace", agentNamespace, "--timeout", "2m")
	s.allOf(t, c.version)
	after := s.awaitRanks(t, "steady", nil)
	for index := range after {
		was, is := before[index].Status.ContainerStatuses[0], after[index].Status.ContainerStatuses[0]
		if before[index].UID != after[index].UID || was.ContainerID != is.ContainerID || is.RestartCount != 0 {
			t.Errorf("pod %d was restarted", index)
		}
	}
	s.awaitPlan(t, "steady", "steady-1")
	step("%d pods went on through the upgrade", len(after))

	const killed = 3
	s.kill(t, after[killed])
	s.awaitRanks(t, "steady", map[types.UID]bool{after[killed].UID: true})
	c.shows(t, s)
}

// The chart of the release, from its registry, installs where none was: its test passes, the pods of a placement get the devices of their plan, and the
// plugin shows them.
func TestReleaseChart(t *testing.T) {
	s := on(t)
	c := candidateOf(t)
	c.load(t, s)
	t.Cleanup(func() { s.other = nil })
	s.other = c.published(t, s)
	s.spread(t)
	s.mustHelm(t, "test", release, "--namespace", agentNamespace, "--timeout", "2m")
	s.allOf(t, c.version)
	s.applyText(t, steady, "NAME", "steady", "COMMAND", "hold", "ENFORCEMENT", string(v1alpha1.EnforcementSlot))
	s.awaitPlan(t, "steady", "steady-1")
	s.awaitRanks(t, "steady", nil)
	c.shows(t, s)
}

// allOf fails the test where a pod of the release runs an image of another version.
func (s *site) allOf(t *testing.T, version string) {
	t.Helper()
	count := 0
	for _, namespace := range []string{agentNamespace, operatorNamespace} {
		poll(t, "pods of another version are gone in "+namespace, func(ctx context.Context) (bool, error) {
			pods, err := s.clients.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=rankwright"})
			if err != nil {
				return false, err
			}
			count += len(pods.Items)
			return !slices.ContainsFunc(pods.Items, func(pod corev1.Pod) bool {
				return !strings.HasSuffix(pod.Spec.Containers[0].Image, ":"+version)
			}), nil
		})
	}
	if count == 0 {
		t.Error("there are no pods of the release")
	}
}

// shows installs the plugin's archive and asks it about the cluster, through kubectl.
func (c candidate) shows(t *testing.T, s *site) {
	t.Helper()
	archives := filepath.Join(c.folder, "archives")
	text, err := os.ReadFile(filepath.Join(archives, "krew", "rankwright.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := released.ReadManifest(text)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	program, err := manifest.Install(runtime.GOOS, runtime.GOARCH, released.FromFolder(archives), folder)
	if err != nil {
		t.Fatal(err)
	}
	assets, err := controlplane.FindAssets()
	if err != nil {
		t.Fatal(err)
	}
	for _, question := range []struct{ args, says string }{
		{"--version", "v" + c.version}, {"top", s.Nodes[0].Name}, {"tree mp/steady", "steady-1"},
	} {
		command := exec.CommandContext(t.Context(), filepath.Join(assets, "kubectl"), append([]string{"rankwright"}, strings.Fields(question.args)...)...) //nolint:gosec // of the test
		command.Env = append(os.Environ(), "PATH="+filepath.Dir(program), "KUBECONFIG="+s.Kubeconfig(), "HOME="+folder)
		said, err := command.CombinedOutput()
		if err != nil || !strings.Contains(string(said), question.says) {
			t.Errorf("kubectl rankwright %s: %v, and no %q in:\n%s", question.args, err, question.says, said)
		}
	}
}

// install.yaml installs the release without Helm, whose definitions of our kinds may still be there: operator and agents get ready, and every node has an inventory.
func TestReleaseManifest(t *testing.T) {
	s := on(t)
	c := candidateOf(t)
	c.load(t, s)
	s.bare(t)
	s.kubectl(t, "apply", "--server-side", "--force-conflicts", "-f", filepath.Join(c.folder, "assets", "install.yaml"))
	t.Cleanup(func() { s.kubectl(t, "delete", "--wait", "-f", filepath.Join(c.folder, "assets", "install.yaml")) })
	s.kubectl(t, "rollout", "status", "--timeout=3m", "-n", agentNamespace, "daemonset/rankwright-node-agent")
	s.kubectl(t, "rollout", "status", "--timeout=3m", "-n", operatorNamespace, "deployment/rankwright-operator")
	for _, node := range s.Nodes {
		s.awaitInventory(t, node.Name, func(i *v1alpha1.AcceleratorInventory) bool { return i.Status.AgentVersion == "v"+c.version })
	}
}

// kubectl runs the tool, which has to succeed. It runs at the end of a test, too.
func (s *site) kubectl(t *testing.T, args ...string) {
	t.Helper()
	step("kubectl %s", strings.Join(args, " "))
	assets, err := controlplane.FindAssets()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(context.WithoutCancel(t.Context()), filepath.Join(assets, "kubectl"), args...) //nolint:gosec // of the test
	command.Env = append(os.Environ(), "KUBECONFIG="+s.Kubeconfig())
	if output, err := command.CombinedOutput(); err != nil {
		t.Errorf("kubectl %s: %v\n%s", strings.Join(args, " "), err, output)
	}
}
