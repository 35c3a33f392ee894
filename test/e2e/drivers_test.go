//go:build linux

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/nvml/nvmltest"
	"github.com/rankwright/rankwright/internal/nvml/report"
	"github.com/rankwright/rankwright/pkg/nodeagent"
	"github.com/rankwright/rankwright/test/cluster"
)

// asked are the documented values with which drivers are asked. A library that hangs is given up after seconds.
var asked = []string{"agent.nvml.enabled=true", "agent.tools.vendors={aws,huawei,intel}", "agent.extraArgs={--backend-timeout=10s}"}

// playedByDrivers are the hosts that the nodes play while drivers are asked.
var playedByDrivers = []string{"nvidia-nvml-h100-8", "gaudi2-8", "huawei-910b2-8"}

// nvidiaGPUs is the resource of NVIDIA's GPUs.
const nvidiaGPUs = "rankwright.dev/nvidia-gpu"

// What the chart installs asks the drivers: NVIDIA's library and vendors' tools, on nodes that have them. Each step leaves
// the host with the 8 GPUs as it found it.
func TestDriversAreAsked(t *testing.T) {
	s := on(t)
	s.play(t, composed(t), playedByDrivers...)
	s.install(t, asked...)
	node := s.Nodes[0]
	for _, step := range []struct {
		name string
		run  func(*testing.T, *site, *cluster.Node)
	}{
		{"exact memory and health", driverFacts},
		{"heartbeats say how busy the devices are", busyDevices},
		{"three views of a host", threeViews},
		{"nodes are recorded", nodesAreRecorded},
		{"a container without privilege opens none of it", nodesAreDenied},
		{"an XID withdraws its GPU", xidWithdraws},
		{"faults of single GPUs and their end", singleFaults},
		{"the library hangs", libraryHangs},
		{"the library crashes", libraryCrashes},
		{"MIG is turned on and off", migComesAndGoes},
		{"the driver is upgraded", driverIsUpgraded},
		{"other hosts", otherHosts},
	} {
		if !t.Run(step.name, func(t *testing.T) { step.run(t, s, node) }) {
			s.explain(t)
			t.Fatalf("%s failed: what follows would, too", step.name)
		}
	}
}

// every waits until all devices of a node, so many, are as they should be.
func (s *site) every(t *testing.T, node *cluster.Node, count int, good func(*v1alpha1.Device) bool) *v1alpha1.AcceleratorInventory {
	t.Helper()
	return s.awaitInventory(t, node.Name, func(i *v1alpha1.AcceleratorInventory) bool {
		if len(i.Status.Devices) != count {
			return false
		}
		for d := range i.Status.Devices {
			if !good(&i.Status.Devices[d]) {
				return false
			}
		}
		return true
	})
}

// wellH100 is a GPU of which the driver was asked, and told no fault.
func wellH100(d *v1alpha1.Device) bool {
	return d.Health.State == v1alpha1.Healthy && d.Memory.Source == v1alpha1.SourceDriver && d.Memory.TotalMiB == 81559
}

func driverFacts(t *testing.T, s *site, node *cluster.Node) {
	inventory := s.every(t, node, 8, wellH100)
	if !meta.IsStatusConditionTrue(inventory.Status.Conditions, v1alpha1.ConditionMonitored) {
		t.Errorf("conditions: %s", describe(inventory.Status.Conditions))
	}
	for i, want := range map[int]struct {
		count, mib int64
		product    string
	}{1: {8, 98304, "HL-225"}, 2: {8, 65536, "910B2"}} {
		inventory := s.every(t, s.Nodes[i], int(want.count), func(d *v1alpha1.Device) bool {
			return d.Health.State == v1alpha1.Healthy && d.Memory.Source == v1alpha1.SourceDriver
		})
		if d := inventory.Status.Devices[0]; !strings.Contains(d.Product, want.product) || d.Memory.TotalMiB != want.mib {
			t.Errorf("%s: %s", s.Nodes[i].Name, describe(d))
		}
	}
}

// nodesAreDenied shows that the player proves something: without the right, nothing that it needs can be opened.
func nodesAreDenied(t *testing.T, s *site, node *cluster.Node) {
	pod := s.create(t, probePod("denied", "hold", at(node.Name), func(pod *corev1.Pod) {
		pod.Spec.Volumes = []corev1.Volume{{Name: "dev", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/dev"}}}}
		pod.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "dev", MountPath: "/dev"}}
		pod.Spec.Containers[0].TerminationMessagePath = "/termination-log"
	}))
	found := 0
	for _, device := range s.see(t, s.mustBe(t, pod, running)).Devices {
		if strings.HasPrefix(device.Path, "/dev/nvidia") {
			found++
			if device.Opens {
				t.Errorf("%s opens", device.Path)
			}
		}
	}
	if found < 9 {
		t.Errorf("%d nodes of NVIDIA's driver: want those of 8 GPUs and nvidiactl", found)
	}
}

// gpu is the device that has a place in the facts.
func gpu(t *testing.T, node *cluster.Node, place int) v1alpha1.DeviceID {
	t.Helper()
	facts, err := nvmltest.ReadFacts(node.Library())
	if err != nil {
		t.Fatal(err)
	}
	return v1alpha1.DeviceID("nvidia-" + facts["gpu"+strconv.Itoa(place)+".pci"])
}

// awaitOffer waits until the kubelet has so many GPUs to give.
func awaitOffer(t *testing.T, node *cluster.Node, count int) {
	t.Helper()
	kubelet, err := dial(node)
	if err != nil {
		t.Fatal(err)
	}
	defer kubelet.close()
	if err := kubelet.awaitAllocatable(t.Context(), nvidiaGPUs, count); err != nil {
		t.Fatal(err)
	}
}

// xidWithdraws measures how long it takes from an error to the kubelet, the inventory and the event.
func xidWithdraws(t *testing.T, s *site, node *cluster.Node) {
	awaitOffer(t, node, 8)
	s.awaitErrorsWatched(t, node, 13)
	device := gpu(t, node, 3)
	began := time.Now()
	raise(t, node, nvmltest.Event{GPU: 3, Type: nvmltest.XID, Data: 79})
	awaitOffer(t, node, 7)
	withdrawn := time.Since(began)
	s.awaitInventory(t, node.Name, func(i *v1alpha1.AcceleratorInventory) bool {
		d := i.Status.Device(device)
		return d.Health.State == v1alpha1.Unhealthy && d.Health.Reason == "XID79"
	})
	published := time.Since(began)
	s.awaitDeviceEvent(t, node.Name, eventOf[v1alpha1.Unhealthy], string(device))
	step("XID 79: withdrawn from the kubelet after %.2f s, inventory after at most %.2f s, event after at most %.2f s", withdrawn.Seconds(), published.Seconds(), time.Since(began).Seconds())
	s.awaitNode(t, node.Name, func(n *corev1.Node) bool {
		return offered(n, nvidiaGPUs) == 7 && n.Labels[v1alpha1.Prefix+"nvidia.healthy"] == "7"
	})
}

// singleFaults breaks three GPUs in different ways while the one with the XID is still recovering, and mends them. Once a
// GPU is lost, a process that waits for events is told nothing but that, so the loss comes last.
func singleFaults(t *testing.T, s *site, node *cluster.Node) {
	s.fault(t, node, 0, v1alpha1.Degraded, "UncorrectableECC", func(f nvmltest.Facts) { f["gpu0.uncorrectable"] = "1 1" },
		nvmltest.Event{GPU: 0, Type: nvmltest.DoubleBitECC})
	s.fault(t, node, 1, v1alpha1.Unhealthy, "RowRemapFailure", func(f nvmltest.Facts) { f["gpu1.remapped"] = "0 1 0 1" })
	s.fault(t, node, 2, v1alpha1.Unhealthy, "GPULost", func(f nvmltest.Facts) {
		f["fault.gpu2"] = strconv.Itoa(report.CodeGPULost)
		f["fault.handle2"] = f["fault.gpu2"]
	})
	// Five are left: the GPU with the XID is still recovering.
	awaitOffer(t, node, 5)
	began := time.Now()
	tell(t, node, func(f nvmltest.Facts) {
		f["gpu0.uncorrectable"], f["gpu1.remapped"] = "0 1", "0 1 0 0"
		delete(f, "fault.gpu2")
		delete(f, "fault.handle2")
	})
	s.every(t, node, 8, wellH100)
	step("all GPUs are well again %.0f s after they were mended", time.Since(began).Seconds())
	awaitOffer(t, node, 8)
}

// eventOf is the reason of the event that tells of a state.
var eventOf = map[v1alpha1.HealthState]string{v1alpha1.Unhealthy: "DeviceUnhealthy", v1alpha1.Degraded: "DeviceDegraded"}

// fault breaks a GPU and waits until that is published and told.
func (s *site) fault(t *testing.T, node *cluster.Node, place int, state v1alpha1.HealthState, reason string, change func(nvmltest.Facts), events ...nvmltest.Event) {
	t.Helper()
	device := gpu(t, node, place)
	tell(t, node, change)
	for _, event := range events {
		raise(t, node, event)
	}
	s.awaitInventory(t, node.Name, func(i *v1alpha1.AcceleratorInventory) bool {
		d := i.Status.Device(device)
		return d != nil && d.Health.State == state && d.Health.Reason == reason
	})
	s.awaitDeviceEvent(t, node.Name, eventOf[state], string(device))
}

// unknown is a GPU of which nothing new is known. What was known of its memory stays.
func unknown(d *v1alpha1.Device) bool {
	return d.Health.State == v1alpha1.Unknown && d.Memory.TotalMiB == 81559
}

// libraryHangs: no GPU is lost by it, and the agent goes on as soon as the library answers.
func libraryHangs(t *testing.T, s *site, node *cluster.Node) {
	s.failsAndRecovers(t, node, nvmltest.Hang, "hang")
}

func libraryCrashes(t *testing.T, s *site, node *cluster.Node) {
	s.failsAndRecovers(t, node, nvmltest.Crash, "rankwright-nvml query")
}

// failsAndRecovers has every new user of the library fail, until the backend says so, and then no longer.
func (s *site) failsAndRecovers(t *testing.T, node *cluster.Node, fault, says string) {
	t.Helper()
	began := time.Now()
	tell(t, node, func(f nvmltest.Facts) { f["fault.init"] = fault })
	inventory := s.every(t, node, 8, unknown)
	if state := describe(inventory.Status.Backends); !strings.Contains(state, says) {
		t.Errorf("the backends say %s", state)
	}
	step("a library that does %s is told after %.0f s", fault, time.Since(began).Seconds())
	awaitOffer(t, node, 8) // what only the library knows is no reason to withdraw a GPU
	tell(t, node, func(f nvmltest.Facts) { delete(f, "fault.init") })
	s.every(t, node, 8, wellH100)
}

// migComesAndGoes partitions a GPU as an administrator does, with the capabilities that the driver then shows.
func migComesAndGoes(t *testing.T, s *site, node *cluster.Node) {
	device := gpu(t, node, 7)
	capabilities := filepath.Join(node.Host(), "proc", "driver", "nvidia", "capabilities", "gpu7", "mig")
	cut := report.MIG{Enabled: true, Pending: true}
	for instance, profile := range map[int32]string{1: "3g.40gb", 2: "3g.40gb"} {
		cut.Devices = append(cut.Devices, report.MIGDevice{
			GPUInstance: instance, UUID: "MIG-c0710000-0000-4000-8000-00000000000" + strconv.Itoa(int(instance)), Profile: profile,
			Memory: &report.Memory{TotalMiB: 40448, UsedMiB: 26, ReservedMiB: new(int64)},
		})
		for i, file := range []string{"access", "ci0/access"} {
			writeFile(t, filepath.Join(capabilities, "gi"+strconv.Itoa(int(instance)), file), "DeviceFileMinor: "+strconv.Itoa(10*int(instance)+i)+"\nDeviceFileMode: 256\nDeviceFileModify: 1\n")
		}
	}
	tell(t, node, func(f nvmltest.Facts) { f.AddMIG("gpu7", cut) })
	s.awaitInventory(t, node.Name, func(i *v1alpha1.AcceleratorInventory) bool {
		for _, suffix := range []v1alpha1.DeviceID{"-mig1", "-mig2"} {
			d := i.Status.Device(device + suffix)
			if d == nil || d.Health.State != v1alpha1.Healthy || d.Memory.TotalMiB != 40448 || d.Partition == nil || d.Partition.Profile != "3g.40gb" {
				return false
			}
		}
		return i.Status.Device(device) == nil
	})
	if err := os.RemoveAll(capabilities); err != nil {
		t.Fatal(err)
	}
	tell(t, node, func(f nvmltest.Facts) { f.AddMIG("gpu7", report.MIG{}) })
	s.every(t, node, 8, wellH100)
}

// driverIsUpgraded takes the steps of an upgrade: the new library is there before its driver, whoever has the driver open lets
// go of it, and the new driver is loaded.
func driverIsUpgraded(t *testing.T, s *site, node *cluster.Node) {
	const version = "590.48.01"
	if err := node.InstallDriver(t.Context(), version); err != nil {
		t.Fatal(err)
	}
	inventory := s.every(t, node, 8, unknown)
	if state := describe(inventory.Status.Backends); !strings.Contains(state, "version mismatch") {
		t.Errorf("the backends say %s", state)
	}
	s.annotate(t, node.Name, `"upgrade"`)
	await(t, "nobody has the driver open", func(context.Context) error {
		held, err := holders(node, "/dev/nvidiactl")
		if err == nil && len(held) > 0 {
			err = fmt.Errorf("it is open as %q", held)
		}
		return err
	})
	s.awaitInventory(t, node.Name, func(i *v1alpha1.AcceleratorInventory) bool {
		return strings.Contains(describe(i.Status.Backends), nodeagent.ReleaseAnnotation+": upgrade")
	})
	name := filepath.Join(node.Host(), "proc", "driver", "nvidia", "version")
	before, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, name, strings.ReplaceAll(string(before), inventory.Status.Devices[0].DriverVersion, version))
	tell(t, node, func(f nvmltest.Facts) { f["driver"] = version })
	s.annotate(t, node.Name, "null")
	s.every(t, node, 8, func(d *v1alpha1.Device) bool { return wellH100(d) && d.DriverVersion == version })
	s.awaitErrorsWatched(t, node, 31)
}

// annotate has the agent of a node let go of the driver for a reason, in JSON; null ends it.
func (s *site) annotate(t *testing.T, node, reason string) {
	t.Helper()
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%s}}}`, nodeagent.ReleaseAnnotation, reason)
	if _, err := s.clients.CoreV1().Nodes().Patch(t.Context(), node, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

// otherHosts has nodes become hosts of AWS and AMD. Only neuron-ls tells which node is which chip; amdgpu tells all in files.
func otherHosts(t *testing.T, s *site, _ *cluster.Node) {
	folder := composed(t)
	for i, host := range []struct {
		name, vendor string
		count        int
		well         func(*v1alpha1.Device) bool
	}{
		{"aws-trn2-48xlarge", "aws", 64, func(d *v1alpha1.Device) bool {
			return len(d.Paths) == 1 && d.Memory.TotalMiB == 24576 && d.Memory.Source == v1alpha1.SourceDriver
		}},
		{"amd-mi300x-8", "amd", 8, func(d *v1alpha1.Device) bool {
			return len(d.Paths) == 3 && d.Memory.TotalMiB == 196592 && d.Memory.Source == v1alpha1.SourceKernel
		}},
	} {
		node := s.Nodes[i+1]
		if err := node.PlayHost(t.Context(), filepath.Join(folder, host.name+".tar.gz")); err != nil {
			t.Fatal(err)
		}
		s.awaitInventory(t, node.Name, func(i *v1alpha1.AcceleratorInventory) bool {
			well := 0
			for d := range i.Status.Devices {
				if d := &i.Status.Devices[d]; d.Vendor == host.vendor && d.Health.State == v1alpha1.Healthy && d.Memory != nil && host.well(d) {
					well++
				}
			}
			return well == host.count
		})
	}
}

func writeFile(t *testing.T, name, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil { //nolint:gosec // of a host
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil { //nolint:gosec // of a host
		t.Fatal(err)
	}
}
