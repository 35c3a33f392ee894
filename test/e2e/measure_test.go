//go:build linux

package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/test/cluster"
)

// maxResident is what an agent at rest may hold of a node's memory, in KiB, all pages of its program (20 MiB) included; maxHelper
// is what its helper may, with the process that watches for errors of NVIDIA's GPUs and the library of ours that it loads.
const (
	maxResident = 30 << 10
	maxHelper   = 24 << 10
)

// What an agent costs at rest, with no device, with 8 whose driver is asked and with 64: memory, processor time and writes to
// the API server, and what its helper costs beside it.
// RANKWRIGHT_E2E_REST is how long to look, at least the time between two heartbeats.
func TestAgentAtRest(t *testing.T) {
	s := on(t)
	rest := 90 * time.Second
	if text := os.Getenv("RANKWRIGHT_E2E_REST"); text != "" {
		var err error
		if rest, err = time.ParseDuration(text); err != nil {
			t.Fatalf("$RANKWRIGHT_E2E_REST: %v", err)
		}
	}
	sizes := []struct {
		host    string
		devices int
	}{{"host-microvm-no-pci", 0}, {"nvidia-nvml-h100-8", 8}, {"amd-mi300x-cpx-nps4", 64}}
	s.play(t, composed(t), sizes[0].host, sizes[1].host, sizes[2].host)
	s.install(t, "agent.rescanInterval=5m", "agent.nvml.enabled=true")
	for i, size := range sizes {
		s.awaitInventory(t, s.Nodes[i].Name, func(i *v1alpha1.AcceleratorInventory) bool {
			return len(i.Status.Backends) > 0 && len(i.Status.Devices) == size.devices
		})
	}
	step("let the agents settle")
	pause(t, 20*time.Second)
	from := time.Now()
	before, helpers := make([]usage, len(sizes)), make([]usage, len(sizes))
	for i := range sizes {
		before[i], helpers[i] = s.usage(t, s.Nodes[i], "node-agent"), s.usage(t, s.Nodes[i], "helper")
	}
	pause(t, rest)
	writes := s.writes(t, from)
	for i, size := range sizes {
		now, helper := s.usage(t, s.Nodes[i], "node-agent"), s.usage(t, s.Nodes[i], "helper")
		user := "system:serviceaccount:" + agentNamespace + ":" + agentNamespace + "@" + s.Nodes[i].Name
		step("%2d devices: %d KiB resident (%d KiB its own), %.2f ms of processor time a second, writes in %s: %v",
			size.devices, now.residentKiB, now.anonymousKiB, (now.cpu-before[i].cpu).Seconds()*1000/rest.Seconds(), rest, writes[user])
		step("%2d devices: the helper: %d processes, %d KiB resident (%d KiB their own), %.2f ms of processor time a second", size.devices,
			helper.processes, helper.residentKiB, helper.anonymousKiB, (helper.cpu-helpers[i].cpu).Seconds()*1000/rest.Seconds())
		if helper.residentKiB > maxHelper {
			t.Errorf("%d devices: the helper has %d KiB resident, more than %d", size.devices, helper.residentKiB, maxHelper)
		}
		if now.residentKiB > maxResident {
			t.Errorf("%d devices: %d KiB resident, more than %d", size.devices, now.residentKiB, maxResident)
		}
		for kind, count := range writes[user] {
			if kind != "leases" {
				t.Errorf("%d devices: at rest, the agent wrote %s %d times", size.devices, kind, count)
			}
		}
	}
}

// pause waits for time to pass, which is what is measured.
func pause(t *testing.T, duration time.Duration) {
	t.Helper()
	select {
	case <-time.After(duration):
	case <-t.Context().Done():
	}
}

// usage is what processes take.
type usage struct {
	processes                 int
	residentKiB, anonymousKiB int64
	cpu                       time.Duration
}

// usage is what a container of a node's agent takes.
func (s *site) usage(t *testing.T, node *cluster.Node, container string) usage {
	t.Helper()
	pod := s.agentOf(t, node.Name)
	if pod == nil {
		t.Fatalf("no agent on %s", node.Name)
	}
	pid := s.processOf(t, node, pod, container)
	var all usage
	for pids := []int{pid}; len(pids) > 0; pids = pids[1:] {
		used, err := readUsage(pids[0])
		if err != nil {
			t.Fatal(err)
		}
		all.processes++
		all.residentKiB += used.residentKiB
		all.anonymousKiB += used.anonymousKiB
		all.cpu += used.cpu
		pids = append(pids, children(t, pids[0])...)
	}
	return all
}

// processOf is the first process of a container of a pod.
func (s *site) processOf(t *testing.T, node *cluster.Node, pod *corev1.Pod, container string) int {
	t.Helper()
	at := slices.IndexFunc(pod.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool { return c.Name == container })
	if at < 0 {
		t.Fatalf("%s on %s has no container %s", pod.Name, node.Name, container)
	}
	pid, err := node.ProcessOf(t.Context(), strings.TrimPrefix(pod.Status.ContainerStatuses[at].ContainerID, "containerd://"))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// children are the processes that a process has started.
func children(t *testing.T, pid int) []int {
	t.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		t.Fatal(err)
	}
	var found []int
	for _, thread := range threads {
		text, err := os.ReadFile(thread)
		if err != nil {
			continue // the thread has ended
		}
		for _, field := range strings.Fields(string(text)) {
			child, err := strconv.Atoi(field)
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, child)
		}
	}
	return found
}

func readUsage(pid int) (usage, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return usage{}, err
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return usage{}, err
	}
	var used usage
	for line := range strings.Lines(string(status)) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		value, _ := strconv.ParseInt(fields[1], 10, 64)
		switch fields[0] {
		case "VmRSS:":
			used.residentKiB = value
		case "RssAnon:":
			used.anonymousKiB = value
		}
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(after)
	for _, ticks := range fields[11:13] {
		value, _ := strconv.ParseInt(ticks, 10, 64)
		used.cpu += time.Duration(value) * 10 * time.Millisecond
	}
	return used, nil
}

// writes counts what service accounts on each node wrote since a time, by account@node and resource.
func (s *site) writes(t *testing.T, since time.Time) map[string]map[string]int {
	t.Helper()
	log, err := os.Open(s.ControlPlane.AuditLog())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	counts := map[string]map[string]int{}
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var event struct {
			RequestReceivedTimestamp time.Time
			User                     struct {
				Username string
				Extra    map[string][]string
			}
			ObjectRef struct{ Resource, Subresource string }
		}
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			t.Fatal(err)
		}
		if event.RequestReceivedTimestamp.Before(since) {
			continue
		}
		user := event.User.Username + "@" + strings.Join(event.User.Extra["authentication.kubernetes.io/node-name"], "")
		if counts[user] == nil {
			counts[user] = map[string]int{}
		}
		counts[user][strings.TrimSuffix(event.ObjectRef.Resource+"/"+event.ObjectRef.Subresource, "/")]++
	}
	return counts
}
