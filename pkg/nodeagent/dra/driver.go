package dra

import (
	"log/slog"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/clock"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/await"
	"github.com/rankwright/rankwright/internal/measure"
	"github.com/rankwright/rankwright/pkg/nodeagent/serving"
)

// Driver offers the devices of a node by claims.
type Driver struct {
	options   Options
	log       *slog.Logger
	clock     clock.Clock
	metrics   *metrics
	publisher *publisher
	// wake has the ResourceSlices written where they are not as they should be.
	wake chan struct{}

	// wanted is what is to be offered; it has no status before the first Update.
	wanted await.Value[serving.Wanted]

	mu    sync.Mutex
	offer offer
	kubelet
	// unpublished is why the ResourceSlices are not as they should be; empty where they are.
	unpublished string
	pool        serving.PoolState
}

// kubelet is how the driver is with the kubelet.
type kubelet struct {
	// registered says that a kubelet took the driver, at registeredAt, and refused why the last one did not.
	registered   bool
	registeredAt time.Time
	refused      string
	// connected says that the kubelet has a connection to the driver.
	connected bool
}

// New prepares a driver. It opens nothing.
func New(options Options) *Driver {
	options = options.withDefaults()
	return &Driver{
		options: options, log: options.Log, clock: options.Clock, metrics: newMetrics(options.Metrics), wake: make(chan struct{}, 1),
		publisher:   &publisher{client: options.Client, node: options.Node, clock: options.Clock},
		unpublished: notYet, pool: serving.PoolState{State: serving.Registering, Since: options.Clock.Now()},
	}
}

// notYet is what the ResourceSlices are before the first attempt.
const notYet = "they are not written yet"

// Update offers what follows from a status, which says who else serves the devices, and a spec, and returns the devices that are
// served by claims.
func (d *Driver) Update(_, status *v1alpha1.AcceleratorInventoryStatus, spec v1alpha1.AcceleratorInventorySpec,
) map[v1alpha1.DeviceID]v1alpha1.DeviceService {
	d.mu.Lock()
	defer d.mu.Unlock()
	former, _ := d.wanted.Get()
	wanted := serving.Wanted{Status: status.DeepCopy(), Spec: *spec.DeepCopy(), Config: d.options.Config}
	d.wanted.Set(wanted)
	before := d.offer.devices
	d.offer = offerOf(wanted, d.options.Node)
	if former.Status == nil || !equality.Semantic.DeepEqual(before, d.offer.devices) {
		await.Signal(d.wake, struct{}{})
	}
	d.metrics.devices.Set(float64(len(withoutTaints(d.offer.devices))))
	services := map[v1alpha1.DeviceID]v1alpha1.DeviceService{}
	for id := range d.offer.served {
		services[id] = v1alpha1.DeviceService{Server: v1alpha1.ServedByRankwright, Resource: v1alpha1.DRADriver}
	}
	return services
}

// Account says how far the driver is with kubelet and API server.
func (d *Driver) Account() serving.Account {
	d.mu.Lock()
	defer d.mu.Unlock()
	account := serving.Account{Withheld: d.offer.withheld}
	if len(d.offer.served) > 0 {
		account.Pools = []string{v1alpha1.DRADriver}
		account.States = map[string]serving.PoolState{v1alpha1.DRADriver: d.pool}
	}
	return account
}

// done notes that the kubelet had a claim prepared or unprepared.
func (d *Driver) done(operation, namespace, name string, err error) {
	d.metrics.done(operation, err)
	if err != nil {
		d.log.Warn("claim refused", "operation", operation, "namespace", namespace, "claim", name, "error", err)
	} else {
		d.log.Info("claim", "operation", operation, "namespace", namespace, "claim", name)
	}
	d.options.Allocated()
}

// registered notes a kubelet's decision about the driver; problem is empty where it took it.
func (d *Driver) registered(problem string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.kubelet.registered, d.registeredAt, d.refused = problem == "", d.clock.Now(), problem
	d.turn()
	await.Signal(d.wake, struct{}{})
}

// connected notes how many connections the driver has.
func (d *Driver) connected(open int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.kubelet.connected = open > 0
	d.turn()
}

// turn notes the state that follows from the rest. The lock is held.
func (d *Driver) turn() {
	state, detail := d.state(d.unpublished)
	if d.pool.State == state && d.pool.Detail == detail {
		return
	}
	if d.pool.State != state {
		d.pool.Since = d.clock.Now()
		d.log.Info("DRA driver", "state", state, "detail", detail)
	}
	d.pool.State, d.pool.Detail = state, detail
	d.metrics.serving.Set(measure.Bool(state == serving.Serving))
	d.options.Changed()
}

// state is how far the driver is, where unpublished says what is wrong with its ResourceSlices.
func (k kubelet) state(unpublished string) (state serving.State, detail string) {
	switch {
	case k.refused != "":
		return serving.Refused, k.refused
	case !k.registered:
		return serving.Registering, ""
	case !k.connected:
		return serving.KubeletAway, "it has no connection to the driver"
	case unpublished != "":
		return serving.Unpublished, unpublished
	default:
		return serving.Serving, ""
	}
}
