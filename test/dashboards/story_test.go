package dashboards

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/binding"
	"github.com/rankwright/rankwright/pkg/mesh/verification"
	"github.com/rankwright/rankwright/test/controlplane"
	"github.com/rankwright/rankwright/test/operation"
	"github.com/rankwright/rankwright/test/process"
)

// story is a cluster in which everything happens that the dashboards ask for.
type story struct {
	*operation.World
	sites     map[string]*site
	operators map[string]string // addresses of their metrics, by name
	running   map[string]*process.Process
	token     string
}

// strangers is a namespace that has nothing to do with placements.
const strangers = "strangers"

func newStory(w *operation.World) *story {
	w.Helper()
	s := &story{World: w, sites: map[string]*site{}, operators: map[string]string{}, running: map[string]*process.Process{}}
	w.Confine()
	w.AllowRepairs()
	objects, err := controlplane.ReadConfig("dra/rights.yaml", "dra/device_class.yaml")
	w.Must(err)
	w.Must(controlplane.Apply(w.Context(), cluster.Config(), "", objects...))
	s.token, err = cluster.MetricsReader(w.Context())
	w.Must(err)
	w.Install(admissionv1.Fail)
	s.startOperator("operator-0", w.WebhookPort)
	w.AwaitWebhook()
	s.startOperator("operator-1", 0)
	for _, h := range hosts {
		s.sites[h.name] = startSite(w, h.name, h.recording, h.serves)
	}
	w.Eventually("every agent has published, and every target is scraped", func(ctx context.Context) bool {
		for _, site := range s.sites {
			inventory := &v1alpha1.AcceleratorInventory{}
			if w.Get(ctx, client.ObjectKey{Name: site.name}, inventory) != nil || meta.FindStatusCondition(inventory.Status.Conditions, v1alpha1.ConditionDetected) == nil {
				return false
			}
		}
		for _, address := range s.targets() {
			if status, _, _ := controlplane.Scrape(ctx, address, s.token); status != 200 {
				return false
			}
		}
		return true
	})
	return s
}

// targets are the addresses of all metrics, by the name of the instance.
func (s *story) targets() map[string]string {
	all := map[string]string{}
	for name, address := range s.operators {
		all[name] = address
	}
	for name, site := range s.sites {
		all["agent-"+name] = site.metrics
	}
	return all
}

func (s *story) startOperator(name string, webhookPort int) {
	s.Helper()
	config, err := cluster.ConfigForAccount(s.Context(), operation.Namespace, "rankwright-operator", nil)
	s.Must(err)
	folder := s.TempDir()
	told := child{Kubeconfig: filepath.Join(folder, "kubeconfig"), Metrics: freeAddress(s.World), WebhookPort: webhookPort}
	s.Must(controlplane.WriteKubeconfig(told.Kubeconfig, config))
	text, err := json.Marshal(told)
	s.Must(err)
	running, err := process.Start(process.Spec{
		Name: name, Path: os.Args[0], LogFile: filepath.Join(folder, "log"), Env: append(os.Environ(), childEnv+"="+string(text)),
	})
	s.Must(err)
	s.operators[name], s.running[name] = told.Metrics, running
	s.Cleanup(func() {
		running.Stop(10 * time.Second)
		if s.Failed() {
			s.Logf("the end of the log of %s:\n%s", name, running.LogTail(20))
		}
	})
}

// place makes a placement of Llama 3.1 8B on devices of a product, tensor of them.
func (s *story) place(name, product string, tensor int32, edit func(*v1alpha1.ModelPlacementSpec)) {
	s.Helper()
	p := s.PlacementOf(name, tensor, 1)
	model := "Llama-3.1-8B"
	p.Spec.Model = v1alpha1.ModelSource{Name: &model}
	p.Spec.Workload.Inference = &v1alpha1.InferenceWorkload{MaxModelLen: 4096, Objective: v1alpha1.ObjectiveLatency}
	p.Spec.Devices = &v1alpha1.DeviceRequirements{Products: []string{product}}
	p.Spec.Launch = &v1alpha1.Launch{DevicesPerPod: new(int32(1))}
	edit(&p.Spec)
	s.Must(s.Create(s.Context(), p))
}

func (s *story) placement(name string) *v1alpha1.ModelPlacement {
	s.Helper()
	p := &v1alpha1.ModelPlacement{}
	s.Must(s.Get(s.Context(), client.ObjectKey{Namespace: s.Home, Name: name}, p))
	return p
}

// awaitCondition waits until a condition of a placement has a status and, where one is given, a reason.
func (s *story) awaitCondition(name, kind string, status metav1.ConditionStatus, reason string) {
	s.Helper()
	s.Eventually(fmt.Sprintf("placement %s is %s %s %s", name, kind, status, reason), func(context.Context) bool {
		p := s.placement(name)
		c := meta.FindStatusCondition(p.Status.Conditions, kind)
		return c != nil && c.Status == status && (reason == "" || c.Reason == reason) && c.ObservedGeneration == p.Generation
	})
}

// runPods makes the pods of a placement, and runs them as a kubelet would when they are bound and scheduled. Their engine's metrics are at an
// address of this machine.
func (s *story) runPods(placement string, count int, engine string) []*corev1.Pod {
	s.Helper()
	at, err := url.Parse(engine)
	s.Must(err)
	port, err := strconv.ParseInt(at.Port(), 10, 32)
	s.Must(err)
	var pods []*corev1.Pod
	for i := range count {
		pod := s.podOf(placement, i)
		pod.Spec.Containers[0].Ports = []corev1.ContainerPort{{Name: "http", ContainerPort: int32(port)}}
		s.Must(s.Create(s.Context(), pod))
		pods = append(pods, pod)
	}
	for _, pod := range pods {
		s.Eventually("pod "+pod.Name+" is scheduled to its place", func(ctx context.Context) bool {
			s.Must(s.Get(ctx, client.ObjectKeyFromObject(pod), pod))
			return pod.Spec.NodeName != ""
		})
		began := metav1.Now()
		s.Change(pod, func() {
			pod.Status.Phase, pod.Status.StartTime, pod.Status.PodIP, pod.Status.PodIPs = corev1.PodRunning, &began, at.Hostname(), []corev1.PodIP{{IP: at.Hostname()}}
			pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue})
		})
	}
	return pods
}

// podOf is a pod for a place of a placement.
func (s *story) podOf(placement string, index int) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Home, Name: fmt.Sprintf("%s-%d", placement, index), Labels: map[string]string{
			v1alpha1.LabelPlacement: placement, binding.LabelIndex: strconv.Itoa(index),
		}},
		Spec: corev1.PodSpec{
			AutomountServiceAccountToken: new(bool), Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
			Containers: []corev1.Container{{Name: "model", Image: "model"}},
		},
	}
}

// holds has the kubelet of a pod's node say that the pod has the devices of its place, by the names that NVIDIA's plugin has for them.
func (s *story) holds(pod *corev1.Pod) {
	s.Helper()
	at := s.sites[pod.Spec.NodeName]
	mesh := &v1alpha1.DeviceMesh{}
	s.Must(s.Get(s.Context(), client.ObjectKey{Namespace: s.Home, Name: pod.Labels[v1alpha1.LabelPlacement]}, mesh))
	index, err := strconv.Atoi(pod.Labels[binding.LabelIndex])
	s.Must(err)
	at.kubelet.gives(pod.Namespace, pod.Name, "nvidia.com/gpu", at.uuid(s.World, mesh.Spec.Members[0].Devices[index]))
	at.agent.Poke()
}

// reports ends the verification of a pod with what it measured.
func (s *story) reports(pod *corev1.Pod, findings string) {
	s.Helper()
	outcome := "Verified"
	if findings != "" {
		outcome = "Failed"
	}
	message := fmt.Sprintf(`{"v":1,"plan":%q,"copy":0,"pod":%s,"outcome":%q,"groups":[{"kind":"tp","n":1,"mbps":9000,"planned":11000,"us":120}]%s}`,
		pod.Labels[v1alpha1.LabelPlan], pod.Labels[binding.LabelIndex], outcome, findings)
	s.Change(pod, func() {
		pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: verification.Container, Image: "i", State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{Reason: "Completed", Message: message},
		}}}
	})
}

const (
	h100  = "NVIDIA H100 80GB HBM3"
	l40s  = "NVIDIA L40S"
	mi    = "AMD Instinct MI300X OAM"
	intel = "Intel(R) Data Center GPU Max 1550"
)

// begin places models: one that will run, one that will move, one without pods, one that nothing can hold, and one that has room only when the one
// without pods is gone.
func (s *story) begin() {
	s.Helper()
	s.place("chat", h100, 2, func(spec *v1alpha1.ModelPlacementSpec) {
		spec.Verification = &v1alpha1.Verification{}
		spec.FailurePolicy.Action = v1alpha1.FailureHold // what is asked at the end is asked of the plan whose device failed, however long that takes
	})
	s.place("moves", l40s, 1, func(*v1alpha1.ModelPlacementSpec) {})
	s.place("empty", mi, 2, func(spec *v1alpha1.ModelPlacementSpec) { spec.ProgressDeadlineSeconds = new(int32(1)) })
	s.place("large", l40s, 4, func(spec *v1alpha1.ModelPlacementSpec) { spec.Replicas = new(int32(8)) })
	s.awaitCondition("empty", v1alpha1.ConditionPlaced, metav1.ConditionTrue, "")
	s.place("late", mi, 1, func(spec *v1alpha1.ModelPlacementSpec) { spec.Replicas = new(int32(7)) })
	for _, name := range []string{"chat", "moves"} {
		s.awaitCondition(name, v1alpha1.ConditionPlaced, metav1.ConditionTrue, "")
	}
	for _, name := range []string{"large", "late"} {
		s.awaitCondition(name, v1alpha1.ConditionPlaced, metav1.ConditionFalse, "")
	}
	s.awaitCondition("empty", v1alpha1.ConditionProgressing, metav1.ConditionFalse, "ProgressDeadlineExceeded")
}

// run runs the pods of placement chat, whose engine is slow and one of whose links is.
func (s *story) run() {
	s.Helper()
	planned := time.Duration(s.placement("chat").Status.Estimate.TPOTMicros.Value) * time.Microsecond
	engine := operation.NewVLLM(3*planned, 1)
	server := httptest.NewServer(engine)
	s.Cleanup(server.Close)
	pods := s.runPods("chat", 2, server.URL)
	for i, pod := range pods {
		s.holds(pod)
		s.reports(pod, []string{`,"findings":[{"reason":"LinkSlow","peer":1,"mbps":12,"expected":900}]`, ""}[i])
	}
	s.awaitCondition("chat", v1alpha1.ConditionReady, metav1.ConditionTrue, "")
	s.awaitCondition("chat", v1alpha1.ConditionAsEstimated, metav1.ConditionFalse, "Slower")
	s.Eventually("the slow link is found", func(ctx context.Context) bool {
		mesh := &v1alpha1.DeviceMesh{}
		s.Must(s.Get(ctx, client.ObjectKey{Namespace: s.Home, Name: "chat"}, mesh))
		return len(mesh.Status.Findings) > 0
	})
}

// move gives placement moves another plan, which evicts its pod, and runs the pods of that.
func (s *story) move() {
	s.Helper()
	pod := s.runPods("moves", 1, "http://127.0.0.1:1")[0]
	p := s.placement("moves")
	s.Change(p, func() { p.Spec.Parallelism.Tensor = new(int32(2)) })
	s.Eventually("the pod of the first plan is evicted", func(ctx context.Context) bool {
		return s.Get(ctx, client.ObjectKeyFromObject(pod), pod) != nil || pod.DeletionTimestamp != nil
	})
	s.Must(client.IgnoreNotFound(s.Delete(s.Context(), pod, client.GracePeriodSeconds(0))))
	s.Eventually("the pod is gone", func(ctx context.Context) bool {
		return apierrors.IsNotFound(s.Get(ctx, client.ObjectKeyFromObject(pod), pod))
	})
	pods := s.runPods("moves", 2, "http://127.0.0.1:1")
	s.awaitCondition("moves", v1alpha1.ConditionReady, metav1.ConditionTrue, "")
	s.strays(pods[0])
	s.awaitCondition("moves", v1alpha1.ConditionDrifted, metav1.ConditionTrue, "DevicesDiffer")
}

// strays has the kubelet of a pod's node say that the pod has a device that no rank has.
func (s *story) strays(pod *corev1.Pod) {
	s.Helper()
	at := s.sites[pod.Spec.NodeName]
	mesh := &v1alpha1.DeviceMesh{}
	s.Must(s.Get(s.Context(), client.ObjectKey{Namespace: s.Home, Name: pod.Labels[v1alpha1.LabelPlacement]}, mesh))
	devices := at.devices(s.World)
	other := slices.IndexFunc(devices, func(d v1alpha1.Device) bool { return !slices.Contains(mesh.Spec.Members[0].Devices, d.ID) })
	at.kubelet.gives(pod.Namespace, pod.Name, "nvidia.com/gpu", at.uuid(s.World, devices[other].ID))
	at.agent.Poke()
}

// intrude has strangers take what is planned for others, and what nothing names.
func (s *story) intrude() {
	s.Helper()
	amd, nvidia := s.sites["mi300x-0"], s.sites["h100-0"]
	const resource = "rankwright.dev/amd-gpu"
	mesh := &v1alpha1.DeviceMesh{}
	s.Must(s.Get(s.Context(), client.ObjectKey{Namespace: s.Home, Name: "empty"}, mesh))
	planned := string(mesh.Spec.Members[0].Devices[0])
	s.Eventually("the kubelet has the plugin", func(ctx context.Context) bool {
		plugin := amd.kubelet.plugin(resource)
		if plugin == nil {
			return false
		}
		_, err := plugin.Allocate(ctx, &pluginapi.AllocateRequest{ContainerRequests: []*pluginapi.ContainerAllocateRequest{{DevicesIds: []string{planned}}}})
		return err == nil
	})
	amd.kubelet.gives(strangers, "stranger", resource, planned)
	nvidia.kubelet.gives(strangers, "unknown", "nvidia.com/gpu", "GPU-00000000-0000-4000-8000-00000000ffff")
	for site, shows := range map[*site]string{amd: `rankwright_device_pod_info{pod="stranger"}`, nvidia: `rankwright_node_agent_unknown_allocated_devices`} {
		site.agent.Poke()
		s.Eventually("the agent of "+site.name+" knows of the stranger", func(ctx context.Context) bool { return s.now(ctx, site.metrics, shows) > 0 })
	}
}

// fail has NVIDIA's driver tell that two GPUs have fallen off the bus: one that placement chat has, and one that nobody has.
func (s *story) fail() {
	s.Helper()
	mesh := &v1alpha1.DeviceMesh{}
	s.Must(s.Get(s.Context(), client.ObjectKey{Namespace: s.Home, Name: "chat"}, mesh))
	at, used := s.sites["h100-0"], mesh.Spec.Members[0].Devices
	devices := at.devices(s.World)
	free := slices.IndexFunc(devices, func(d v1alpha1.Device) bool { return !slices.Contains(used, d.ID) })
	for _, d := range devices {
		if d.ID == used[0] || d.ID == devices[free].ID {
			at.errors.Lines <- fmt.Sprintf(`{"pci":%q,"type":"XID","xid":79}`, d.PCI.Address)
		}
	}
	s.Eventually("the GPUs are unhealthy, and the operator knows", func(ctx context.Context) bool {
		_, text, err := controlplane.Scrape(ctx, s.operators["operator-0"], s.token)
		return err == nil && has(text, `rankwright_devices{health="Unhealthy",holder="plan",vendor="nvidia"} 1`) && has(text, `rankwright_devices{health="Unhealthy",holder="none",vendor="nvidia"} 1`)
	})
}

// look has every agent detect once more.
func (s *story) look() {
	s.Helper()
	for _, site := range s.sites {
		if site.name != "h100-0" { // what its driver told of would be looked at again
			site.agent.Rescan()
		}
	}
	s.Eventually("every agent has looked", func(ctx context.Context) bool {
		for _, site := range s.sites {
			_, text, err := controlplane.Scrape(ctx, site.metrics, s.token)
			if site.name != "h100-0" && (err != nil || !has(text, fmt.Sprintf(`rankwright_node_agent_scans_total{node=%q,trigger="signal"} 1`, site.name))) {
				return false
			}
		}
		return true
	})
}
