package nodeagent

import (
	"context"
	"maps"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/nodeagent/dra"
	"github.com/rankwright/rankwright/pkg/nodeagent/injection"
	"github.com/rankwright/rankwright/pkg/nodeagent/podresources"
	"github.com/rankwright/rankwright/pkg/nodeagent/serving"
)

// server serves devices to the kubelet: the device plugin, and the DRA driver.
type server interface {
	// Update offers the devices of a status, of which it says who else serves them, and returns those that are served here.
	Update(published, status *v1alpha1.AcceleratorInventoryStatus, spec v1alpha1.AcceleratorInventorySpec) map[v1alpha1.DeviceID]v1alpha1.DeviceService
	// Account says whether the kubelet takes the devices that are served.
	Account() serving.Account
	// Run serves until the context ends.
	Run(ctx context.Context)
}

// servers serve a node's devices, in this order. The device plugin comes first: it says which devices it cannot give up yet.
type servers []server

// serve offers the devices of a status to the kubelet, and enters into it who serves them then: this agent as its servers say,
// others as they were seen.
func (s servers) serve(published, status *v1alpha1.AcceleratorInventoryStatus, v view) {
	owners := maps.Clone(v.kubelet.owners)
	if owners == nil {
		owners = podresources.Owners{}
	}
	maps.DeleteFunc(owners, func(_ v1alpha1.DeviceID, by v1alpha1.DeviceService) bool {
		return by.Server == v1alpha1.ServedByRankwright
	})
	for _, server := range s {
		maps.Copy(owners, server.Update(published, status, v.spec))
		assignServices(status.Devices, owners, v.kubelet.selectors)
	}
}

func (s servers) account() serving.Account {
	var accounts []serving.Account
	for _, server := range s {
		accounts = append(accounts, server.Account())
	}
	return serving.Join(accounts...)
}

// newPlugin prepares the device plugin, which keeps the specifications by which containers get devices, too. What it has to tell is published in the next turn.
func (a *Agent) newPlugin(options serving.Options) *serving.Plugin {
	options.Log, options.Clock, options.Registry = a.log, a.clock, a.metrics.named
	options.Changed = a.publishSoon
	options.Allocated = a.Poke
	if options.Commands != nil {
		options.Commands = gatedCommands{options.Commands, a.gate}
	}
	return serving.New(options)
}

// newDriver prepares the DRA driver, which has containers get their devices as the plugin does.
func (a *Agent) newDriver(options dra.Options, inject serving.Inject) *dra.Driver {
	options.Client = a.client
	options.Node, options.Config = a.options.NodeName, a.options.Serving.Config
	options.CDIFolder, options.Inject = injection.Folder(a.options.Serving.CDIFolder), inject
	options.Log, options.Clock, options.Metrics = a.log, a.clock, a.metrics.named
	options.Changed = a.publishSoon
	options.Allocated = a.Poke
	return dra.New(options)
}
