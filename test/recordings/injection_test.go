package main

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect"
	"github.com/rankwright/rankwright/pkg/nodeagent/injection"
)

// Every class of devices of every recording is answered for in both modes, or refused with the reason.
func TestInjection(t *testing.T) {
	var b strings.Builder
	b.WriteString("What a container gets for the first device of each class of each recording, and for all of them.\n")
	for _, name := range slices.Sorted(maps.Keys(recordings)) {
		host := recordings[name]().Host()
		status := detect.Detect(t.Context(), host, detect.Options{}).Status
		node := injection.Node{Devices: status.Devices, Files: host.Files}
		classes := byClass(status.Devices)
		for _, class := range slices.Sorted(maps.Keys(classes)) {
			devices := classes[class]
			fmt.Fprintf(&b, "\n%s: %s of %s\n", name, v1alpha1.Counted(len(devices), "device"), class)
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
		var given []string
		for _, n := range answer.Devices {
			given = append(given, n.HostPath)
		}
		fmt.Fprintf(b, "    %-11s  %s\n", mode, abridged(append(given, answer.CDIDevices...), " "))
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

What a container needs to see exactly the devices that it was granted. This page is made by a test, of the table in
` + "`pkg/nodeagent/injection/kinds.go`" + ` and of what it answers for the recordings of ` + "`test/recordings`" + `; do not edit it. The answers
themselves are in ` + "`test/recordings/testdata/injection/answers.txt`" + `. None was given to a container on a real accelerator yet.

## The modes

No API tells what a node's container runtime supports, so the mode is set for each vendor. One answer never mixes them.

- **DeviceNodes**: the device's own nodes, as the inventory lists them in ` + "`paths`" + `, with the shared ones that the host has, and
  the vendor's variables. The container may read and write them (` + "`rw`" + `), and never make nodes (` + "`m`" + `). Libraries that must come
  from the host are mounted by the vendor's container runtime, where it has one.
- **CDI**: names such as ` + "`rankwright.dev/nvidia-gpu=nvidia-0000:17:00.0`" + `, which the runtime looks up in the specifications that
  the agent keeps in ` + "`/var/run/cdi`" + `, one file a class (` + "`rankwright.dev-nvidia-gpu.json`" + `), of the lowest version that their content
  needs. A file is replaced at once, only when it changes, and removed when its class is no longer served. containerd 2.0
  and newer read the folder by default.
- **CDI with a vendor's own specification** (` + "`cdiKind`" + `, such as ` + "`nvidia.com/gpu`" + `): names that the vendor's tool wrote, for devices
  whose user libraries are mounted from the host. A device is found by its UUID, else by its nodes, never by an index. What
  ` + "`/etc/cdi`" + ` and ` + "`/var/run/cdi`" + ` do not have is an error that names the device, the kind and the tool to run.

Variables that hold lists are in the answer in both modes: as edits of single CDI devices, the last one would win. Variables
that a vendor's container runtime reads are left out beside CDI, or say that it shall add nothing.

A container is not given a device by whose nodes it would see another one that it was not granted, unless a variable keeps
the two apart. The refusal names both: they can only be granted together. Variables restrict what respects them, nodes everybody.

## By vendor

Own nodes are those seen in the recordings, with N for a number.

| Class | Backend | Own nodes | Shared nodes | Variables |
|---|---|---|---|---|
`

// docs/device-injection.md is made of the table, so that it cannot say anything else. Every row of the table is about a
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
		writeKind(&b, backend, kindNamed(kinds, backend))
	}
	golden(t, filepath.Join("..", "..", "docs", "device-injection.md"), b.String())
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

func writeKind(b *strings.Builder, backend string, kind injection.Kind) {
	fmt.Fprintf(b, "\n### %s\n\n%s\n", backend, cmp.Or(kind.Note, "Its own nodes alone; no variable could be verified."))
	if len(kind.Variables) > 0 {
		b.WriteString("\n")
	}
	for i := range kind.Variables {
		fmt.Fprintf(b, "- `%s`: %s.\n", kind.Variables[i].Name, kind.Variables[i].Holds)
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
