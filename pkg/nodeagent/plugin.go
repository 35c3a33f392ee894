package nodeagent

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/nodeagent/claims"
	"github.com/rankwright/rankwright/pkg/nodeagent/injection"
	"github.com/rankwright/rankwright/pkg/nodeagent/serving"
)

// server serves devices to the kubelet: the device plugin, and the DRA driver.
type server interface {
	// Update offers the devices of a status, and enters into it who serves them.
	Update(published, status *v1alpha1.AcceleratorInventoryStatus, spec v1alpha1.AcceleratorInventorySpec)
	// Account says whether the kubelet takes them.
	Account() serving.Account
}

// servers are those of a node, one after the other. The device plugin comes first: it says which devices it cannot give
// up yet.
type servers []server

func (s servers) update(published, status *v1alpha1.AcceleratorInventoryStatus, spec v1alpha1.AcceleratorInventorySpec) {
	for _, server := range s {
		server.Update(published, status, spec)
	}
}

func (s servers) account() serving.Account {
	var accounts []serving.Account
	for _, server := range s {
		accounts = append(accounts, server.Account())
	}
	return serving.Join(accounts...)
}

// newPlugin prepares the device plugin. What it has to tell is published in the next turn.
func (a *Agent) newPlugin(options serving.Options) *serving.Plugin {
	options.Log, options.Clock, options.Registry = a.log, a.clock, a.metrics.registry
	options.Changed = func() { signal(a.changed, struct{}{}) }
	options.Allocated = a.Poke
	if options.Commands != nil {
		options.Commands = gatedCommands{options.Commands, a.gate}
	}
	return serving.New(options)
}

// newDriver prepares the DRA driver, which has containers get their devices as the plugin does.
func (a *Agent) newDriver(options claims.Options) *claims.Driver {
	options.Client = a.client
	options.Node, options.Config = a.options.NodeName, a.options.Serving.Config
	options.CDIFolder, options.Inject = injection.Folder(a.options.Serving.CDIFolder), a.plugin.Inject
	options.Log, options.Clock, options.Metrics = a.log, a.clock, a.metrics.registry
	options.Changed = func() { signal(a.changed, struct{}{}) }
	options.Allocated = a.Poke
	return claims.New(options)
}

// serveUnpublished offers what was detected where the API server is away: the kubelet and its pods are not.
func (a *Agent) serveUnpublished() {
	p := a.publisher
	if len(p.servers) == 0 || !p.spoken {
		return
	}
	status := merge(p.last, a.detected.status, mergeOptions{now: metav1.NewTime(a.clock.Now()).Rfc3339Copy(), again: a.detected.scan == p.merged})
	p.servers.update(&p.last, &status, p.spec)
}
