package nodeagent

import (
	"context"
	"errors"
	"maps"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/clock"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/inventory"
	"github.com/rankwright/rankwright/pkg/nodeagent/podresources"
)

// publisher writes what follows from a detection to the API server, and has the kubelet offered the devices.
type publisher struct {
	client  dynamic.Interface
	node    string
	version string
	clock   clock.PassiveClock
	health  *deviceHealth
	kubelet kubeletView
	labels  labelKeeper
	// servers serve devices to the kubelet; empty where no devices are served.
	servers servers

	known known
	// view is what the last publication worked from; nil before the first.
	view *view
}

// published is the outcome of a publication.
type published struct {
	nextState

	node *metav1.PartialObjectMetadata
	// contested are the labels and fields of the status that other managers hold, with the managers.
	contested map[string]string
	// written says whether anything differed from what the API server had.
	written bool
	// served says that the devices were offered to the kubelet.
	served bool
	// inventory is the UID of the inventory.
	inventory types.UID
	// allocations is what the kubelet says of who holds which device.
	allocations podresources.Allocations
	// unsaid is why the Node's condition is not as it should be.
	unsaid error
}

// publish works out what follows from a detection, and writes inventory and labels where they changed. The labels go
// first, since the inventory's status tells how that went: when they fail, the inventory is written nevertheless and
// the error returned.
func (p *publisher) publish(ctx context.Context, detected detection) (published, error) {
	node, err := p.readNode(ctx)
	if err != nil {
		return published{}, err
	}
	outcome := published{node: &node.PartialObjectMetadata}
	kept, err := p.ensureInventory(ctx, outcome.node)
	if err != nil {
		return outcome, err
	}
	previous := p.known
	if len(kept.Status.Backends) > 0 { // else the API server has lost what was published
		previous.status = kept.Status
	}
	now := metav1.NewTime(p.clock.Now()).Rfc3339Copy()
	v, settled := p.look(ctx, node, kept, &previous, detected)
	outcome.nextState = next(previous, detected, v, now)
	status := &outcome.status
	conditions := append(p.serve(&previous.status, status, v), detectedCondition(status.Backends), monitoredCondition(status.Devices, detected.asked))
	labels := Labels(status)
	maps.Copy(labels, retainedLabels(outcome.node, labels, &previous.status, status))
	contested, labelsWritten, labelErr := p.writeLabels(ctx, outcome.node, labels)
	removed, due := p.labels.contested(p.clock.Now())

	status.AgentVersion, status.ObservedGeneration, status.Summary = p.version, kept.Generation, inventory.Summarize(v.spec, status)
	conditions = append(append(conditions, labelledCondition(contested, removed, labelErr)), v.kubelet.conditions...)
	status.Conditions = conditionsAt(previous.status.Conditions, kept.Generation, now, conditions...)
	fields, statusWritten, statusErr := p.writeStatus(ctx, kept, *status)
	maps.Copy(contested, fields)
	outcome.contested, outcome.written, outcome.served = contested, labelsWritten || statusWritten, true
	outcome.inventory, outcome.allocations, outcome.due = kept.UID, v.kubelet.held, earliest(outcome.due, due)
	p.known.scan, p.known.signs = outcome.scan, outcome.signs
	if statusErr != nil {
		outcome.changes = nil // they are told when they are published
		return outcome, errors.Join(labelErr, statusErr)
	}
	p.known = outcome.known
	settled()
	outcome.unsaid = writeNodeCondition(ctx, p.client, node, acceleratorsReady(v.spec, status.Devices, status.Conditions), now)
	if outcome.unsaid != nil {
		outcome.due = earliest(outcome.due, now.Add(sayAgain))
	}
	return outcome, labelErr
}

// look asks everybody but the host. settled is to be called when what follows from the view was published.
func (p *publisher) look(ctx context.Context, node *nodeNow, found *v1alpha1.AcceleratorInventory, previous *known, detected detection,
) (v view, settled func()) {
	v = view{spec: found.Spec, slots: found.Status.Slots, repairs: found.Status.Repairs, node: node.Labels}
	v.kubelet = p.kubelet.look(ctx, previous, detected, extendedResources(node.Status.Allocatable), p.clock.Now())
	v.faults, v.monitor, settled = p.health.waiting()
	p.view = &v
	return v, settled
}

// serve offers the devices to the kubelet, and says whether it takes them.
func (p *publisher) serve(previous, status *v1alpha1.AcceleratorInventoryStatus, v view) []metav1.Condition {
	if len(p.servers) == 0 {
		return nil
	}
	p.servers.serve(previous, status, v)
	before := meta.FindStatusCondition(previous.Conditions, v1alpha1.ConditionServed)
	return []metav1.Condition{p.servers.account().Condition(p.clock.Now(), before)}
}

// serveUnpublished offers what was detected where the API server is away: the kubelet and its pods are not. What others said at
// the last publication still holds; before the first, nobody has said whose the devices are.
func (p *publisher) serveUnpublished(detected detection) {
	if len(p.servers) == 0 || p.view == nil {
		return
	}
	v := *p.view
	v.faults, v.monitor, _ = p.health.waiting()
	status := next(p.known, detected, v, metav1.NewTime(p.clock.Now()).Rfc3339Copy()).status
	p.servers.serve(&p.known.status, &status, v)
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
