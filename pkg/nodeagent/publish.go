package nodeagent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	applyv1alpha1 "github.com/rankwright/rankwright/api/v1alpha1/applyconfiguration/api/v1alpha1"
)

// publisher writes what was detected to the API server.
type publisher struct {
	client  client.Client
	node    string
	version string
	clock   clock.PassiveClock
	// last is the status published last by this process; it stands in for one that the API server has lost.
	last v1alpha1.AcceleratorInventoryStatus
	// merged is the number of the scan that was merged last, and memoryAt when memory use was last changed.
	merged   int64
	memoryAt time.Time
}

// detection is what a scan saw; scans are numbered from 1.
type detection struct {
	status v1alpha1.AcceleratorInventoryStatus
	scan   int64
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
}

// publish merges a detection into the node's inventory and writes inventory and labels where they changed. The labels go
// first, since the inventory's status tells how that went: when they fail, the inventory is written nevertheless and
// the error returned.
func (p *publisher) publish(ctx context.Context, detected detection) (published, error) {
	node, err := p.readNode(ctx)
	if err != nil {
		return published{}, err
	}
	inventory, err := p.ensureInventory(ctx, node)
	if err != nil {
		return published{node: node}, err
	}
	previous := inventory.Status
	if len(previous.Backends) == 0 {
		previous = p.last
	}
	now := metav1.NewTime(p.clock.Now()).Rfc3339Copy()
	merged := p.merge(previous, detected, now)
	labels := Labels(&merged)
	maps.Copy(labels, retainedLabels(node, labels, &previous, &merged))
	contested, labelsWritten, labelErr := applyLabels(ctx, p.client, node, labels)

	merged.AgentVersion, merged.ObservedGeneration = p.version, inventory.Generation
	merged.Summary = merged.Summarize(inventory.Spec)
	merged.Conditions = conditionsAt(previous.Conditions, inventory.Generation, now,
		detectedCondition(merged.Backends), labelledCondition(contested, labelErr))
	fields, statusWritten, statusErr := p.writeStatus(ctx, inventory, merged)
	if statusErr == nil {
		p.last = merged
	}
	if statusWritten {
		p.wrote(&previous, &merged, now.Time)
	}
	maps.Copy(contested, fields)
	outcome := published{status: merged, node: node, contested: contested, written: labelsWritten || statusWritten}
	outcome.missed = newlyMissed(&previous, &merged)
	return outcome, errors.Join(labelErr, statusErr)
}

// merge joins a detection with what is published. The detection of a publication that failed or was asked for again is
// merged again.
func (p *publisher) merge(previous v1alpha1.AcceleratorInventoryStatus, detected detection, now metav1.Time) v1alpha1.AcceleratorInventoryStatus {
	options := mergeOptions{
		now: now, again: detected.scan == p.merged,
		holdMemory: !p.memoryAt.IsZero() && now.Sub(p.memoryAt) < memoryInterval,
	}
	p.merged = detected.scan
	return merge(previous, detected.status, options)
}

// wrote notes that a status was written in place of another.
func (p *publisher) wrote(previous, merged *v1alpha1.AcceleratorInventoryStatus, now time.Time) {
	if memoryChanged(previous, merged) {
		p.memoryAt = now
	}
}

func (p *publisher) readNode(ctx context.Context) (*metav1.PartialObjectMetadata, error) {
	node := &metav1.PartialObjectMetadata{}
	node.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Node"))
	err := p.client.Get(ctx, client.ObjectKey{Name: p.node}, node)
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("node %s is not registered yet, so nothing can be published; "+
			"if it never is, set --node-name to the Node's metadata.name: %w", p.node, err)
	}
	if err != nil {
		return nil, fmt.Errorf("read Node %s: %w", p.node, err)
	}
	return node, nil
}

// ensureInventory returns the node's inventory, created or given to the present Node where it is not yet its own.
func (p *publisher) ensureInventory(ctx context.Context, node *metav1.PartialObjectMetadata) (*v1alpha1.AcceleratorInventory, error) {
	inventory, err := p.readInventory(ctx)
	if err == nil && ownedBy(inventory, node) {
		return inventory, nil
	}
	if client.IgnoreNotFound(err) != nil {
		return nil, err
	}
	config := applyv1alpha1.AcceleratorInventory(p.node).WithOwnerReferences(nodeOwner(node))
	if err := p.client.Apply(ctx, config, client.FieldOwner(v1alpha1.NodeAgentFieldManager)); err != nil {
		return nil, fmt.Errorf("apply AcceleratorInventory %s: %w", p.node, err)
	}
	return p.readInventory(ctx)
}

func (p *publisher) readInventory(ctx context.Context) (*v1alpha1.AcceleratorInventory, error) {
	inventory := &v1alpha1.AcceleratorInventory{}
	if err := p.client.Get(ctx, client.ObjectKey{Name: p.node}, inventory); err != nil {
		return nil, fmt.Errorf("read AcceleratorInventory %s: %w", p.node, err)
	}
	return inventory, nil
}

// nodeOwner makes an object go with the Node. It does not block the Node's deletion.
func nodeOwner(node *metav1.PartialObjectMetadata) *metav1ac.OwnerReferenceApplyConfiguration {
	return metav1ac.OwnerReference().
		WithAPIVersion(corev1.SchemeGroupVersion.String()).WithKind("Node").WithName(node.Name).WithUID(node.UID)
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

// writeStatus applies the status where it differs from what this agent holds of the inventory's status. Fields that
// others hold are left to them, and returned.
func (p *publisher) writeStatus(ctx context.Context, inventory *v1alpha1.AcceleratorInventory,
	status v1alpha1.AcceleratorInventoryStatus,
) (contested map[string]string, written bool, err error) {
	config, err := statusConfiguration(inventory.Name, status)
	if err != nil {
		return nil, false, err
	}
	held, err := applyv1alpha1.ExtractAcceleratorInventoryStatus(inventory, v1alpha1.NodeAgentFieldManager)
	if err != nil {
		return nil, false, fmt.Errorf("read managed fields of AcceleratorInventory %s: %w", inventory.Name, err)
	}
	if same, err := sameJSON(held.Status, config.Status); same || err != nil {
		return nil, false, err
	}
	err = p.applyStatus(ctx, config)
	if contested = conflicts(err); len(contested) > 0 {
		rest, pruneErr := withoutFields(config, slices.Sorted(maps.Keys(contested)))
		if pruneErr != nil {
			return contested, false, errors.Join(err, pruneErr)
		}
		err = p.applyStatus(ctx, rest)
	}
	return contested, err == nil, err
}

func (p *publisher) applyStatus(ctx context.Context, config *applyv1alpha1.AcceleratorInventoryApplyConfiguration) error {
	if err := p.client.Status().Apply(ctx, config, client.FieldOwner(v1alpha1.NodeAgentFieldManager)); err != nil {
		return fmt.Errorf("apply status of AcceleratorInventory %s: %w", p.node, err)
	}
	return nil
}

// statusConfiguration turns a status into an apply configuration. Both have the same JSON, in which zero values of
// optional fields are absent: the agent holds only what it says. The summary is there even where it is all zeros, so that
// a node without devices shows 0 of them.
func statusConfiguration(name string, status v1alpha1.AcceleratorInventoryStatus) (*applyv1alpha1.AcceleratorInventoryApplyConfiguration, error) {
	config := applyv1alpha1.AcceleratorInventory(name)
	content, err := json.Marshal(status)
	if err == nil {
		err = json.Unmarshal(content, &config.Status)
	}
	if err != nil {
		return nil, fmt.Errorf("convert status of AcceleratorInventory %s: %w", name, err)
	}
	if config.Status.Summary == nil {
		config.Status.WithSummary(applyv1alpha1.InventorySummary().WithDevices(0).WithHealthy(0))
	}
	return config, nil
}

func sameJSON(a, b *applyv1alpha1.AcceleratorInventoryStatusApplyConfiguration) (bool, error) {
	contentA, errA := json.Marshal(a)
	contentB, errB := json.Marshal(b)
	return bytes.Equal(contentA, contentB), errors.Join(errA, errB)
}
