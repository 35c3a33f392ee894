package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/binding"
)

// players play who else is in a cluster: workloads that make the pods of placements, the scheduler, and on every node kubelet and agent. They
// look at everything a few times a second and do what they can: what fails is tried again.
type players struct {
	client client.Client
	random *rand.Rand

	mu sync.Mutex
	// running is what kubelets run, whatever the API server knows: pods by uid.
	running map[types.UID]*container
	absent  bool // kubelets and agents do nothing
	found   []string
	leaving map[types.UID]int // how many looks at a pod until it has ended
}

// container is a pod as its kubelet runs it.
type container struct {
	name    types.NamespacedName
	node    string
	devices []v1alpha1.DeviceID
	of      string // uid of the placement
}

const look = 150 * time.Millisecond

func newPlayers(c client.Client, seed uint64) *players {
	return &players{client: c, random: rand.New(rand.NewPCG(seed, 2)), running: map[types.UID]*container{}, leaving: map[types.UID]int{}}
}

// run plays until the context ends.
func (p *players) run(ctx context.Context) {
	for pause(ctx, look) {
		p.play(ctx)
	}
}

// stay has kubelets and agents away, as if they were killed.
func (p *players) stay(away bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.absent = away
}

// take returns what was found since the last time.
func (p *players) take() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	found := p.found
	p.found = nil
	return found
}

// containers returns what runs now.
func (p *players) containers() map[types.UID]container {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := map[types.UID]container{}
	for uid, c := range p.running {
		all[uid] = *c
	}
	return all
}

// play looks once, at all but plans, and does what there is to do.
func (p *players) play(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	s := &sight{}
	for _, list := range []client.ObjectList{&s.placements, &s.meshes, &s.pods, &s.inventories} {
		if p.client.List(ctx, list, client.UnsafeDisableDeepCopy) != nil {
			return
		}
	}
	p.workloads(ctx, s)
	p.schedule(ctx, s)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.absent {
		return
	}
	p.kubelets(ctx, s)
	p.agents(ctx, s)
}

// workloads makes the pods of every mesh, and ends those of placements that have none, or are gone, at a moment of their own: without a plan the
// operator evicts nothing, and what pods hold is not planned for others, their own placement included.
func (p *players) workloads(ctx context.Context, s *sight) {
	there, placed, meshed := map[types.NamespacedName]bool{}, map[types.NamespacedName]bool{}, map[types.NamespacedName]bool{}
	for i := range s.pods.Items {
		there[client.ObjectKeyFromObject(&s.pods.Items[i])] = true
	}
	for i := range s.placements.Items {
		placed[client.ObjectKeyFromObject(&s.placements.Items[i])] = true
	}
	for i := range s.meshes.Items {
		mesh := &s.meshes.Items[i]
		of := client.ObjectKeyFromObject(mesh)
		meshed[of] = placed[of]
		for index := range places(mesh) {
			key := types.NamespacedName{Namespace: mesh.Namespace, Name: fmt.Sprintf("%s-%d", mesh.Name, index)}
			if meshed[of] && !there[key] {
				_ = p.client.Create(ctx, podOf(key, mesh.Name, index))
			}
		}
	}
	for i := range s.pods.Items {
		pod := &s.pods.Items[i]
		of := types.NamespacedName{Namespace: pod.Namespace, Name: pod.Labels[v1alpha1.LabelPlacement]}
		if pod.DeletionTimestamp.IsZero() && !meshed[of] && p.random.IntN(8) == 0 {
			_ = p.client.Delete(ctx, pod)
		}
	}
}

// places is how many pods a mesh has: one of each copy on each node.
func places(mesh *v1alpha1.DeviceMesh) int {
	has := map[string]bool{}
	for i := range mesh.Spec.Members {
		m := &mesh.Spec.Members[i]
		has[fmt.Sprint(m.Replica, " ", m.Node)] = true
	}
	return len(has)
}

func podOf(key types.NamespacedName, placement string, index int) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, Labels: map[string]string{
			v1alpha1.LabelPlacement: placement, binding.LabelIndex: strconv.Itoa(index),
		}},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "model", Image: "model"}}, Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
		},
	}
}

// slotsOf are the slots that a pod asks for.
func slotsOf(pod *corev1.Pod) []string {
	var asked []string
	for name := range pod.Spec.Containers[0].Resources.Limits {
		if strings.HasPrefix(string(name), v1alpha1.SlotPrefix) {
			asked = append(asked, string(name))
		}
	}
	slices.Sort(asked)
	return asked
}

// schedule sends pods that wait for nothing else to their nodes, where these have the slots that they ask for, and nobody else asks for them.
func (p *players) schedule(ctx context.Context, s *sight) {
	taken, offered := map[string]bool{}, map[string]bool{}
	for i := range s.pods.Items {
		for _, slot := range slotsOf(&s.pods.Items[i]) {
			taken[s.pods.Items[i].Spec.NodeName+" "+slot] = true
		}
	}
	for i := range s.inventories.Items {
		for _, slot := range s.inventories.Items[i].Status.Slots {
			offered[s.inventories.Items[i].Name+" "+slot.Resource] = true
		}
	}
	for i := range s.pods.Items {
		pod := &s.pods.Items[i]
		node := pod.Annotations[binding.AnnotationNode]
		if pod.Spec.NodeName != "" || len(pod.Spec.SchedulingGates) > 0 || node == "" || !pod.DeletionTimestamp.IsZero() {
			continue
		}
		fits := !slices.ContainsFunc(slotsOf(pod), func(slot string) bool { return taken[node+" "+slot] || !offered[node+" "+slot] })
		if !fits {
			continue
		}
		for _, slot := range slotsOf(pod) {
			taken[node+" "+slot] = true
		}
		_ = p.client.SubResource("binding").Create(ctx, pod, &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: node}})
	}
}

// kubelets run what is bound to their nodes, end what is to end after a while, and what the API server does not know at once.
func (p *players) kubelets(ctx context.Context, s *sight) {
	known := map[types.UID]bool{}
	for i := range s.pods.Items {
		known[s.pods.Items[i].UID] = true
	}
	for uid := range p.running {
		if !known[uid] {
			delete(p.running, uid)
		}
	}
	for i := range s.pods.Items {
		pod := &s.pods.Items[i]
		switch {
		case pod.Spec.NodeName == "":
		case !pod.DeletionTimestamp.IsZero():
			p.leaving[pod.UID]++
			if p.leaving[pod.UID] > p.random.IntN(6) {
				delete(p.running, pod.UID)
				delete(p.leaving, pod.UID)
				_ = p.client.Delete(ctx, pod, client.GracePeriodSeconds(0), client.Preconditions{UID: &pod.UID})
			}
		case p.running[pod.UID] == nil:
			p.runPod(pod, s)
		}
		if pod.DeletionTimestamp.IsZero() && p.running[pod.UID] != nil && pod.Status.Phase != corev1.PodRunning {
			before := client.MergeFrom(pod.DeepCopy())
			pod.Status.Phase, pod.Status.Conditions = corev1.PodRunning, []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
			_ = p.client.Status().Patch(ctx, pod, before)
		}
	}
}

// runPod gives a pod the devices of its slots, as a kubelet does by what the agent offers.
func (p *players) runPod(pod *corev1.Pod, s *sight) {
	made := &container{name: client.ObjectKeyFromObject(pod), node: pod.Spec.NodeName, of: pod.Annotations[v1alpha1.AnnotationPlacementUID]}
	for i := range s.inventories.Items {
		for _, slot := range s.inventories.Items[i].Status.Slots {
			if s.inventories.Items[i].Name == made.node && slices.Contains(slotsOf(pod), slot.Resource) {
				made.devices = append(made.devices, slot.Device)
			}
		}
	}
	if len(made.devices) < len(slotsOf(pod)) {
		return // the agent does not offer them yet, or any more
	}
	for _, other := range p.running {
		for _, device := range made.devices {
			if other.node == made.node && slices.Contains(other.devices, device) {
				p.found = append(p.found, fmt.Sprintf("pod %s is given device %s of node %s, which pod %s has", made.name, device, made.node, other.name))
			}
		}
	}
	p.running[pod.UID] = made
}

// agents report which pod has which device.
func (p *players) agents(ctx context.Context, s *sight) {
	held := map[string][]v1alpha1.Allocation{}
	for _, c := range p.running {
		for _, device := range c.devices {
			held[c.node] = append(held[c.node], v1alpha1.Allocation{Device: device, Namespace: c.name.Namespace, Pod: c.name.Name, Container: "model"})
		}
	}
	for i := range s.inventories.Items {
		inventory := &s.inventories.Items[i]
		now := held[inventory.Name]
		slices.SortFunc(now, func(a, b v1alpha1.Allocation) int { return strings.Compare(string(a.Device), string(b.Device)) })
		if equality.Semantic.DeepEqual(now, inventory.Status.Allocations) || len(now)+len(inventory.Status.Allocations) == 0 {
			continue
		}
		before := client.MergeFrom(inventory.DeepCopy())
		inventory.Status.Allocations = now
		_ = p.client.Status().Patch(ctx, inventory, before)
	}
}
