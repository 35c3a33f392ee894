package examples

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/binding"
	"github.com/rankwright/rankwright/pkg/launch"
	"github.com/rankwright/rankwright/test/controlplane"
)

const (
	gpu = "rankwright.dev/nvidia-gpu"
	tpu = "rankwright.dev/google-tpu"
)

// example is a manifest and what its pods start.
type example struct {
	manifest, placement string
	// shape and count are the nodes that it is planned on; resource is what their devices are served as.
	shape    string
	count    int
	resource string
	// starts are the commands of the pods, in order of index.
	starts []string
	// sees are variables that the command of a pod must find, %d being the pod's index.
	sees []string
}

var examples = []example{
	{
		manifest: "launchers/vllm-leaderworkerset.yaml", placement: "vllm-lws", shape: "h100x8", count: 2, resource: gpu,
		starts: vllmStarts("vllm-lws-0.vllm-lws"), sees: []string{"VLLM_PP_LAYER_PARTITION=32,29"},
	},
	{
		manifest: "launchers/vllm-statefulset.yaml", placement: "vllm-sts", shape: "h100x8", count: 2, resource: gpu,
		starts: vllmStarts("vllm-sts-0.vllm-sts"), sees: []string{"VLLM_PP_LAYER_PARTITION=32,29"},
	},
	{
		manifest: "launchers/torchrun-job.yaml", placement: "torchrun", shape: "h100x8", count: 2, resource: gpu,
		starts: []string{"torchrun /etc/train/train.py", "torchrun /etc/train/train.py"},
		sees: []string{
			"PET_NNODES=2", "PET_NPROC_PER_NODE=8", "PET_NODE_RANK=%d", "PET_MASTER_ADDR=torchrun-0.torchrun", "PET_MASTER_PORT=29500",
			"RANKWRIGHT_TORCH_BACKEND=cpu:gloo,cuda:nccl",
		},
	},
	{manifest: "launchers/mpi-mpijob.yaml", placement: "mpi", shape: "h100x8", count: 2, resource: gpu, starts: []string{"", ""}},
	{
		manifest: "launchers/jax-tpu-job.yaml", placement: "jax-tpu", shape: "v5ex4", count: 4, resource: tpu,
		starts: slices.Repeat([]string{"pip install --quiet jax[tpu]"}, 4),
		sees: []string{
			"JAX_COORDINATOR_ADDRESS=jax-tpu-0.jax-tpu:55527", "JAX_NUM_PROCESSES=4", "JAX_PROCESS_ID=%d", "TPU_WORKER_ID=%d",
			"TPU_WORKER_HOSTNAMES=jax-tpu-0.jax-tpu,jax-tpu-1.jax-tpu,jax-tpu-2.jax-tpu,jax-tpu-3.jax-tpu",
		},
	},
	{manifest: "allreduce/allreduce.yaml", placement: "allreduce", shape: "h100x8", count: 1, resource: gpu, starts: slices.Repeat([]string{""}, 6)},
}

func vllmStarts(head string) []string {
	all := "vllm serve deepseek-ai/DeepSeek-V3 --dtype bfloat16 --kv-cache-dtype bfloat16 --gpu-memory-utilization 0.9 --max-model-len 16384 " +
		"--max-num-seqs 1024 --max-num-batched-tokens 8192 --tensor-parallel-size 8 --pipeline-parallel-size 2 " +
		"--distributed-executor-backend mp --nnodes 2 --master-addr " + head + " --master-port 29501 --node-rank "
	return []string{all + "0", all + "1 --headless"}
}

// Each pod of an example is bound, asks for the devices of its ranks, mounts the files that the operator wrote, is reached
// by the name that they say, and starts its program with everything that it refers to.
func TestPodsOfExamplesStart(t *testing.T) {
	for i := range examples {
		e := &examples[i]
		t.Run(e.placement, func(t *testing.T) {
			w := newWorld(t, "example-"+e.placement)
			t.Cleanup(w.Clear)
			w.operate()
			w.addNodes(e.shape, e.count, e.resource)
			w.apply(path.Join("examples", e.manifest))
			pods := w.awaitBound(e.placement, len(e.starts))
			files := w.awaitFiles(e.placement)
			for index, pod := range pods {
				w.checkDevices(pod, e.resource)
				w.checkHost(pod, files)
				if e.starts[index] == "" {
					continue
				}
				output := w.start(pod, files, path.Join("examples", e.manifest))
				if first, _, _ := strings.Cut(output, "\n"); first != e.starts[index] {
					t.Errorf("pod %d starts\n%s\nwant\n%s", index, first, e.starts[index])
				}
				for _, variable := range e.sees {
					if strings.Contains(variable, "%d") {
						variable = fmt.Sprintf(variable, index)
					}
					if !strings.Contains(output, "\n"+variable+"\n") {
						t.Errorf("pod %d does not see %s:\n%s", index, variable, output)
					}
				}
			}
		})
	}
}

// The launcher of the MPIJob starts as many processes as there are ranks, on the hosts of its workers in their order.
func TestLauncherOfTheMPIJob(t *testing.T) {
	w := newWorld(t, "example-launcher")
	t.Cleanup(w.Clear)
	w.operate()
	w.addNodes("h100x8", 2, gpu)
	const manifest = "examples/launchers/mpi-mpijob.yaml"
	w.apply(manifest)
	workers := w.awaitBound("mpi", 2)
	files := w.awaitFiles("mpi")
	launcher := &corev1.Pod{}
	w.Must(w.Get(t.Context(), client.ObjectKey{Namespace: w.Home, Name: "mpi-launcher"}, launcher))
	if binding.Gated(launcher) {
		t.Error("the launcher waits for a place")
	}
	output := w.start(launcher, files, manifest)
	want := "mpirun -n 16 --hostfile FOLDER/copy-0.hostfile --map-by slot --bind-to none /opt/nccl_tests/build/all_reduce_perf -b 8 -e 1G -f 2 -g 1"
	if first, _, _ := strings.Cut(output, "\n"); first != want {
		t.Errorf("the launcher starts\n%s\nwant\n%s", first, want)
	}
	var hosts strings.Builder
	for _, pod := range workers {
		fmt.Fprintf(&hosts, "%s.%s slots=8\n", pod.Spec.Hostname, pod.Spec.Subdomain)
	}
	if diff := cmp.Diff(hosts.String(), files["copy-0.hostfile"]); diff != "" {
		t.Errorf("hosts (-workers +file):\n%s", diff)
	}
}

// The program of examples/allreduce finds the groups of its plan.
func TestGroupsOfAllreduce(t *testing.T) {
	w := newWorld(t, "example-groups")
	t.Cleanup(w.Clear)
	w.operate()
	w.addNodes("h100x8", 1, gpu)
	w.apply("examples/allreduce/allreduce.yaml")
	pods := w.awaitBound("allreduce", 6)
	groups, err := launch.ParseGroups([]byte(w.awaitFiles("allreduce")[launch.GroupsFile(0)]))
	w.Must(err)
	want := map[string][][]int32{"world": {{0, 1, 2, 3, 4, 5}}, "tp": {{0, 1}, {2, 3}, {4, 5}}, "dp": {{0, 2, 4}, {1, 3, 5}}}
	if diff := cmp.Diff(want, groups.Kinds); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
	for rank, pod := range pods {
		if pod.Annotations[binding.AnnotationRanks] != fmt.Sprint(rank) || pod.Labels[v1alpha1.LabelPlan] != groups.Plan {
			t.Errorf("pod %d has ranks %s of plan %s, and the groups are of %s", rank, pod.Annotations[binding.AnnotationRanks], pod.Labels[v1alpha1.LabelPlan], groups.Plan)
		}
	}
}

// apply applies a manifest: the placement first, and what makes pods when there is a mesh.
func (w *world) apply(manifest string) {
	w.Helper()
	for _, object := range w.read(manifest) {
		w.Must(controlplane.Apply(w.Context(), cluster.Config(), w.Home, object))
		object.SetNamespace(w.Home)
		w.Must(w.Get(w.Context(), client.ObjectKeyFromObject(object), object))
		w.act(object)
	}
}

// awaitBound waits until a placement has so many pods and each is bound, and returns them in order of index.
func (w *world) awaitBound(placement string, count int) []*corev1.Pod {
	w.Helper()
	var pods []*corev1.Pod
	w.Eventually(fmt.Sprintf("%d pods of %s are bound", count, placement), func(ctx context.Context) bool {
		var list corev1.PodList
		w.Must(w.List(ctx, &list, client.InNamespace(w.Home), client.MatchingLabels{v1alpha1.LabelPlacement: placement}))
		pods = make([]*corev1.Pod, count)
		for i := range list.Items {
			pod := &list.Items[i]
			for index := range pods {
				if pod.Labels[binding.LabelIndex] == fmt.Sprint(index) && !binding.Gated(pod) {
					pods[index] = pod
				}
			}
		}
		return len(list.Items) == count && !slices.Contains(pods, nil)
	})
	return pods
}

// awaitFiles waits until the files of a mesh are written, and returns them.
func (w *world) awaitFiles(placement string) map[string]string {
	w.Helper()
	w.Eventually("the files of "+placement+" are written", func(ctx context.Context) bool {
		mesh := &v1alpha1.DeviceMesh{}
		w.Must(w.Get(ctx, client.ObjectKey{Namespace: w.Home, Name: placement}, mesh))
		return meta.IsStatusConditionTrue(mesh.Status.Conditions, v1alpha1.ConditionLaunchable)
	})
	files := &corev1.ConfigMap{}
	w.Must(w.Get(w.Context(), client.ObjectKey{Namespace: w.Home, Name: launch.ConfigMapName(placement, 0)}, files))
	return files.Data
}

// checkDevices holds what a pod asks for to the devices that it is bound for.
func (w *world) checkDevices(pod *corev1.Pod, resource string) {
	w.Helper()
	devices := strings.Split(pod.Annotations[v1alpha1.AnnotationDevices], ",")
	var asked int64
	for name, quantity := range pod.Spec.Containers[0].Resources.Limits {
		if string(name) == resource || strings.HasPrefix(string(name), v1alpha1.Prefix+"slot-") {
			asked += quantity.Value()
		}
	}
	if asked != int64(len(devices)) {
		w.Errorf("pod %s asks for %d devices and is bound for %v", pod.Name, asked, devices)
	}
}

// checkHost says whether a pod is reached by a name of the files: by the host name and subdomain that the API server took,
// under a headless Service that selects the pod and lists it before it is ready.
func (w *world) checkHost(pod *corev1.Pod, files map[string]string) {
	w.Helper()
	host := pod.Spec.Hostname + "." + pod.Spec.Subdomain
	if text := strings.Join(slices.Collect(valuesOf(files)), "\n"); !strings.Contains(text, host) && pod.Labels[binding.LabelIndex] == "0" {
		w.Errorf("the files do not name %s, by which pod %s is reached", host, pod.Name)
	}
	service := &corev1.Service{}
	w.Must(w.Get(w.Context(), client.ObjectKey{Namespace: w.Home, Name: pod.Spec.Subdomain}, service))
	if service.Spec.ClusterIP != corev1.ClusterIPNone || !service.Spec.PublishNotReadyAddresses {
		w.Errorf("Service %s gives pods that are not ready no names", service.Name)
	}
	for key, value := range service.Spec.Selector {
		if pod.Labels[key] != value {
			w.Errorf("Service %s does not select pod %s: label %s is %q", service.Name, pod.Name, key, pod.Labels[key])
		}
	}
}
