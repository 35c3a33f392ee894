package nodeagent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/clock"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect"
	"github.com/rankwright/rankwright/pkg/inventory"
	"github.com/rankwright/rankwright/pkg/nodeagent/podresources"
)

// publisher writes what was detected to the API server.
type publisher struct {
	client  dynamic.Interface
	node    string
	version string
	clock   clock.PassiveClock
	// last is the status published last by this process; it stands in for one that the API server has lost.
	last v1alpha1.AcceleratorInventoryStatus
	// servers serve devices to the kubelet; there are none where none are served. spec is the one read last, and spoken says
	// that there was one.
	servers servers
	spec    v1alpha1.AcceleratorInventorySpec
	spoken  bool
	// merged is the number of the scan that was merged last, and memoryAt when memory use was last changed.
	merged   int64
	memoryAt time.Time
	health   *deviceHealth

	labels  labelKeeper
	kubelet kubeletView
	// held are the allocations that the next merge publishes; nil leaves those published before.
	held *[]v1alpha1.Allocation
}

// detection is what a scan saw; scans are numbered from 1.
type detection struct {
	status v1alpha1.AcceleratorInventoryStatus
	scan   int64
	signs  map[v1alpha1.DeviceID]detect.Signs
	booted time.Time
	// asked says that drivers' tools could be run.
	asked bool
	// released says why NVIDIA's driver was let go of; empty where it was not.
	released string
}

// published is the outcome of a publication.
type published struct {
	status v1alpha1.AcceleratorInventoryStatus
	node   *metav1.PartialObjectMetadata
	// contested are the labels and fields of the status that other managers hold, with the managers.
	contested map[string]string
	// written says whether anything differed from what the API server had, missed whether a device was missed that was
	// there before.
	written, missed bool
	// served says that the devices were offered to the kubelet.
	served bool
	// recheck says that another detection soon may change the health of a device; changes are those that were written.
	recheck bool
	changes []healthChange
	// inventory is the UID of the inventory.
	inventory types.UID
	// allocations is what the kubelet says of who holds which device, and owners who serves which.
	allocations podresources.Allocations
	owners      podresources.Owners
	// unsaid is why the Node's condition is not as it should be.
	unsaid error
	// next is when to publish again though nothing happens; zero is never.
	next time.Time
}

// publish merges a detection into the node's inventory and writes inventory and labels where they changed. The labels go
// first, since the inventory's status tells how that went: when they fail, the inventory is written nevertheless and
// the error returned.
func (p *publisher) publish(ctx context.Context, detected detection) (published, error) {
	seen, err := p.readNode(ctx)
	if err != nil {
		return published{}, err
	}
	node := seen.PartialObjectMetadata
	kept, err := p.ensureInventory(ctx, node)
	if err != nil {
		return published{node: node}, err
	}
	previous := kept.Status
	if len(previous.Backends) == 0 {
		previous = p.last
	}
	now := metav1.NewTime(p.clock.Now()).Rfc3339Copy()
	again := detected.scan == p.merged
	view := p.kubelet.look(ctx, sighting{
		devices: allDevices(detected.status.Devices, previous.Devices), published: &previous, allocatable: seen.allocatable,
		detected: !again, now: p.clock.Now(),
	})
	p.held = view.rows
	merged := p.merge(previous, detected, now)
	place(&merged.Host, node.Labels)
	due := earliest(view.next, p.memoryDue(&detected.status, &merged, now.Time))
	faults, settled := p.health.waiting()
	recheck := p.health.apply(previous, &merged, detected, faults, again, now)
	setServices(merged.Devices, view.owners, view.selectors)
	conditions := p.serve(kept.Spec, &previous, &merged)
	labels := Labels(&merged)
	maps.Copy(labels, retainedLabels(node, labels, &previous, &merged))
	contested, labelsWritten, labelErr := p.writeLabels(ctx, node, labels)
	removed, next := p.labels.contested(p.clock.Now())

	merged.AgentVersion, merged.ObservedGeneration = p.version, kept.Generation
	merged.Summary = inventory.Summarize(kept.Spec, &merged)
	conditions = append(conditions, detectedCondition(merged.Backends), labelledCondition(contested, removed, labelErr),
		monitoredCondition(merged.Devices, detected.asked))
	merged.Conditions = conditionsAt(previous.Conditions, kept.Generation, now, append(conditions, view.conditions...)...)
	fields, statusWritten, statusErr := p.writeStatus(ctx, kept, merged)
	if statusErr == nil {
		p.last = merged
		settled()
	}
	if statusWritten {
		p.wrote(&previous, &merged, now.Time)
	}
	maps.Copy(contested, fields)
	outcome := published{
		status: merged, node: node, contested: contested, written: labelsWritten || statusWritten, served: true, recheck: recheck,
		inventory: kept.UID, missed: newlyMissed(&previous, &merged),
		allocations: view.held, owners: view.owners, next: earliest(next, due),
	}
	if statusErr == nil {
		outcome.changes = healthChanges(&previous, &merged)
		outcome.unsaid = writeNodeCondition(ctx, p.client, seen, acceleratorsReady(kept.Spec, merged.Devices, merged.Conditions), now)
	}
	if outcome.unsaid != nil {
		outcome.next = earliest(outcome.next, now.Add(sayAgain))
	}
	return outcome, errors.Join(labelErr, statusErr)
}

// serve offers the devices to the kubelet, enters into the status who serves them, and says whether the kubelet takes them.
func (p *publisher) serve(spec v1alpha1.AcceleratorInventorySpec, previous, merged *v1alpha1.AcceleratorInventoryStatus) []metav1.Condition {
	p.spec, p.spoken = spec, true
	if len(p.servers) == 0 {
		return nil
	}
	p.servers.update(previous, merged, spec)
	before := meta.FindStatusCondition(previous.Conditions, v1alpha1.ConditionServed)
	return []metav1.Condition{p.servers.account().Condition(p.clock.Now(), before)}
}

// writeLabels writes the labels, except those that somebody removed a moment ago.
func (p *publisher) writeLabels(ctx context.Context, node *metav1.PartialObjectMetadata,
	desired map[string]string,
) (contested map[string]string, written bool, err error) {
	now := p.clock.Now()
	desired = p.labels.withhold(node, desired, now)
	contested, written, err = applyLabels(ctx, p.client, node, desired)
	if err == nil {
		p.labels.wrote(node, desired, now)
	}
	return contested, written, err
}

// earliest is the first of two times, of which the zero time is none.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// merge joins a detection with what is published. The detection of a publication that failed or was asked for again is
// merged again.
func (p *publisher) merge(previous v1alpha1.AcceleratorInventoryStatus, detected detection, now metav1.Time) v1alpha1.AcceleratorInventoryStatus {
	options := mergeOptions{
		now: now, again: detected.scan == p.merged, allocations: p.held,
		holdMemory: p.holdsMemory(now.Time),
	}
	p.merged = detected.scan
	return merge(previous, detected.status, options)
}

// holdsMemory says whether the use of memory was changed too short a time ago to be changed again.
func (p *publisher) holdsMemory(now time.Time) bool {
	return !p.memoryAt.IsZero() && now.Sub(p.memoryAt) < memoryInterval
}

// memoryDue is when to publish the use of memory that this publication had to keep back; zero where it kept none.
func (p *publisher) memoryDue(detected, merged *v1alpha1.AcceleratorInventoryStatus, now time.Time) time.Time {
	if !p.holdsMemory(now) || !waitsForMemory(detected, merged) {
		return time.Time{}
	}
	return p.memoryAt.Add(memoryInterval)
}

// wrote notes that a status was written in place of another.
func (p *publisher) wrote(previous, merged *v1alpha1.AcceleratorInventoryStatus, now time.Time) {
	if memoryChanged(previous, merged) {
		p.memoryAt = now
	}
}

// nodeNow is a Node as it was just read.
type nodeNow struct {
	*metav1.PartialObjectMetadata

	// allocatable are the extended resources that its kubelet gives out.
	allocatable map[string]int64
	conditions  []metav1.Condition
}

func (p *publisher) readNode(ctx context.Context) (*nodeNow, error) {
	read, err := p.client.Resource(nodes).Get(ctx, p.node, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("node %s is not registered yet, so nothing can be published; "+
			"if it never is, set --node-name to the Node's metadata.name: %w", p.node, err)
	}
	if err != nil {
		return nil, fmt.Errorf("read Node %s: %w", p.node, err)
	}
	node := &nodeNow{PartialObjectMetadata: &metav1.PartialObjectMetadata{}, allocatable: extendedResources(read)}
	var status struct {
		Status struct{ Conditions []metav1.Condition }
	}
	err = errors.Join(fromObject(read, node.PartialObjectMetadata), fromObject(read, &status))
	node.conditions = status.Status.Conditions
	return node, err
}

// ensureInventory returns the node's inventory, created or given to the present Node where it is not yet its own.
func (p *publisher) ensureInventory(ctx context.Context, node *metav1.PartialObjectMetadata) (*v1alpha1.AcceleratorInventory, error) {
	inventory, err := p.readInventory(ctx)
	if err == nil && ownedBy(inventory, node) {
		return inventory, nil
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, err
	}
	owned := inventoryManifest(object{"name": p.node, "ownerReferences": nodeOwner(node)})
	if _, err := apply(ctx, p.client.Resource(inventories), owned); err != nil {
		return nil, fmt.Errorf("apply AcceleratorInventory %s: %w", p.node, err)
	}
	return p.readInventory(ctx)
}

func (p *publisher) readInventory(ctx context.Context) (*v1alpha1.AcceleratorInventory, error) {
	read, err := p.client.Resource(inventories).Get(ctx, p.node, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read AcceleratorInventory %s: %w", p.node, err)
	}
	inventory := &v1alpha1.AcceleratorInventory{}
	return inventory, fromObject(read, inventory)
}

// ownedBy says whether the Node as it is, and no former one of its name, owns the object.
func ownedBy(object, node metav1.Object) bool {
	owned := false
	for _, owner := range object.GetOwnerReferences() {
		if owner.Kind != "Node" {
			continue
		}
		if owner.UID != node.GetUID() {
			return false
		}
		owned = true
	}
	return owned
}

// writeStatus applies the status where the inventory's differs. Fields that others hold are left to them, and returned.
func (p *publisher) writeStatus(ctx context.Context, inventory *v1alpha1.AcceleratorInventory,
	status v1alpha1.AcceleratorInventoryStatus,
) (contested map[string]string, written bool, err error) {
	if equality.Semantic.DeepEqual(inventory.Status, status) {
		return nil, false, nil
	}
	wanted, err := statusManifest(inventory.Name, status)
	if err != nil {
		return nil, false, err
	}
	version, err := p.applyStatus(ctx, wanted)
	if contested = conflicts(err); len(contested) > 0 {
		if pruneErr := removeFields(wanted.Object, slices.Sorted(maps.Keys(contested))); pruneErr != nil {
			return contested, false, errors.Join(err, pruneErr)
		}
		version, err = p.applyStatus(ctx, wanted)
	}
	return contested, err == nil && version != inventory.ResourceVersion, err
}

// applyStatus returns the resource version that the inventory has then.
func (p *publisher) applyStatus(ctx context.Context, wanted *unstructured.Unstructured) (version string, err error) {
	applied, err := apply(ctx, p.client.Resource(inventories), wanted, "status")
	if err != nil {
		return "", fmt.Errorf("apply status of AcceleratorInventory %s: %w", p.node, err)
	}
	return applied.GetResourceVersion(), nil
}

// statusManifest is what the agent says of an inventory's status. The summary is there even where it is all zeros, so
// that a node without devices shows 0 of them.
func statusManifest(name string, status v1alpha1.AcceleratorInventoryStatus) (*unstructured.Unstructured, error) {
	fields, err := toObject(status)
	if err != nil {
		return nil, fmt.Errorf("convert status of AcceleratorInventory %s: %w", name, err)
	}
	if fields["summary"] == nil {
		fields["summary"] = object{"devices": int64(0), "healthy": int64(0)}
	}
	manifest := inventoryManifest(object{"name": name})
	manifest.Object["status"] = fields
	return manifest, nil
}
