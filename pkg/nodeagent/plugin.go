package nodeagent

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/nodeagent/serving"
)

// server serves devices to the kubelet; it is the device plugin.
type server interface {
	// Update offers the devices of a status, and enters into it who serves them.
	Update(published, status *v1alpha1.AcceleratorInventoryStatus, spec v1alpha1.AcceleratorInventorySpec)
	// Condition says whether the kubelet takes them.
	Condition(before *metav1.Condition) metav1.Condition
}

// newPlugin prepares the device plugin. What it has to tell is published in the next turn.
func (a *Agent) newPlugin(options serving.Options) *serving.Plugin {
	options.Log, options.Clock, options.Registry = a.log, a.clock, a.metrics.registry
	options.Changed = func() { signal(a.changed, struct{}{}) }
	options.Allocated = a.Poke
	return serving.New(options)
}

// serveUnpublished offers what was detected where the API server is away: the kubelet and its pods are not.
func (a *Agent) serveUnpublished() {
	p := a.publisher
	if p.server == nil || !p.spoken {
		return
	}
	status := merge(p.last, a.detected.status, mergeOptions{now: metav1.NewTime(a.clock.Now()).Rfc3339Copy(), again: a.detected.scan == p.merged})
	p.server.Update(&p.last, &status, p.spec)
}
