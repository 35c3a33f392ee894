package live

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/operator"
	"github.com/rankwright/rankwright/controllers/placement"
	"github.com/rankwright/rankwright/internal/cli"
	"github.com/rankwright/rankwright/internal/cli/clitest"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/pkg/binding"
	"github.com/rankwright/rankwright/pkg/why"
	"github.com/rankwright/rankwright/test/controlplane"
	"github.com/rankwright/rankwright/test/operation"
)

// situation is a cluster in which a pod is pending, and what the plugin says of it.
type situation struct {
	name string
	// hosts are recordings of the nodes NAME-0, NAME-1, …, which are the placement's alone.
	hosts []string
	// edit is what the placement asks for beside its nodes.
	edit func(*v1alpha1.ModelPlacementSpec)
	// before prepares the nodes.
	before func(*world, *situation)
	// What is answered: a reason, the first command, and words of the first evidence.
	reason, command, evidence string
	// meanwhile is what the node does once the command is given: its kubelet, agent and driver are played.
	meanwhile func(*world, *situation)
	// then is the command that is answered after the first one, where that alone does not end the cause.
	then string
	// shown says that the page of the plugin has the answer.
	shown bool
}

const (
	l40s   = "nvidia-l40s-4"
	h100   = "nvidia-h100-8"
	mi300x = "amd-mi300x-8"
	// waiting is the namespace of pods that are pending, poor one that may have two devices.
	waiting = "team-c"
	poor    = "team-poor"
)

func tensor(n int32) func(*v1alpha1.ModelPlacementSpec) {
	return func(s *v1alpha1.ModelPlacementSpec) { s.Parallelism = &v1alpha1.Parallelism{Tensor: &n} }
}

// situations are why pods are pending.
var situations = []situation{
	{
		name: "stranger", hosts: []string{l40s}, edit: tensor(4), before: func(w *world, s *situation) { w.takeDevice(s.name+"-0", "notebook-0") },
		reason: "TakenByStrangers", command: "kubectl delete pod notebook-0 -n team-b", evidence: "pod team-b/notebook-0 holds nvidia-0000:81:00.0 of stranger-0", shown: true,
		meanwhile: func(w *world, s *situation) { w.endPod("team-b", "notebook-0", s.name+"-0") },
	},
	{
		name: "unhealthy", hosts: []string{h100}, edit: tensor(8), before: func(w *world, s *situation) { w.spoilDevice(s.name + "-0") },
		reason: "Unhealthy", command: "kubectl drain unhealthy-0", evidence: "nvidia-0000:52:00.0 is Unhealthy: XID79, GPU has fallen off the bus",
		meanwhile: func(w *world, s *situation) { w.mendDevice(s.name + "-0") }, then: "kubectl uncordon unhealthy-0",
	},
	{
		name: "links", hosts: []string{l40s, l40s}, edit: tensor(8),
		reason: "NoLinkDomain", command: "kubectl patch mp links", evidence: "8 devices free, of which at most 4 reach each other",
	},
	{
		name: "vendor", hosts: []string{mi300x}, edit: func(s *v1alpha1.ModelPlacementSpec) { s.Engine = v1alpha1.EngineTensorRTLLM },
		reason: "WrongEngine", command: "kubectl patch mp vendor", evidence: "engine does not run",
	},
	{
		name: "quota", hosts: []string{l40s, l40s}, edit: tensor(4), before: func(w *world, s *situation) { w.placeBeside(s, "smaller", tensor(2)) },
		reason: "QuotaExceeded", command: "kubectl patch mp smaller -n team-poor", evidence: "The plan needs 4 devices. This namespace may have 4 in plans, of which its other plans hold 2",
	},
	{
		name: "claim", hosts: []string{l40s}, edit: func(s *v1alpha1.ModelPlacementSpec) { tensor(4)(s); s.Enforcement = v1alpha1.EnforcementClaim },
		before: func(w *world, s *situation) { w.offerDevices(s.name + "-0") },
		reason: "ClaimTaken", command: "kubectl delete pods other -n team-c", evidence: "nvidia-0000:01:00.0 is gpu-0 of pool claim-0, which is allocated to claim team-c/other",
		meanwhile: func(w *world, s *situation) { w.endPod(waiting, "other", s.name+"-0"); w.freeClaim("other") },
	},
	{
		name: "drained", hosts: []string{mi300x}, edit: tensor(4), before: func(w *world, s *situation) { w.cordonNode(s.name + "-0") },
		reason: "NodeDrained", command: "kubectl uncordon drained-0", evidence: "spec.unschedulable of node drained-0 is true", shown: true,
	},
	{
		name: "large", hosts: []string{l40s}, edit: func(s *v1alpha1.ModelPlacementSpec) {
			name := "Llama-3.1-405B"
			s.Model = v1alpha1.ModelSource{Name: &name}
		},
		reason: "TooLarge", command: "kubectl edit mp large", evidence: "Llama-3.1-405B does not fit",
	},
}

func TestWhyPodsArePending(t *testing.T) {
	w := &world{World: operation.New(t, cluster, waiting), kubeconfig: cluster.Kubeconfig(), kubeconfigs: t.TempDir()}
	w.Install(admissionv1.Fail)
	t.Cleanup(w.clear)
	for _, name := range []string{"team-b", poor} {
		w.Must(client.IgnoreAlreadyExists(w.Create(w.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})))
	}
	tenants, err := placement.ParseTenants([]byte("- namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: " + poor + "}}\n  devices: 4\n"))
	w.Must(err)
	w.RunOperator(operator.Options{Webhook: w.Webhook(), Tenants: tenants})
	w.AwaitWebhook()
	for i := range situations {
		s := &situations[i]
		t.Run(s.name, func(t *testing.T) {
			own := *w.World
			own.T = t
			s.try(&world{&own, w.kubeconfig, w.kubeconfigs})
		})
	}
}

// namespace is where the placement and the pod of a situation are.
func (s *situation) namespace() string {
	if s.name == "quota" {
		return poor
	}
	return waiting
}

// try makes the situation, asks why its pod is pending, and does what the answers say until it is not.
func (s *situation) try(w *world) {
	for i, recording := range s.hosts {
		w.addRecorded(s.name+"-"+string(rune('0'+i)), recording, s.name)
	}
	if s.before != nil {
		s.before(w, s)
	}
	pod := w.pend(s)
	ask := []string{"why", "pod/" + pod.Name, "-n", pod.Namespace}
	var got why.Answer
	w.Cleanup(func() {
		if w.Failed() {
			w.Logf("the answer was %+v", got)
		}
	})
	w.Eventually("the pod's cause is "+s.reason, func(context.Context) bool {
		got = clitest.Object[why.Answer](w.T, w.asks(append(ask, "-o", "json")...))
		return got.Reason == s.reason && len(got.Evidence) > 0 && strings.Contains(got.Evidence[0], s.evidence) &&
			len(got.Commands) > 0 && strings.HasPrefix(got.Commands[0], s.command)
	})
	const least = 80
	text := w.checked(w.run(least, w.kubeconfig, ask...), ask)
	clitest.Narrow(w.T, strings.Join(ask, " "), text, least, "Try:", "kubectl ")
	head := strings.Join(strings.SplitN(text, "\n", 6)[:5], "\n")
	for _, part := range []string{"Cause:   ", "\nTry:     " + s.command, "\nSeen:    " + strings.Join(strings.Fields(got.Evidence[0])[:2], " ")} {
		if !strings.Contains(head, part) {
			w.Errorf("the first five lines do not have %q:\n%s", part, text)
		}
	}
	w.same("of its placement", got.Cause, strings.TrimSpace(w.asks("why", "mp/"+s.name, "-n", s.namespace(), "-o", "jsonpath={.cause}")))
	if s.shown {
		page := w.page()
		page.Show(w.T, strings.Join(ask, " "), w.asks(ask...))
		page.Hold(w.T, "kubectl")
	}
	s.end(w, got.Commands[0], ask)
}

// end does what the answers say until the placement has devices.
func (s *situation) end(w *world, command string, ask []string) {
	w.kubectl(command, func() {
		if s.meanwhile != nil {
			s.meanwhile(w, s)
		}
	})
	if s.then != "" {
		w.Eventually("the answer is "+s.then, func(context.Context) bool {
			return strings.HasPrefix(w.asks(append(ask, "-o", "jsonpath={.commands[0]}")...), s.then)
		})
		w.kubectl(s.then)
	}
	w.Eventually("the placement has devices", func(ctx context.Context) bool {
		p := &v1alpha1.ModelPlacement{}
		w.Must(w.Get(ctx, client.ObjectKey{Namespace: s.namespace(), Name: s.name}, p))
		return meta.IsStatusConditionTrue(p.Status.Conditions, v1alpha1.ConditionPlaced)
	})
}

// pend makes the placement of a situation and a pod of it, and waits until the operator has decided.
func (w *world) pend(s *situation) *corev1.Pod {
	w.Helper()
	p := w.placeBeside(s, s.name, s.edit)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: s.name + "-pod", Labels: map[string]string{v1alpha1.LabelPlacement: s.name, binding.LabelIndex: "0"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "engine", Image: "engine"}}, Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}}},
	}
	if p.Spec.Enforcement != v1alpha1.EnforcementClaim { // a pod that asks for devices by their number may come before there is a plan
		pod.Spec.Containers[0].Resources.Limits = corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("4")}
	}
	w.Must(w.Create(w.Context(), pod))
	return pod
}

// placeBeside makes a placement on the hosts of a situation, and waits until the operator has decided.
func (w *world) placeBeside(s *situation, name string, edit func(*v1alpha1.ModelPlacementSpec)) *v1alpha1.ModelPlacement {
	w.Helper()
	p := w.example("single")
	p.Name, p.Namespace = name, s.namespace()
	p.Spec.Devices = &v1alpha1.DeviceRequirements{NodeLabelSelector: &v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"pool": v1alpha1.LabelValue(s.name)}}}
	edit(&p.Spec)
	w.Must(w.Create(w.Context(), p))
	w.Eventually("placement "+name+" is decided", func(ctx context.Context) bool {
		w.Must(w.Get(ctx, client.ObjectKeyFromObject(p), p))
		placed := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionPlaced)
		return placed != nil && placed.Reason != "Planning" && (placed.Status == metav1.ConditionFalse || p.Status.Mesh != "")
	})
	return p
}

// kubectl runs a command as a shell would, as the administrator, whose editor takes a smaller model. What happens meanwhile is played.
func (w *world) kubectl(command string, meanwhile ...func()) {
	w.Helper()
	folder, err := controlplane.FindAssets()
	w.Must(err)
	run := exec.CommandContext(w.Context(), "sh", "-c", command)
	run.Env = append(os.Environ(), "KUBECONFIG="+w.kubeconfig, "PATH="+folder+":"+os.Getenv("PATH"), "KUBE_EDITOR=sed -i s/Llama-3.1-405B/Llama-3.1-8B/")
	var out bytes.Buffer
	run.Stdout, run.Stderr = &out, &out
	w.Must(run.Start())
	for _, play := range meanwhile {
		play()
	}
	if err := run.Wait(); err != nil {
		w.Fatalf("%s: %v: %s", command, err, bytes.TrimSpace(out.Bytes()))
	}
}

// whyOf asks of things that are well, of names that are not there, and with what is seen.
func whyOf(w *world) {
	for about, want := range map[string]string{
		"mp/single -n team-a":                "Running",
		"mp/tensor -n team-a":                "NoPods",
		"pod/single-0 -n team-a":             "Running",
		"node/h100-0":                        "TakesWork",
		"node/mi300x-0":                      "Cordoned",
		"device/mi300x-0/amd-0000:27:00.0":   "Idle",
		"device/mi300x-0/amd-0000:a7:00.0":   "Cordoned",
		"device/mi300x-0/amd-0000:c7:00.0":   "Unhealthy",
		"device/mi300x-0/amd-0000:e5:00.0":   "TakenByStranger",
		"device/mi300x-0/amd-0000:05:00.0":   "InUse",
		"device/nvidia-0000:1b:00.0":         "Reserved",
		"device/h100-0/nvidia-0000:1b:00.0 ": "Reserved",
	} {
		args := append([]string{"why"}, strings.Fields(about)...)
		w.same(about, want, strings.TrimSpace(w.asks(append(args, "-o", "jsonpath={.reason}")...)))
	}
	for about, want := range map[string]string{
		"mp/tensro -n team-a": "there is no placement tensro in namespace team-a: did you mean tensor",
		"pod/none":            "there is no pod none in namespace default: name the namespace with -n",
		"node/h100":           "there is no node h100: did you mean h100-0",
		"device/x":            "no node, or more than one, has a device x",
		"svc/x":               `"svc/x": name mp/NAME or pod/NAME or node/NAME or device/NODE/ID`,
	} {
		if r := w.run(0, w.kubeconfig, append([]string{"why"}, strings.Fields(about)...)...); r.Code == term.ExitOK || !strings.Contains(r.Err, want) {
			w.Errorf("%s: exit code %d, errors %q; want %q", about, r.Code, r.Err, want)
		}
	}
	tenant := w.run(0, w.of("tenant"), "why", "mp/too-large", "-n", home)
	if tenant.Code != term.ExitOK || !strings.HasPrefix(tenant.Out, "Cause:   The model is too large: one copy needs") || !strings.Contains(tenant.Out, "Not permitted: acceleratorinventories, nodes, leases") {
		w.Errorf("a tenant: exit code %d, errors %q, output %s", tenant.Code, tenant.Err, tenant.Out)
	}
}

// whyTells asks for what takes long by its clock: the user is told what is waited for. A question may be answered before any time has passed.
func whyTells(w *world) {
	var errs bytes.Buffer
	var seconds atomic.Int64
	passed := make(chan time.Time)
	close(passed)
	streams := term.Streams{
		In: strings.NewReader(""), Out: io.Discard, Err: &errs, After: func(time.Duration) <-chan time.Time { return passed },
		Now: func() time.Time { return time.Unix(seconds.Add(1), 0) },
	}
	code := cli.Run(w.Context(), []string{"why", "mp/too-large", "-n", home, "--kubeconfig", w.kubeconfig}, streams)
	want := regexp.MustCompile(`(?m)^the planner is asked what would be if something were otherwise, question \d+, for \d+s so far$`)
	if code != term.ExitOK || !want.MatchString(errs.String()) {
		w.Errorf("exit code %d, errors %q; want %q", code, errs.String(), want)
	}
}
