package operator

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/go-logr/logr/testr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/operator"
	"github.com/rankwright/rankwright/controllers/placement"
	"github.com/rankwright/rankwright/pkg/plan"
)

// operate runs an operator without leader election until the test ends.
func (w world) operate(options operator.Options) {
	w.Helper()
	w.operateAs(cluster.Config(), options)
}

// operateAs is operate with the rights of a configuration.
func (w world) operateAs(config *rest.Config, options operator.Options) {
	w.Helper()
	options.Namespace, options.AgentNamespace = operatorNamespace, "rankwright-node-agent"
	options.HealthAddress, options.MetricsAddress = "0", "0"
	if options.Registry == nil {
		options.Registry = prometheus.NewRegistry()
	}
	if testing.Verbose() {
		options.Log = testr.New(w.T)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.Context()))
	mgr, err := operator.New(ctx, config, options)
	w.must(err)
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	w.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			w.Errorf("the operator ended with: %v", err)
		}
	})
}

// firstFit gives each copy the first free devices of one node, as many as spec.parallelism.tensor says. It stands for
// the planner where the test is about who gets devices and when, not about which.
func firstFit(cluster *plan.Cluster, request plan.Request) (*v1alpha1.ShardingPlanSpec, error) {
	tensor := 1
	if p := request.Placement.Spec.Parallelism; p != nil && p.Tensor != nil {
		tensor = int(*p.Tensor)
	}
	copies := int(*request.Placement.Spec.Replicas)
	spec := specOf(request.Placement.Name, 1, make([]string, tensor))
	spec.Nodes, spec.Strategy.Replicas = nil, int32(copies)
	spec.Model.Name, spec.Model.Architecture = request.Model.Name, request.Model.Architecture
	spec.Enforcement = request.Placement.Spec.Enforcement
	used := map[string]bool{}
	total := 0
	byNode := map[string][]v1alpha1.DeviceID{}
	for _, d := range cluster.Free() {
		byNode[d.Node] = append(byNode[d.Node], d.Device)
		total++
	}
	for _, name := range slices.Sorted(maps.Keys(byNode)) {
		for free := byNode[name]; len(free) >= tensor && len(spec.Nodes) < copies; free = free[tensor:] {
			spec.Nodes = append(spec.Nodes, v1alpha1.PlanRow{Node: name, Replica: int32(len(spec.Nodes)), Devices: free[:tensor]})
			used[name] = true
		}
	}
	if len(spec.Nodes) < copies {
		return nil, &plan.Unplaceable{
			Reason: plan.ReasonTooFewDevices, Message: fmt.Sprintf("%d copies of %d devices do not fit in %d free devices.", copies, tensor, total),
			Shortfall: v1alpha1.Shortfall{FreeDevices: int32(total)},
		}
	}
	spec.Totals = v1alpha1.PlanTotals{Devices: int32(tensor * copies), Nodes: int32(len(used)), Memory: "1 MiB"}
	return spec, nil
}

var _ placement.Planner = firstFit

// addNode makes a node with an inventory of so many healthy devices.
func (w world) addNode(name string, devices int) {
	w.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	w.must(w.Create(w.Context(), node))
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.1"}}
	w.must(w.Status().Update(w.Context(), node))
	inventory := &v1alpha1.AcceleratorInventory{ObjectMeta: metav1.ObjectMeta{Name: name}}
	w.must(w.Create(w.Context(), inventory))
	for i := range devices {
		inventory.Status.Devices = append(inventory.Status.Devices, v1alpha1.Device{
			ID: deviceID(i), Vendor: "nvidia", Family: v1alpha1.FamilyGPU, Product: "Test GPU",
			Memory: &v1alpha1.DeviceMemory{TotalMiB: 81920}, Health: v1alpha1.DeviceHealth{State: v1alpha1.Healthy},
		})
	}
	inventory.Status.AgentVersion = "test"
	w.must(w.Status().Update(w.Context(), inventory))
}

func deviceID(i int) v1alpha1.DeviceID {
	return v1alpha1.DeviceID(fmt.Sprintf("nvidia-0000:%02x:00.0", i))
}

// changeInventory changes the inventory of node n1.
func (w world) changeInventory(change func(*v1alpha1.AcceleratorInventory)) {
	w.Helper()
	var inventory v1alpha1.AcceleratorInventory
	w.must(w.Get(w.Context(), client.ObjectKey{Name: "n1"}, &inventory))
	changed := inventory.DeepCopy()
	change(changed)
	// The operator writes to the inventory as well: what it wrote meanwhile stays.
	w.must(w.Patch(w.Context(), changed.DeepCopy(), client.MergeFrom(&inventory)))
	w.must(w.Status().Patch(w.Context(), changed, client.MergeFrom(&inventory)))
}

// placementOf asks for copies of a small model on so many devices each.
func placementOf(name string, tensor, copies int32) *v1alpha1.ModelPlacement {
	architecture := smallArchitecture
	return &v1alpha1.ModelPlacement{
		ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: name},
		Spec: v1alpha1.ModelPlacementSpec{
			Model:       v1alpha1.ModelSource{Architecture: &architecture},
			Workload:    v1alpha1.Workload{Inference: &v1alpha1.InferenceWorkload{MaxModelLen: 128}},
			Parallelism: &v1alpha1.Parallelism{Tensor: &tensor},
			Replicas:    &copies,
		},
	}
}

func (w world) place(p *v1alpha1.ModelPlacement) *v1alpha1.ModelPlacement {
	w.Helper()
	w.must(w.Create(w.Context(), p))
	return p
}

// change edits the spec of placement llm.
func (w world) change(edit func(*v1alpha1.ModelPlacementSpec)) {
	w.Helper()
	w.eventually("the placement could be edited", func(ctx context.Context) bool {
		p := w.placement("llm")
		edit(&p.Spec)
		return w.Update(ctx, p) == nil
	})
}

func (w world) placement(name string) *v1alpha1.ModelPlacement {
	w.Helper()
	p := &v1alpha1.ModelPlacement{}
	w.must(w.Get(w.Context(), client.ObjectKey{Namespace: testNamespace, Name: name}, p))
	return p
}

// ready returns the placement's Ready condition once it speaks of the spec as it is.
func ready(p *v1alpha1.ModelPlacement) metav1.Condition {
	c := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionReady)
	if c == nil || p.Status.ObservedGeneration != p.Generation || c.ObservedGeneration != p.Generation {
		return metav1.Condition{}
	}
	return *c
}

// awaitReason waits until the placement's Ready condition has a reason, and returns the placement.
func (w world) awaitReason(name, reason string) *v1alpha1.ModelPlacement {
	w.Helper()
	var p *v1alpha1.ModelPlacement
	w.eventually(fmt.Sprintf("placement %s is %s", name, reason), func(context.Context) bool {
		p = w.placement(name)
		return ready(p).Reason == reason
	})
	return p
}

// awaitPlan waits until the placement is placed by a plan, and returns the plan.
func (w world) awaitPlan(name, planName string) *v1alpha1.ShardingPlan {
	w.Helper()
	w.eventually(fmt.Sprintf("placement %s is placed by %s", name, planName), func(context.Context) bool {
		p := w.placement(name)
		return ready(p).Status == metav1.ConditionTrue && p.Status.Plan == planName
	})
	found := &v1alpha1.ShardingPlan{}
	w.must(w.Get(w.Context(), client.ObjectKey{Namespace: testNamespace, Name: planName}, found))
	return found
}

func (w world) mesh(name string) *v1alpha1.DeviceMesh {
	w.Helper()
	mesh := &v1alpha1.DeviceMesh{}
	w.must(w.Get(w.Context(), client.ObjectKey{Namespace: testNamespace, Name: name}, mesh))
	return mesh
}

// remove deletes a placement and waits until its plans and mesh are gone.
func (w world) remove(name string) {
	w.Helper()
	w.must(w.Delete(w.Context(), &v1alpha1.ModelPlacement{ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: name}}))
	w.eventually("nothing is left of "+name, func(ctx context.Context) bool { return w.children(ctx, name) == 0 })
}

func (w world) children(ctx context.Context, name string) int {
	w.Helper()
	left := 0
	for _, list := range []client.ObjectList{&v1alpha1.ShardingPlanList{}, &v1alpha1.DeviceMeshList{}} {
		w.must(w.List(ctx, list, client.InNamespace(testNamespace), client.MatchingLabels{v1alpha1.LabelPlacement: name}))
		w.must(apiEach(list, func(client.Object) { left++ }))
	}
	return left
}
