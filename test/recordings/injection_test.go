package main

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/detect"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/nodeagent/injection"
)

// Every class of devices of every recording is answered for in both modes, or refused with the reason.
func TestInjection(t *testing.T) {
	driver, err := injection.ParseDriver([]byte(`{"containerEdits": {"mounts": [{"hostPath": "/libcuda.so.1", "containerPath": "/libcuda.so.1"}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("What a container gets for the first device of each class of each recording, and for all of them.\n")
	for _, name := range slices.Sorted(maps.Keys(recordings)) {
		h := recordings[name]().Host()
		status := detect.Detect(t.Context(), h, detect.Options{}).Status
		node := injection.Node{Devices: status.Devices, Files: loaded{h.Files}, Driver: driver}
		classes := byClass(status.Devices)
		for _, class := range slices.Sorted(maps.Keys(classes)) {
			devices := classes[class]
			fmt.Fprintf(&b, "\n%s: %s of %s\n", name, words.Counted(len(devices), "device"), class)
			grants := [][]v1alpha1.Device{devices[:1]}
			if len(devices) > 1 {
				grants = append(grants, devices)
			}
			for _, granted := range grants {
				renderInjection(&b, granted, node)
			}
		}
	}
	golden(t, filepath.Join("testdata", "injection", "answers.txt"), b.String())
}

// loaded is a recorded host with the shared nodes of NVIDIA's driver, which recordings leave out.
type loaded struct{ host.Files }

func (l loaded) Stat(name string) (fs.FileMode, error) {
	if _, err := l.Files.Stat("/dev/dxg"); err == nil { // Windows has the driver, with this one node
		return l.Files.Stat(name)
	}
	for _, kind := range injection.Kinds() {
		if slices.Contains(kind.Required, name) {
			return fs.ModeDevice, nil
		}
	}
	return l.Files.Stat(name)
}

func byClass(devices []v1alpha1.Device) map[string][]v1alpha1.Device {
	classes := map[string][]v1alpha1.Device{}
	for i := range devices {
		if d := &devices[i]; d.Family != v1alpha1.FamilyCPU {
			classes[injection.Class(d)] = append(classes[injection.Class(d)], *d)
		}
	}
	return classes
}

func renderInjection(b *strings.Builder, granted []v1alpha1.Device, node injection.Node) {
	fmt.Fprintf(b, "  %s\n", grantName(granted))
	for _, mode := range []injection.Mode{injection.DeviceNodes, injection.CDI} {
		answer, err := injection.For(mode, granted, node)
		if err != nil {
			fmt.Fprintf(b, "    %-11s  refused: %v\n", mode, err)
			continue
		}
		fmt.Fprintf(b, "    %-11s  %s\n", mode, abridged(append(answer.Paths, answer.CDIDevices...), " "))
		for _, name := range slices.Sorted(maps.Keys(answer.Environment)) {
			fmt.Fprintf(b, "    %-11s  %s=%s\n", "", name, abridged(strings.Split(answer.Environment[name], ","), ","))
		}
	}
}

func grantName(granted []v1alpha1.Device) string {
	if len(granted) == 1 {
		return string(granted[0].ID)
	}
	return fmt.Sprintf("all %d", len(granted))
}

// abridged prints the ends of a long list.
func abridged(list []string, separator string) string {
	if n := len(list); n > 6 {
		return fmt.Sprintf("%s … %s (%d)", strings.Join(list[:3], separator), list[n-1], n)
	}
	return strings.Join(list, separator)
}

const injectionHead = `# What a container gets

What a container needs to see exactly the devices that it was granted, and to use them. This page is made by a test, of the table in
` + "`" + `pkg/nodeagent/injection/kinds.go` + "`" + ` and of what it answers for the recordings of ` + "`" + `test/recordings` + "`" + `; do not edit it. The answers
themselves are in ` + "`" + `test/recordings/testdata/injection/answers.txt` + "`" + `. None was given to a container on a real accelerator yet.

## The modes

No API tells what a node's container runtime supports, so the mode is set for each vendor. One answer never mixes them.

- **DeviceNodes**: the device's own nodes, as the inventory lists them in ` + "`" + `paths` + "`" + `, with the shared ones that the host has, and
  the vendor's variables. The container may read and write them (` + "`" + `rw` + "`" + `), and never make nodes (` + "`" + `m` + "`" + `). Libraries that must come
  from the host are mounted by the vendor's container runtime, where it has one.
- **CDI**: names such as ` + "`" + `rankwright.dev/nvidia-gpu=nvidia-0000:17:00.0` + "`" + `, which the runtime looks up in the specifications that
  the agent keeps in ` + "`" + `/var/run/cdi` + "`" + `, one file a class (` + "`" + `rankwright.dev-nvidia-gpu.json` + "`" + `), of the lowest version that their content
  needs. A file is replaced at once, only when it changes, and removed when its class is no longer served. All go when the product
  is uninstalled, from the nodes whose agents run then; containers that go on running cannot restart with their devices after that.
- **CDI with a vendor's own specification** (` + "`" + `cdiKind` + "`" + `, such as ` + "`" + `nvidia.com/gpu` + "`" + `): names that the vendor's tool wrote. A device is
  found by its UUID, else by its nodes, never by an index. What ` + "`" + `/etc/cdi` + "`" + ` and ` + "`" + `/var/run/cdi` + "`" + ` do not have is an error that names the
  device, the kind and the tool to run; so is a specification without libcuda, or with that of another driver than the node's.

Variables that hold lists are in the answer in both modes: as edits of single CDI devices, the last one would win. Variables
that a vendor's container runtime reads are left out beside CDI, or say that it shall add nothing.

A container is not given a device by whose nodes it would see another one that it was not granted, unless a variable keeps
the two apart. The refusal names both: they can only be granted together. Variables restrict what respects them, nodes everybody.

Nodes that belong to a group (` + "`" + `root:render` + "`" + `, ` + "`" + `0660` + "`" + `) are of no use to images that do not run as root. ` + "`" + `additionalGids: true` + "`" + ` has
containers be in the groups of their nodes, by mode CDI with our own specifications. It makes these version 0.7.0, which older
runtimes refuse as a whole: set it only where the nodes' runtime knows that version (containerd 2.0). Elsewhere set ` + "`" + `supplementalGroups` + "`" + ` in pods.

## Settings of the container runtime

| Runtime | CDI |
|---|---|
| containerd 2.0 and newer | on by default, for ` + "`" + `/etc/cdi` + "`" + ` and ` + "`" + `/var/run/cdi` + "`" + ` |
| containerd 1.7 | off: ` + "`" + `enable_cdi = true` + "`" + ` and ` + "`" + `cdi_spec_dirs = ["/etc/cdi", "/var/run/cdi"]` + "`" + ` under ` + "`" + `[plugins."io.containerd.grpc.v1.cri"]` + "`" + ` |
| containerd 1.6 and older | none: mode DeviceNodes |
| CRI-O 1.23 and newer | on by default, for ` + "`" + `/etc/cdi` + "`" + ` and ` + "`" + `/var/run/cdi` + "`" + ` (` + "`" + `cdi_spec_dirs` + "`" + `) |

Where it is off, a pod with CDI names fails to start, or starts without its devices under containerd 1.7, which looks at none of them.

## NVIDIA: the driver's libraries

libcuda has to be of the very release of the kernel's module, so it comes from the node. A configuration that gives containers GPUs
and no libcuda is refused when it is read. These do:

| ` + "`" + `vendors.nvidia` + "`" + ` | needs | libcuda is brought by |
|---|---|---|
| ` + "`" + `injection: CDI` + "`" + ` | ` + "`" + `agent.nvml.enabled=true` + "`" + ` in its privileged form ([drivers](../operate/drivers.md)) | our own specification, of what NVIDIA's package for CDI (nvcdi) finds |
| ` + "`" + `injection: CDI, cdiKind: nvidia.com/gpu` + "`" + ` | ` + "`" + `nvidia-ctk cdi generate` + "`" + ` on the node after every change of the driver (NVIDIA's toolkit has a service for it); with kustomize the component ` + "`" + `config/cdi` + "`" + `, by which agents read ` + "`" + `/etc/cdi` + "`" + ` | that specification |
| ` + "`" + `injection: DeviceNodes, userLibraries: Runtime` + "`" + ` | NVIDIA's runtime as the node's default, or as ` + "`" + `runtimeClassName` + "`" + ` of **every** pod with such a device: one without it has no libcuda | NVIDIA's runtime |
| ` + "`" + `userLibraries: Image` + "`" + `, either mode | images with the libraries of the nodes' very driver | the image |

With our own specification a container gets, of the driver's root (` + "`" + `/run/nvidia/driver` + "`" + ` of the GPU operator, ` + "`" + `/home/kubernetes/bin/nvidia` + "`" + `
of GKE, or ` + "`" + `/` + "`" + `; the one of the loaded module's release where there are several): every library of the driver's release, nvidia-smi and the
programs for MPS, GSP firmware, the sockets of nvidia-persistenced and nvidia-fabricmanager, and of the GPU its nodes, those for
drawing included. It is looked for when the driver or the GPUs change, when GPUs cease to answer, again after a failure, and each half
hour. Until it is known, once it is gone, and while it is of another release than the driver, devices are unhealthy for new pods, and the condition ` + "`" + `Served` + "`" + ` says why. Containers that run
keep what they have.

**Hooks** make the libraries known to the container: the runtime runs ` + "`" + `nvidia-cdi-hook` + "`" + ` on the node when it creates one. It is looked for
in ` + "`" + `/usr/bin` + "`" + `, ` + "`" + `/usr/local/bin` + "`" + ` and the folders of the GPU operator (nvidia-ctk of 1.17 does, too); ` + "`" + `agent.cdiHook.path` + "`" + ` says another place,
and ` + "`" + `agent.cdiHook.installTo` + "`" + ` has the agents' pods install it, to a folder from which programs may run (on Container-Optimized OS
` + "`" + `/home/kubernetes/bin/rankwright` + "`" + `). Without it nothing is granted.

**Nodes.** ` + "`" + `/dev/nvidiactl` + "`" + ` and ` + "`" + `/dev/nvidia-uvm` + "`" + ` are needed by every CUDA program. The helper makes what is missing of drivers that are
loaded, MIG's capabilities included, unless the driver forbids it (` + "`" + `NVreg_ModifyDeviceFiles=0` + "`" + `); else the grant is refused with the command to run.

**IMEX channels** let GPUs of several nodes (NVL72) share memory. ` + "`" + `imexChannels: [0]` + "`" + ` gives the channel to every container with a device of
NVIDIA's. Who has the same channel in the same IMEX domain can import what others export: the channel crosses tenants and namespaces, so
leave it out where these do not trust each other.

## By vendor

Own nodes are those seen in the recordings, with N for a number.

| Class | Backend | Own nodes | Shared nodes | Variables |
|---|---|---|---|---|
`

// docs/reference/device-injection.md is made of the table, so that it cannot say anything else. Every row of the table is about a
// backend that there is and that a recording has.
func TestInjectionIsDocumented(t *testing.T) {
	seen := injectionSeen(t)
	for _, kind := range injection.Kinds() {
		if _, ok := seen[kind.Backend]; !ok {
			t.Errorf("no recording has a device of backend %q", kind.Backend)
		}
	}
	var b strings.Builder
	b.WriteString(injectionHead)
	kinds := injection.Kinds()
	for _, backend := range slices.Sorted(maps.Keys(seen)) {
		kind := kindNamed(kinds, backend)
		fmt.Fprintf(&b, "| %s | [%s](#%s) | %s | %s | %s |\n", list(seen[backend].classes), backend, backend,
			quoted(slices.Sorted(maps.Keys(seen[backend].nodes))), quoted(kind.Shared), variableNames(kind.Variables))
	}
	for _, backend := range slices.Sorted(maps.Keys(seen)) {
		writeKind(&b, backend, kindNamed(kinds, backend), len(seen[backend].nodes) > 0)
	}
	golden(t, filepath.Join("..", "..", "docs", "reference", "device-injection.md"), b.String())
}

func variableNames(variables []injection.Variable) string {
	var names []string
	for i := range variables {
		name := "`" + variables[i].Name + "`"
		if modes := variables[i].Modes(); len(modes) == 1 {
			name += fmt.Sprintf(" (%s only)", modes[0])
		}
		names = append(names, name)
	}
	return cmp.Or(strings.Join(names, ", "), "-")
}

// writeKind writes what containers get of a backend's devices; given says that there are nodes to give.
func writeKind(b *strings.Builder, backend string, kind injection.Kind, given bool) {
	fmt.Fprintf(b, "\n### %s\n\n%s\n", backend, cmp.Or(kind.Note, "Its own nodes alone; no variable could be verified."))
	if len(kind.Variables) > 0 {
		b.WriteString("\n")
	}
	for i := range kind.Variables {
		fmt.Fprintf(b, "- `%s`: %s.\n", kind.Variables[i].Name, kind.Variables[i].Holds)
	}
	if given {
		fmt.Fprintf(b, "\nThe image brings %s.\n", cmp.Or(kind.Image, "the vendor's user libraries: which ones could not be verified"))
		fmt.Fprintf(b, "\nThe container runtime: %s.\n", cmp.Or(kind.Runtime, "CDI where that mode is set; nothing for device nodes"))
	}
	if kind.Sources != "" {
		fmt.Fprintf(b, "\nSources: %s.\n", kind.Sources)
	}
}

func kindNamed(kinds []injection.Kind, backend string) injection.Kind {
	for i := range kinds {
		if kinds[i].Backend == backend {
			return kinds[i]
		}
	}
	return injection.Kind{Backend: backend}
}

func quoted(names []string) string {
	if len(names) == 0 {
		return "-"
	}
	return "`" + strings.Join(names, "` `") + "`"
}

// seenNodes is what the recordings have of a backend.
type seenNodes struct{ classes, nodes map[string]bool }

var digits = regexp.MustCompile(`\d+`)

func injectionSeen(t *testing.T) map[string]seenNodes {
	t.Helper()
	seen := map[string]seenNodes{}
	for _, name := range slices.Sorted(maps.Keys(recordings)) {
		status := detect.Detect(t.Context(), recordings[name]().Host(), detect.Options{}).Status
		for i := range status.Devices {
			d := &status.Devices[i]
			if d.Family == v1alpha1.FamilyCPU {
				continue
			}
			if seen[d.Backend].nodes == nil {
				seen[d.Backend] = seenNodes{classes: map[string]bool{}, nodes: map[string]bool{}}
			}
			seen[d.Backend].classes[injection.Class(d)] = true
			for _, node := range d.Paths {
				seen[d.Backend].nodes[digits.ReplaceAllString(node, "N")] = true
			}
		}
	}
	return seen
}
