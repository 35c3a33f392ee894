//go:build linux

package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/nvml/nvmltest"
	"github.com/rankwright/rankwright/test/cluster"
	"github.com/rankwright/rankwright/test/e2e/probe/report"
	"github.com/rankwright/rankwright/test/nodefiles"
	"github.com/rankwright/rankwright/tools/images"
)

const (
	// hookFolder is where the agents install the program that containerd runs.
	hookFolder = "/run/rankwright/bin"
	// driverFolder is where the GPU operator's driver container has its files; each node has a /run of its own.
	driverFolder = "/run/nvidia/driver"
	libraries    = "/usr/lib/x86_64-linux-gnu"
	cudaImage    = "rankwright.dev/cuda:" + tag
)

// byOwnCDI are the documented values with which containers get NVIDIA's driver from a specification of the agent's own. Paths
// in it are the node's, so the helper looks for the driver below the node's root, not below the root of the host that it plays.
var byOwnCDI = []string{
	`vendors.nvidia={"serve":true,"injection":"CDI"}`, "agent.nvml.enabled=true", "agent.cdiHook.installTo=" + hookFolder, "agent.host.root=/",
}

// A CUDA program starts in a container that was granted GPUs, with the driver's libcuda and these GPUs alone, and the
// container has of the driver what is written here by hand. Without its driver a node offers none; and nothing stays when the
// product goes.
func TestContainersGetTheDriverByCDI(t *testing.T) {
	s := on(t)
	s.loadCUDA(t)
	s.play(t, composed(t), "nvidia-nvml-h100-8")
	node := s.Nodes[0]
	plantDriver(t, node)
	s.install(t, byOwnCDI...)
	awaitOffer(t, node, 8)
	for _, step := range []struct {
		name string
		run  func(*testing.T, *site, *cluster.Node)
	}{
		{"a CUDA program starts", cudaStarts},
		{"other vendors' containers have none of it", othersHaveNoDriver},
		{"the driver is removed", driverIsRemoved},
		{"the driver is back", driverIsBack},
		{"uninstalled", cdiIsUninstalled},
	} {
		if !t.Run(step.name, func(t *testing.T) { step.run(t, s, node) }) {
			s.explain(t)
			t.Fatalf("%s failed: what follows would, too", step.name)
		}
	}
}

// loadCUDA gives the nodes an image with a C library, its loader, a CUDA program and the probe.
func (s *site) loadCUDA(t *testing.T) {
	t.Helper()
	program := filepath.Join(s.dir, "cuda")
	if output, err := exec.CommandContext(t.Context(), "cc", "-Wall", "-Werror", "-o", program, "testdata/cuda.c", "-ldl").CombinedOutput(); err != nil {
		t.Fatalf("compile cuda.c: %v\n%s", err, output)
	}
	files := map[string]string{"/cuda": program, "/probe": filepath.Join(s.dir, "probe")}
	if err := images.AddGlibc(files, program, runtime.GOARCH); err != nil {
		t.Fatal(err)
	}
	archive := filepath.Join(s.dir, "cuda.tar")
	image := images.Image{Files: files, Entrypoint: []string{"/probe"}}
	if err := image.Write(archive, cudaImage); err != nil {
		t.Fatal(err)
	}
	if err := s.LoadImage(t.Context(), archive); err != nil {
		t.Fatal(err)
	}
}

// plantDriver installs a driver's files on a node, as the GPU operator does, and removes them with the test.
func plantDriver(t *testing.T, node *cluster.Node) {
	t.Helper()
	root := node.Path(driverFolder)
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	nodefiles.Plant(t, root, slices.Concat(
		nodefiles.Libraries(libraries), nodefiles.Below(libraries, "libstdc++.so.6", "libnvidia-container.so.1"),
		nodefiles.Below("/usr/bin", "nvidia-smi", "nvidia-cuda-mps-control", "nvidia-cuda-mps-server", "bash"),
		[]string{"/lib/firmware/nvidia/" + nodefiles.Release + "/gsp_ga10x.bin", "/run/nvidia-persistenced/socket"},
	)...)
	nodefiles.CompileLibcuda(t, filepath.Join(root, libraries))
	facts, err := nvmltest.ReadFacts(node.Library())
	if err == nil {
		err = facts.Write(filepath.Join(root, libraries))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// given are the files of the played driver that are for containers, by their paths in these.
func given() []string {
	of := "." + nodefiles.Release
	return slices.Sorted(slices.Values(slices.Concat(
		nodefiles.Below(libraries, "libcuda.so"+of, "libcudadebugger.so"+of, "libnvcuvid.so"+of, "libnvidia-encode.so"+of, "libnvidia-ml.so"+of,
			"libnvidia-nvvm.so"+of, "libnvidia-opencl.so"+of, "libnvidia-ptxjitcompiler.so"+of),
		nodefiles.Below("/usr/bin", "nvidia-smi", "nvidia-cuda-mps-control", "nvidia-cuda-mps-server"),
		[]string{"/lib/firmware/nvidia/" + nodefiles.Release + "/gsp_ga10x.bin", "/run/nvidia-persistenced/socket"},
	)))
}

// cudaPod runs the CUDA program with so many GPUs, after the probe told what its container sees.
func cudaPod(name string, count int64) *corev1.Pod {
	return probePod(name, "start", asking(nvidiaGPUs, count), func(pod *corev1.Pod) {
		container := &pod.Spec.Containers[0]
		container.Image, container.Args = cudaImage, []string{"start", "/cuda"}
		container.TerminationMessagePolicy = corev1.TerminationMessageFallbackToLogsOnError
	})
}

func cudaStarts(t *testing.T, s *site, node *cluster.Node) {
	pod := s.mustBe(t, s.create(t, cudaPod("cuda", 2)), running)
	inventory := s.awaitInventory(t, node.Name, func(i *v1alpha1.AcceleratorInventory) bool { return len(heldBy(i, pod)) == 2 })
	want := []string{"/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidiactl"}
	for _, id := range heldBy(inventory, pod) {
		want = append(want, "/dev/nvidia"+strconv.Itoa(int(*inventory.Status.Device(id).Index)))
	}
	slices.Sort(want)
	sight, says := s.cudaSays(t, pod)
	var got []string
	for _, device := range sight.Devices {
		if !slices.Contains([]string{"null", "zero", "full", "random", "urandom", "tty", "ptmx"}, filepath.Base(device.Path)) && filepath.Dir(device.Path) != "/dev/pts" {
			got = append(got, device.Path)
		}
		if !device.Opens && slices.Contains(want, device.Path) {
			t.Errorf("%s cannot be opened", device.Path)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("nodes, -wanted +seen:\n%s", diff)
	}
	if diff := cmp.Diff(given(), mountedFiles(sight)); diff != "" {
		t.Errorf("files, -wanted +seen:\n%s", diff)
	}
	if visible := sight.Environment["NVIDIA_VISIBLE_DEVICES"]; visible != "void" {
		t.Errorf("NVIDIA_VISIBLE_DEVICES=%s", visible)
	}
	if says != "error 0, 2 devices" {
		t.Errorf("the CUDA program says %q", says)
	}
}

// cudaSays is what the container of a CUDA program sees, and the first line that the program prints.
func (s *site) cudaSays(t *testing.T, pod *corev1.Pod) (sight report.Sight, line string) {
	t.Helper()
	stream, err := s.clients.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{Follow: true}).Stream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stream.Close() }()
	decoder := json.NewDecoder(stream)
	if err := decoder.Decode(&sight); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(io.MultiReader(decoder.Buffered(), stream))
	for line == "" && lines.Scan() {
		line = strings.TrimSpace(lines.Text())
	}
	return sight, line
}

// mountedFiles returns the files that are mounted into a container beside what every container has.
func mountedFiles(sight report.Sight) []string {
	var files []string
	for _, point := range sight.Mounts {
		top, _, _ := strings.Cut(strings.TrimPrefix(point, "/"), "/")
		if !slices.Contains([]string{"", "proc", "sys", "dev", "etc"}, top) {
			files = append(files, point)
		}
	}
	slices.Sort(files)
	return files
}

func othersHaveNoDriver(t *testing.T, s *site, _ *cluster.Node) {
	of := served[1]
	pod := s.mustBe(t, s.create(t, probePod("of-amd", "hold", asking(of.resource, 1))), running)
	sight := s.see(t, pod)
	if files := mountedFiles(sight); len(files) > 0 {
		t.Errorf("files are mounted: %v", files)
	}
	for name := range sight.Environment {
		if strings.HasPrefix(name, "NVIDIA") {
			t.Errorf("%s is set", name)
		}
	}
	inventory := s.awaitInventory(t, s.Nodes[1].Name, func(i *v1alpha1.AcceleratorInventory) bool { return len(heldBy(i, pod)) == 1 })
	checkSight(t, inventory, heldBy(inventory, pod), sight)
}

// driverIsRemoved: the kernel's module stays, as where a driver's packages are removed and the node is not restarted.
func driverIsRemoved(t *testing.T, s *site, node *cluster.Node) {
	if err := os.RemoveAll(node.Path(driverFolder)); err != nil {
		t.Fatal(err)
	}
	awaitOffer(t, node, 0)
	s.awaitInventory(t, node.Name, func(i *v1alpha1.AcceleratorInventory) bool {
		served := meta.FindStatusCondition(i.Status.Conditions, v1alpha1.ConditionServed)
		return served != nil && served.Status == metav1.ConditionFalse &&
			strings.Contains(served.Message, "no libcuda.so below "+driverFolder) && strings.Contains(served.Message, "install NVIDIA's driver")
	})
	pod := s.create(t, cudaPod("no-driver", 1))
	pod = s.mustBe(t, pod, func(pod *corev1.Pod) (bool, error) {
		return pod != nil && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && strings.Contains(c.Message, nvidiaGPUs)
		}), nil
	})
	if len(pod.Status.ContainerStatuses) > 0 {
		t.Errorf("it has containers: %s", containerStates(pod))
	}
}

func driverIsBack(t *testing.T, s *site, node *cluster.Node) {
	plantDriver(t, node)
	awaitOffer(t, node, 8)
	if _, says := s.cudaSays(t, s.mustBe(t, s.create(t, cudaPod("cuda-again", 8)), running)); says != "error 0, 8 devices" {
		t.Errorf("the CUDA program says %q", says)
	}
}

func cdiIsUninstalled(t *testing.T, s *site, node *cluster.Node) {
	ours := []string{node.Path("/run/cdi/rankwright.dev-*"), node.Path(hookFolder + "/*")}
	if found := existing(t, ours); len(found) != 2 {
		t.Errorf("before, there are %v: want a specification and a program for hooks", found)
	}
	s.uninstall(t)
	await(t, "nothing is left", func(context.Context) error {
		if found := existing(t, ours); len(found) > 0 {
			return fmt.Errorf("left: %v", found)
		}
		return nil
	})
}

func existing(t *testing.T, patterns []string) []string {
	t.Helper()
	var found []string
	for _, pattern := range patterns {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, names...)
	}
	return found
}
