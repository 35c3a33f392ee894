package planning

import (
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/sizing"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/holding"
	"github.com/rankwright/rankwright/pkg/launch"
	"github.com/rankwright/rankwright/pkg/mesh"
	"github.com/rankwright/rankwright/pkg/model"
	"github.com/rankwright/rankwright/pkg/plan"
	"github.com/rankwright/rankwright/pkg/plan/explain"
	"github.com/rankwright/rankwright/pkg/shape"
)

// decision is what became of a placement.
type decision struct {
	placement *v1alpha1.ModelPlacement
	// plan and mesh are set where there is a plan; failure where there is none.
	plan    *v1alpha1.ShardingPlan
	mesh    *v1alpha1.DeviceMesh
	failure error
	// hosts are the nodes of the inventories, free is how many devices the plan could choose from.
	hosts mesh.Hosts
	free  int
	// standing is what the placement has in the cluster.
	standing standing
	// on is the cluster that is planned on; nil where it is made of the snapshot.
	on *fleet.Cluster
	// why is set where an explanation is asked for.
	why *explain.Explanation
}

func (d *decision) name() string { return fullName(d.placement) }

// wanted returns an error where no copy is asked for.
func (d *decision) wanted() error {
	if n := d.placement.Spec.Replicas; n != nil && *n == 0 {
		return errors.New("spec.replicas is 0: there is nothing to plan; raise it")
	}
	return nil
}

// planAll plans every placement, one after the other. An error is a mistake in the input; that a model does not
// fit is a decision.
func planAll(m *Manifests, streams term.Streams, explained bool) ([]decision, error) {
	if err := Distinct(m); err != nil {
		return nil, err
	}
	m.site = sizing.SiteOf(m.Calibrations, streams)
	now := m.Snapshot()
	hosts := MeshHosts(m, now)
	decisions := make([]decision, len(m.Placements))
	for i := range m.Placements {
		d := &decisions[i]
		d.placement, d.hosts = &m.Placements[i], hosts
		setDefaults(d.placement)
		d.failure = d.decide(now, m, explained)
		if d.plan != nil && !d.standing.answers {
			held := *d.plan
			held.Namespace = NamespaceOf(d.plan)
			now.Hold(&held)
		}
	}
	return decisions, nil
}

// decide plans one placement, or says why there is no plan. A plan in force that answers the placement stays.
func (d *decision) decide(now *fleet.Snapshot, m *Manifests, explained bool) error {
	if err := d.wanted(); err != nil {
		return err
	}
	resolved, err := resolveModel(d.placement, m)
	if err != nil {
		return err
	}
	d.standing = m.standingOf(d.placement)
	if m.asIs && d.standing.inForce() == nil {
		return errNoPlan(d.placement)
	}
	if d.on == nil {
		d.on = now.Cluster(d.placement.UID, d.standing.own, d.standing.shuns)
	}
	on, request := d.on, d.request(now, m, resolved)
	d.free = len(on.Free())
	if d.standing.answers {
		d.plan = d.standing.inForce().DeepCopy()
		d.plan.TypeMeta, d.plan.ManagedFields = metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "ShardingPlan"}, nil
	} else {
		spec, err := plan.Plan(on, request)
		if err != nil {
			return err
		}
		d.plan = plan.Object(d.placement, spec, d.placement.Status.Revision+1)
	}
	if explained {
		if d.why, err = explain.Explain(on, request, &d.plan.Spec); err != nil {
			d.plan = nil
			return fmt.Errorf("explain the plan: %w", err)
		}
	}
	return d.rank()
}

// request is what the operator would ask of the planner.
func (d *decision) request(now *fleet.Snapshot, m *Manifests, resolved *model.Model) shape.Request {
	request := shape.Request{Placement: d.placement, Model: resolved, Site: m.site, Cause: d.standing.cause}
	if inForce := d.standing.inForce(); inForce != nil {
		request.Previous = &inForce.Spec
	}
	asks, tolerations := fleet.DemandOf(d.placement, m.podsOf(d.placement))
	request.Pods = launch.OnNodes(d.placement.Spec.Launch)
	request.Room, request.Tolerations = now.Room(d.name(), asks, m.usage()), tolerations
	return request
}

// rank makes the mesh of the plan. A plan whose devices cannot be ranked is none.
func (d *decision) rank() error {
	ranks, err := mesh.FromPlan(d.plan.Name, &d.plan.Spec, d.hosts)
	if err != nil {
		d.plan = nil
		return err
	}
	d.mesh = meshObject(d.placement, ranks)
	d.mesh.Status.SlowestLinks, err = mesh.SlowestLinks(ranks, d.hosts)
	return err
}

// refused returns the placement with the status that the operator would write where it does not fit; nil where it has no plan for
// another reason.
func (d *decision) refused() *v1alpha1.ModelPlacement {
	var why *plan.Unplaceable
	if !errors.As(d.failure, &why) {
		return nil
	}
	p := d.placement.DeepCopy()
	p.TypeMeta = metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "ModelPlacement"}
	p.Status = v1alpha1.ModelPlacementStatus{
		ObservedGeneration: p.Generation, Shortfall: why.Shortfall.DeepCopy(),
		Conditions: []metav1.Condition{{
			Type: v1alpha1.ConditionPlaced, Status: metav1.ConditionFalse, Reason: why.Reason, Message: why.Message, ObservedGeneration: p.Generation,
		}},
	}
	return p
}

// readModel reads the file of the only placement's model; without a file it does nothing.
func (m *Manifests) readModel(file string) error {
	if file == "" {
		return nil
	}
	if n := len(m.Placements); n != 1 {
		return term.Usagef("--model-file with %d placements: give exactly one ModelPlacement", n)
	}
	c, err := sizing.OpenCheckpoint(file)
	if err != nil {
		return err
	}
	if m.model, err = c.Model(); err != nil {
		return fmt.Errorf("model file %s: %w", file, err)
	}
	return nil
}

// resolveModel finds the placement's model.
func resolveModel(p *v1alpha1.ModelPlacement, m *Manifests) (*model.Model, error) {
	if m.model != nil {
		return m.model, nil
	}
	source := &p.Spec.Model
	set := 0
	for _, given := range []bool{source.Name != nil, source.Parameters != nil, source.Architecture != nil, source.ConfigMap != nil} {
		if given {
			set++
		}
	}
	if set != 1 {
		return nil, fmt.Errorf("spec.model has %d of name, parameters, architecture and configMap: set exactly one", set)
	}
	resolved, err := modelOf(p, m.configMaps)
	if err != nil {
		return nil, fmt.Errorf("spec.model: %w", err)
	}
	return resolved, nil
}

func modelOf(p *v1alpha1.ModelPlacement, configMaps []corev1.ConfigMap) (*model.Model, error) {
	ref := p.Spec.Model.ConfigMap
	if ref == nil {
		return model.FromSource(p.Name, &p.Spec.Model)
	}
	for i := range configMaps {
		c := &configMaps[i]
		if c.Name != ref.Name || NamespaceOf(c) != NamespaceOf(p) {
			continue
		}
		text, ok := c.Data[ref.Key]
		if !ok {
			return nil, fmt.Errorf("ConfigMap %q has no key %q: add it or name another key", ref.Name, ref.Key)
		}
		return model.FromConfig(ref.Name, []byte(text))
	}
	return nil, fmt.Errorf("ConfigMap %q of namespace %q is not in the files: add it", ref.Name, NamespaceOf(p))
}

// Snapshot is the cluster that is planned on: the one that was read, or that of the files, without the plans of placements that are planned
// anew. An inventory of the files without a Node stands for a node that is ready.
func (m *Manifests) Snapshot() *fleet.Snapshot {
	if m.live != nil {
		now := m.live.State.State
		now.Nodes, now.Pods, now.PodsUnknown = m.Nodes, slices.Clone(m.pods), !m.live.Sees(holding.Pods)
		return fleet.NewSnapshot(now)
	}
	now := fleet.State{Inventories: m.Inventories, Nodes: fleet.WithStandIns(m.Nodes, m.Inventories), PodsUnknown: true}
	anew := map[string]bool{}
	for i := range m.Placements {
		anew[fullName(&m.Placements[i])] = true
	}
	for _, p := range m.Plans {
		if p.Namespace = NamespaceOf(&p); !anew[p.Namespace+"/"+p.Spec.Placement.Name] {
			now.Plans = append(now.Plans, p)
		}
	}
	return fleet.NewSnapshot(now)
}

// podsOf returns the pods of a placement.
func (m *Manifests) podsOf(p *v1alpha1.ModelPlacement) []corev1.Pod {
	return slices.DeleteFunc(slices.Clone(m.pods), func(pod corev1.Pod) bool {
		return NamespaceOf(&pod) != NamespaceOf(p) || pod.Labels[v1alpha1.LabelPlacement] != p.Name
	})
}

// usage returns what the pods of the files ask of their nodes. Pods that were written by hand have no uid.
func (m *Manifests) usage() *fleet.Usage {
	var u fleet.Usage
	pods := m.pods
	if m.live != nil {
		pods = m.allPods
	}
	for _, pod := range pods {
		pod.Namespace = NamespaceOf(&pod)
		pod.UID = types.UID(pod.Namespace + "/" + pod.Name)
		u.Set(&pod)
	}
	return &u
}

// Distinct refuses two placements or two inventories of one name, which a cluster could not have.
func Distinct(m *Manifests) error {
	var names []string
	for i := range m.Inventories {
		names = append(names, "AcceleratorInventory "+m.Inventories[i].Name)
	}
	for i := range m.Placements {
		names = append(names, "ModelPlacement "+fullName(&m.Placements[i]))
	}
	seen := map[string]bool{}
	for _, name := range names {
		if seen[name] {
			return fmt.Errorf("%s is in the files twice: remove one", name)
		}
		seen[name] = true
	}
	return nil
}

// MeshHosts returns the nodes of the inventories.
func MeshHosts(m *Manifests, now *fleet.Snapshot) mesh.Hosts {
	hosts := mesh.Hosts{}
	for i := range m.Inventories {
		inventory := &m.Inventories[i]
		hosts[inventory.Name] = mesh.Host{Address: now.Host(inventory.Name).Address, Inventory: &inventory.Status}
	}
	return hosts
}

// meshObject returns the mesh as the operator would write it; it has the name of its placement.
func meshObject(p *v1alpha1.ModelPlacement, spec *v1alpha1.DeviceMeshSpec) *v1alpha1.DeviceMesh {
	return &v1alpha1.DeviceMesh{
		TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "DeviceMesh"},
		ObjectMeta: metav1.ObjectMeta{
			Name: p.Name, Namespace: p.Namespace,
			Labels: map[string]string{v1alpha1.LabelPlacement: p.Name, v1alpha1.LabelPlan: spec.Plan},
		},
		Spec: *spec,
	}
}
