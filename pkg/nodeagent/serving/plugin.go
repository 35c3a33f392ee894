package serving

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/await"
	"github.com/rankwright/rankwright/pkg/nodeagent/injection"
	"github.com/rankwright/rankwright/pkg/nodeagent/preference"
)

// Plugin offers the devices of a node to its kubelet.
type Plugin struct {
	options Options
	folder  *folder
	metrics *metrics
	// injector keeps specifications, and answers where the options say nothing else.
	injector *injector
	// registerTimeout bounds a registration with the kubelet.
	registerTimeout time.Duration
	// wake has the holdings looked at.
	wake chan struct{}

	mu sync.Mutex
	// ctx is the context of Run; nil before Run is called.
	ctx       context.Context //nolint:containedctx // pools start with Update, for as long as Run runs
	running   sync.WaitGroup
	status    *v1alpha1.AcceleratorInventoryStatus
	spec      v1alpha1.AcceleratorInventorySpec
	topology  *preference.Topology
	ledger    *ledger
	pools     []resourcePool
	withheld  []Withheld
	endpoints map[string]*endpoint
	// leaving are the endpoints that end, by resource.
	leaving map[string]*endpoint
}

// New prepares a plugin. It opens nothing.
func New(options Options) *Plugin {
	options = options.withDefaults()
	injector := newInjector(options)
	if options.Inject == nil {
		options.Inject = injector.answer
	}
	return &Plugin{
		options: options, injector: injector, registerTimeout: registerTimeout,
		folder:  &folder{path: options.Folder, clock: options.Clock, log: options.Log, watch: watchFolder},
		metrics: newMetrics(options.Registry), wake: make(chan struct{}, 1), ledger: newLedger(),
		endpoints: map[string]*endpoint{}, leaving: map[string]*endpoint{},
	}
}

// Update offers what follows from a status, which says who else serves the devices, and a spec, and returns what is offered
// here. published is the status before, from which the first Update learns what an agent before this one offered.
func (p *Plugin) Update(published, status *v1alpha1.AcceleratorInventoryStatus, spec v1alpha1.AcceleratorInventorySpec,
) map[v1alpha1.DeviceID]v1alpha1.DeviceService {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.status == nil && published != nil {
		p.ledger.adopt(published, p.options.Config)
	}
	p.status, p.spec = status.DeepCopy(), *spec.DeepCopy()
	p.topology = preference.NewTopology(p.status)
	p.offer()
	return servicesOf(p.pools)
}

// offer brings the pools up to date. The lock is held.
func (p *Plugin) offer() {
	if p.status == nil {
		return
	}
	wanted := Wanted{
		Status: p.status, Spec: p.spec, Config: p.options.Config, Busy: p.ledger.busy(p.ours), Unusable: p.injector.unusable(p.status.Devices),
	}
	p.pools, p.withheld = sortPools(wanted)
	for _, id := range slices.Sorted(maps.Keys(wanted.Unusable)) {
		p.withheld = append(p.withheld, Withheld{id, wanted.Unusable[id]})
	}
	p.ledger.note(p.pools, p.options.Clock.Now())
	if changed, err := p.injector.keep(p.pools, p.status); err != nil {
		p.options.Log.Error("CDI specifications not written", "folder", p.options.CDIFolder, "error", err)
	} else if len(changed) > 0 {
		p.options.Log.Info("CDI specifications changed", "folder", p.options.CDIFolder, "files", changed)
	}
	stay := map[string]bool{}
	for _, pool := range p.pools {
		stay[pool.Resource] = true
		p.serve(&offering{pool, p.status, p.topology})
	}
	for resource := range p.endpoints {
		if !stay[resource] {
			p.retire(resource)
		}
	}
	p.metrics.offered(p.pools)
	if p.unsettled() {
		await.Signal(p.wake, struct{}{})
	}
}

// serve has a pool served, or its server answer from the new offering.
func (p *Plugin) serve(o *offering) {
	resource := o.pool.Resource
	if e := p.endpoints[resource]; e != nil {
		e.offered.Set(o)
		return
	}
	e := &endpoint{plugin: p, resource: resource, ended: make(chan struct{})}
	e.state.Set(PoolState{State: Registering, Since: p.options.Clock.Now()})
	e.offered.Set(o)
	p.endpoints[resource] = e
	if p.ctx != nil {
		p.start(e)
	}
}

func (p *Plugin) start(e *endpoint) {
	var after <-chan struct{}
	if former := p.leaving[e.resource]; former != nil {
		after = former.ended
	}
	ctx := p.ctx
	until, retire := context.WithCancel(ctx)
	e.retire = retire
	p.running.Go(func() {
		defer retire()
		e.run(ctx, until, after)
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.leaving[e.resource] == e {
			delete(p.leaving, e.resource)
		}
	})
	p.remind(ctx)
}

// remind tells of a change when the patience with a pool that is not served may be at its end.
func (p *Plugin) remind(ctx context.Context) {
	p.running.Go(func() {
		if await.Pause(ctx, p.options.Clock, patience, nil) {
			p.options.Changed()
		}
	})
}

// retire ends a pool that has no devices any more, after the kubelet has been told so.
func (p *Plugin) retire(resource string) {
	e := p.endpoints[resource]
	delete(p.endpoints, resource)
	e.offered.Set(&offering{resourcePool{Resource: resource}, p.status, p.topology})
	if p.ctx != nil {
		e.retire()
		p.leaving[resource] = e
	}
	p.metrics.retired(resource)
}

// ours tells our offers from those of other plugins, which may have the same resource's name in another form of id.
func (p *Plugin) ours(offer Offer) bool {
	device := deviceOf(offer.ID)
	return devicePattern.MatchString(string(device)) && p.options.Config.Vendors[device.Vendor()].gives(offer.Resource)
}

// devicePattern matches a DeviceID that begins with a vendor.
var devicePattern = regexp.MustCompile(`^[a-z0-9]+-[a-zA-Z0-9.:_-]+$`)

// allocated notes what was granted before the answer goes out.
func (p *Plugin) allocated(resource string, ids []string, err error) {
	p.metrics.allocated(resource, err)
	if err != nil {
		p.options.Log.Warn("Allocate refused", "resource", resource, "devices", ids, "error", err)
		p.options.Allocated()
		return
	}
	p.options.Log.Info("Allocate", "resource", resource, "devices", ids)
	p.mu.Lock()
	for _, id := range ids {
		p.ledger.granted(Offer{resource, id}, p.options.Clock.Now())
	}
	p.mu.Unlock()
	p.options.Allocated()
}

// turned is called by endpoints, which run for as long as Run does.
func (p *Plugin) turned(resource string, serving bool) {
	p.metrics.turned(resource, serving)
	p.options.Changed()
	p.mu.Lock()
	defer p.mu.Unlock()
	if !serving && p.ctx != nil {
		p.remind(p.ctx)
	}
}

// driverTold is called when another is known of NVIDIA's driver than before.
func (p *Plugin) driverTold() {
	p.mu.Lock()
	p.offer()
	p.mu.Unlock()
	p.options.Changed()
}

// servicesOf is who serves which device, from the pools.
func servicesOf(pools []resourcePool) map[v1alpha1.DeviceID]v1alpha1.DeviceService {
	services := map[v1alpha1.DeviceID]v1alpha1.DeviceService{}
	for _, pool := range pools {
		for _, entry := range pool.Entries {
			services[entry.Device] = v1alpha1.DeviceService{Server: v1alpha1.ServedByRankwright, Resource: pool.Resource}
		}
	}
	return services
}

// Run serves until the context ends. A kubelet that is away is waited for.
func (p *Plugin) Run(ctx context.Context) {
	p.mu.Lock()
	p.ctx = ctx
	for _, e := range p.endpoints {
		p.start(e)
	}
	p.mu.Unlock()
	var running sync.WaitGroup
	running.Go(func() { p.folder.run(ctx) })
	if driver := p.injector.driver; driver != nil {
		running.Go(func() { driver.run(ctx, p.driverTold) })
	}
	p.watchUse(ctx)
	running.Wait()
	p.mu.Lock()
	p.ctx = nil
	p.mu.Unlock()
	p.running.Wait()
}

// Inject answers for granted devices as the configuration says.
func (p *Plugin) Inject(mode injection.Mode, granted, node []v1alpha1.Device) (injection.Answer, error) {
	return p.options.Inject(mode, granted, node)
}
