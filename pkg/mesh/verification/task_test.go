package verification

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/launch"
	"github.com/rankwright/rankwright/pkg/mesh"
)

const smallTask = `{"version":1,"mesh":"default/llm","plan":"llm-1","copy":0,"deadlineSeconds":300,"minimumShare":25,
"pods":[{"index":0,"host":"llm-0.llm","port":28765,"node":"a","ranks":"0-1"},{"index":1,"host":"llm-1.llm","port":28765,"node":"b","ranks":"2-3","mbps":5000}],
"groups":[{"kind":"world","ranks":["0-3"]},{"kind":"tp","ranks":["0-1","2-3"]}]}`

func TestParseTask(t *testing.T) {
	task, err := ParseTask([]byte(smallTask))
	if err != nil {
		t.Fatal(err)
	}
	text, err := task.Text()
	if err != nil {
		t.Fatal(err)
	}
	again, err := ParseTask([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(task, again, cmpopts.IgnoreUnexported(Task{})); diff != "" {
		t.Errorf("read again (-want +got):\n%s", diff)
	}
	if place, err := task.Place(1); err != nil || place != 1 || task.Pods[1].Address() != "llm-1.llm:28765" {
		t.Errorf("pod 1 is at place %d, %v, %s", place, err, task.Pods[1].Address())
	}
	if _, err := task.Place(2); err == nil {
		t.Error("the task has a pod 2")
	}
}

func TestTasksThatAreRefused(t *testing.T) {
	for change, want := range map[[2]string]string{
		{`"version":1`, `"version":2`}:                           "version is 2: this program reads 1",
		{`"plan":"llm-1"`, `"plan":""`}:                          "mesh and plan must not be empty",
		{`"copy":0`, `"copy":-1`}:                                "copy is -1",
		{`"deadlineSeconds":300`, `"deadlineSeconds":0`}:         "deadlineSeconds is 0",
		{`"minimumShare":25`, `"minimumShare":101`}:              "minimumShare is 101",
		{`"index":1`, `"index":0`}:                               "pods[1]: index is 0: indices must",
		{`"host":"llm-1.llm"`, `"host":""`}:                      "pods[1]: host is",
		{`"mbps":5000`, `"mbps":-1`}:                             "mbps is -1",
		{`"node":"b","ranks":"2-3"`, `"node":"b","ranks":"1-3"`}: "rank 1 is also of pods[0]",
		{`["0-3"]`, `["0-4"]`}:                                   "group 0 of world",
		{`["0-3"]`, `["0-2","3","1"]`}:                           "group 2 of world",
		{`"kind":"tp"`, `"kind":""`}:                             "kind must not be empty",
		{`"copy":0`, `"copy":0,"more":1`}:                        `unknown field "more"`,
		{`"tp","ranks":["0-1","2-3"]}]}`, `"tp"}]} {}`}:          "something follows the object",
	} {
		text := strings.Replace(smallTask, change[0], change[1], 1)
		if text == smallTask {
			t.Fatalf("%q is not in the task", change[0])
		}
		if _, err := ParseTask([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("with %s: %v, want %q", change[1], err, want)
		}
	}
}

func FuzzParseTask(f *testing.F) {
	f.Add([]byte(smallTask))
	f.Add([]byte(`{"pods":[{"ranks":"0-1048575"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		task, err := ParseTask(data)
		if err != nil {
			return
		}
		if len(task.Pods) > 100 {
			return // more pairs would take long
		}
		for place, of := range task.pairs() {
			for _, p := range of {
				if p.other(place) == place || p.high >= len(task.Pods) {
					t.Fatalf("place %d has pair %v", place, p)
				}
			}
		}
	})
}

// meshOf is a mesh of pods with so many devices each, of tensor ranks within them and data ranks between them.
func meshOf(t testing.TB, pods, devices int) (*v1alpha1.DeviceMesh, *launch.Job) {
	t.Helper()
	plan := &v1alpha1.ShardingPlanSpec{
		Strategy: v1alpha1.Strategy{Tensor: int32(devices), Pipeline: 1, Data: int32(pods), Context: 1, Expert: 1, Replicas: 1},
		Stages:   []v1alpha1.Stage{{FirstLayer: 0, LastLayer: 31}},
	}
	m := &v1alpha1.DeviceMesh{}
	m.Namespace, m.Name = "default", "llm"
	made, err := mesh.New("tp-dp", map[string]int{"tp": devices, "dp": pods})
	if err != nil {
		t.Fatal(err)
	}
	world := int32(pods * devices)
	m.Spec = v1alpha1.DeviceMeshSpec{
		Plan: "llm-1", Engine: v1alpha1.EngineTorch, Order: "tp-dp", Dimensions: made.Dimensions(), WorldSize: world, Replicas: 1,
		Groups: []v1alpha1.ProcessGroups{
			{Name: "world", Dimensions: []string{"tp", "dp"}, Count: 1, Size: world},
			{Name: "tp", Dimensions: []string{"tp"}, Count: int32(pods), Size: int32(devices)},
			{Name: "dp", Dimensions: []string{"dp"}, Count: int32(devices), Size: int32(pods)},
		},
	}
	for pod := range pods {
		member := v1alpha1.MeshMember{Node: fmt.Sprintf("node-%05d", pod), FirstRank: int32(pod * devices)}
		for i := range devices {
			member.Devices = append(member.Devices, v1alpha1.DeviceID(fmt.Sprintf("nvidia-0000:%02x:00.0", i)))
		}
		m.Spec.Members = append(m.Spec.Members, member)
	}
	hosts, err := launch.ParseHosts("llm-{pod}.llm")
	if err != nil {
		t.Fatal(err)
	}
	job, err := launch.NewJob(plan, &m.Spec, launch.Options{Hosts: hosts})
	if err != nil {
		t.Fatal(err)
	}
	return m, job
}

func TestTasksOfAMesh(t *testing.T) {
	m, job := meshOf(t, 3, 2)
	ethernet := &v1alpha1.AcceleratorInventoryStatus{
		NICs:    []v1alpha1.NIC{{Kind: "Ethernet", Gbps: 100, Up: true}},
		Devices: []v1alpha1.Device{{ID: "nvidia-0000:00:00.0", Family: v1alpha1.FamilyGPU}, {ID: "nvidia-0000:01:00.0", Family: v1alpha1.FamilyGPU}},
	}
	rdma := ethernet.DeepCopy()
	rdma.NICs[0].Kind = v1alpha1.NICRoCE
	rdma.Links.Domains = []v1alpha1.LinkDomain{
		{Kind: "PCI", Members: []v1alpha1.DeviceID{"nvidia-0000:00:00.0"}},
		{Kind: "NVLink", Members: []v1alpha1.DeviceID{"nvidia-0000:00:00.0", "nvidia-0000:01:00.0"}},
	}
	hosts := mesh.Hosts{"node-00000": {Inventory: ethernet}, "node-00001": {Inventory: rdma}}
	tasks, err := Tasks(m, job, hosts, &v1alpha1.Verification{Mode: v1alpha1.VerificationRequire, DeadlineSeconds: 60}, false)
	if err != nil {
		t.Fatal(err)
	}
	want := &Task{
		Version: 1, Mesh: "default/llm", Plan: "llm-1", Require: true, DeadlineSeconds: 60, MinimumShare: 25,
		Pods: []Pod{
			{Index: 0, Host: "llm-0.llm", Port: Port, Node: "node-00000", Ranks: "0-1", MBps: 12500},
			{Index: 1, Host: "llm-1.llm", Port: Port, Node: "node-00001", Ranks: "2-3", Wire: "NVLink", Fabric: "RoCE"},
			{Index: 2, Host: "llm-2.llm", Port: Port, Node: "node-00002", Ranks: "4-5"},
		},
		Kinds: []Kind{{"world", []mesh.Ranks{"0-5"}}, {"tp", []mesh.Ranks{"0-1", "2-3", "4-5"}}, {"dp", []mesh.Ranks{"0-4/2", "1-5/2"}}},
	}
	if diff := cmp.Diff([]*Task{want}, tasks, cmpopts.IgnoreUnexported(Task{})); diff != "" {
		t.Errorf("tasks (-want +got):\n%s", diff)
	}
}

// The task of ten thousand pods fits into a ConfigMap of the launchers' files.
func TestTaskOfTenThousandRanks(t *testing.T) {
	for _, shape := range [][2]int{{1250, 8}, {10_000, 1}} {
		m, job := meshOf(t, shape[0], shape[1])
		tasks, err := Tasks(m, job, nil, &v1alpha1.Verification{}, false)
		if err != nil {
			t.Fatal(err)
		}
		text, err := tasks[0].Text()
		if err != nil {
			t.Fatal(err)
		}
		if len(text) > launch.MaxBytes {
			t.Errorf("the task of %d pods has %d bytes, want at most %d", shape[0], len(text), launch.MaxBytes)
		}
		if !json.Valid([]byte(text)) {
			t.Error("the task is no JSON")
		}
	}
}

func TestPodsThatShareAHostHavePortsOfTheirOwn(t *testing.T) {
	m, job := meshOf(t, 3, 1)
	for i := range job.Copies[0].Pods {
		job.Copies[0].Pods[i].Host = []string{"10.0.0.1", "10.0.0.2", "10.0.0.1"}[i]
	}
	tasks, err := Tasks(m, job, nil, &v1alpha1.Verification{}, true)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"10.0.0.1:28765", "10.0.0.2:28765", "10.0.0.1:28766"} {
		if got := tasks[0].Pods[i].Address(); got != want {
			t.Errorf("pod %d is at %s, want %s", i, got, want)
		}
	}
	if !tasks[0].Concluded {
		t.Error("the task of a concluded verification does not say so")
	}
}
