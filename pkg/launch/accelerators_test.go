package launch

import (
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// JAX reads the coordinator's address as host:port and the local devices as numbers with commas; the program passes the
// number of processes and its own (jax/_src/distributed.py).
func TestJAX(t *testing.T) {
	b := fixture{engine: v1alpha1.EngineJAX, strategy: degrees(2, 1, 3), nodes: []int{4, 2}}.bundle(t, "jax")
	for i, pod := range b.Pods {
		e := ofPod(t, b, i)
		host, port, err := net.SplitHostPort(variable(t, e, "JAX_COORDINATOR_ADDRESS"))
		if err != nil || host != "10.0.0.0" || number(t, port) < 1024 {
			t.Errorf("coordinator %s %s, %v", host, port, err)
		}
		if variable(t, e, "JAX_NUM_PROCESSES") != "2" || number(t, variable(t, e, "JAX_PROCESS_ID")) != i {
			t.Errorf("pod %d: %v", i, e.Variables)
		}
		if got := ints(t, variable(t, e, "JAX_LOCAL_DEVICE_IDS")); !slices.Equal(got, consecutive(0, len(pod.Ranks))) {
			t.Errorf("pod %d has devices %v", i, got)
		}
	}
	fixture{engine: v1alpha1.EngineJAX, strategy: degrees(1, 2, 1), layers: []int{3, 5}}.refused(t, "jax", "stages of equal size alone")
}

// The TPU runtime takes lists of all hosts, of which a worker finds itself by its id (jax/_src/clusters/cloud_tpu_cluster.py,
// LeaderWorkerSet's pkg/utils/accelerators).
func TestTPU(t *testing.T) {
	f := fixture{engine: v1alpha1.EngineJAX, vendor: "google", strategy: degrees(4, 1, 2), nodes: []int{4, 4}, options: Options{Hosts: hosts(t, "tpu-{copy}{-worker}.tpu")}}
	b, err := f.job(t).Write("")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(b.Launchers, []string{"jax", "tpu"}) {
		t.Fatalf("JAX on TPUs is started by %v", b.Launchers)
	}
	for i, pod := range b.Pods {
		e := ofPod(t, b, i)
		names, addresses := strings.Split(variable(t, e, "TPU_WORKER_HOSTNAMES"), ","), strings.Split(variable(t, e, "TPU_PROCESS_ADDRESSES"), ",")
		id := number(t, variable(t, e, "TPU_WORKER_ID"))
		if len(names) != 2 || len(addresses) != 2 || names[id] != pod.Host || addresses[id] != pod.Host+":"+variable(t, e, "TPU_PROCESS_PORT") {
			t.Errorf("pod %d: %v", i, e.Variables)
		}
		if _, there := e.value("JAX_LOCAL_DEVICE_IDS"); there {
			t.Error("chips of a TPU are numbered by its runtime")
		}
	}
	if got, want := b.Pods[1].Host, "tpu-0-1.tpu"; got != want || b.Pods[0].Host != "tpu-0.tpu" {
		t.Errorf("hosts %s and %s, want %s", b.Pods[0].Host, got, want)
	}
	fixture{engine: v1alpha1.EngineJAX, strategy: degrees(4, 1, 1)}.refused(t, "tpu", "devices are of nvidia, not TPUs")
}

// PJRT for Neuron: as many numbers as processes, each the cores of one; the world is their sum (AWS Neuron's examples).
func TestNeuron(t *testing.T) {
	f := fixture{engine: v1alpha1.EngineTorch, vendor: "aws", strategy: degrees(2, 1, 3), nodes: []int{4, 2}}
	b := f.bundle(t, "neuron")
	for i, pod := range b.Pods {
		e := ofPod(t, b, i)
		cores := ints(t, variable(t, e, "NEURON_PJRT_PROCESSES_NUM_DEVICES"))
		index := number(t, variable(t, e, "NEURON_PJRT_PROCESS_INDEX"))
		first := 0
		for _, n := range cores[:index] {
			first += n
		}
		if len(cores) != len(b.Pods) || cores[index] != len(pod.Ranks) || first != pod.Ranks[0] || number(t, variable(t, e, "NEURON_RT_NUM_CORES")) != len(pod.Ranks) {
			t.Errorf("pod %d: %v", i, e.Variables)
		}
		if host, _, err := net.SplitHostPort(variable(t, e, "NEURON_RT_ROOT_COMM_ID")); err != nil || host != "10.0.0.0" {
			t.Errorf("root %s: %v", host, err)
		}
	}
	f.vendor = "nvidia"
	f.refused(t, "neuron", "devices are of nvidia, not of aws")
}

// ray start: the head listens on --port and the others are told its --address; --resources is JSON.
func TestRay(t *testing.T) {
	f := fixture{engine: v1alpha1.EngineVLLM, strategy: degrees(2, 3, 1), layers: []int{3, 3, 2}, nodes: []int{4, 2}}
	b := f.bundle(t, "ray")
	total := 0
	for i, pod := range b.Pods {
		e := ofPod(t, b, i)
		read := flags(t, e, "--port --address --num-gpus --resources", "--head --block")
		_, head := read["--head"]
		if head != (i == 0) || !head && read["--address"] != b.Pods[0].Host+":6379" || head && read["--port"] != "6379" {
			t.Errorf("pod %d: %v", i, read)
		}
		if want := []string{`{"rankwright-pod-0":4}`, `{"rankwright-pod-1":2}`}[i]; read["--resources"] != want {
			t.Errorf("pod %d offers %s, want %s", i, read["--resources"], want)
		}
		if number(t, read["--num-gpus"]) != len(pod.Ranks) || variable(t, e, "RAY_ADDRESS") != "10.0.0.0:6379" {
			t.Errorf("pod %d: %v", i, e)
		}
		total += number(t, read["--num-gpus"])
	}
	if text := file(t, b, "copy-0.vllm-ray.env"); total != 6 || !strings.Contains(text, "--distributed-executor-backend ray") || !strings.Contains(text, "VLLM_PP_LAYER_PARTITION='3,3,2'") {
		t.Errorf("%d devices; %s", total, text)
	}
}
