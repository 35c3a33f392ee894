package serving

import (
	"errors"
	"fmt"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/await"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/nodeagent/injection"
)

// injector answers for containers as each vendor's configuration says, and keeps the CDI specifications that its answers
// name.
type injector struct {
	config Config
	host   func() (*host.Host, error)
	group  func(string) (uint32, error)
	folder injection.Folder
	// driver tells what containers need of NVIDIA's driver; nil where no specification has it.
	driver *driverFiles

	// failed is why the specifications are not as they should be.
	failed await.Value[error]
}

func newInjector(options Options) *injector {
	i := &injector{config: options.Config, host: options.Host, group: options.Group, folder: injection.Folder(options.CDIFolder)}
	if options.Config.NeedsDriver() && i.folder != "" {
		i.driver = newDriverFiles(options, i.folder.Driver())
	}
	return i
}

// answer implements Inject.
func (i *injector) answer(mode injection.Mode, granted, node []v1alpha1.Device) (injection.Answer, error) {
	if len(granted) == 0 {
		return injection.Answer{}, errors.New("granted devices: none")
	}
	view, err := i.view(node)
	if err != nil {
		return injection.Answer{}, err
	}
	if mode == injection.CDI && view.Vendors[granted[0].Vendor].CDIKind == "" {
		if failed, _ := i.failed.Get(); failed != nil {
			return injection.Answer{}, failed
		}
	}
	return injection.For(mode, granted, view)
}

func (i *injector) view(devices []v1alpha1.Device) (injection.Node, error) {
	view := injection.Node{Devices: devices, Vendors: i.config.settings(), Group: i.group}
	if i.driver != nil {
		view.Driver, view.DriverProblem = i.driver.known()
	}
	if i.host == nil {
		return view, nil
	}
	h, err := i.host()
	if err != nil {
		return injection.Node{}, fmt.Errorf("open the host: %w", err)
	}
	view.Files = h.Files
	return view, nil
}

// unusable says of the devices that are to be served why nothing would work in a container that got them.
func (i *injector) unusable(devices []v1alpha1.Device) map[v1alpha1.DeviceID]string {
	view, err := i.view(devices)
	if err != nil {
		return nil // each answer says so
	}
	unusable := map[v1alpha1.DeviceID]string{}
	for n := range devices {
		d := &devices[n]
		config := i.config.Vendors[d.Vendor]
		if !config.Serve || len(d.Paths) == 0 {
			continue
		}
		if err := injection.CheckNeeds(config.Injection, d, view); err != nil {
			unusable[d.ID] = err.Error()
		}
	}
	return unusable
}

// keep writes the specifications of the devices that containers get by CDI, those in pools and those that go through DRA,
// and removes ours of others. It returns the files that it changed.
func (i *injector) keep(pools []resourcePool, status *v1alpha1.AcceleratorInventoryStatus) (changed []string, err error) {
	if i.folder == "" {
		return nil, nil
	}
	listed := map[v1alpha1.DeviceID]bool{}
	for _, pool := range pools {
		for _, entry := range pool.Entries {
			listed[entry.Device] = pool.Mode == injection.CDI
		}
	}
	var served []v1alpha1.Device
	wanted := Wanted{Status: status, Config: i.config}
	for n := range status.Devices {
		d := &status.Devices[n]
		if wanted.Through(DRA, d) && wanted.Taken(d) == "" {
			listed[d.ID] = true
		}
		if listed[d.ID] && i.config.Vendors[d.Vendor].CDIKind == "" {
			served = append(served, *d)
		}
	}
	if i.driver != nil {
		i.driver.want(served)
	}
	view, err := i.view(status.Devices)
	if err == nil {
		changed, err = i.write(served, view)
	}
	i.failed.Set(err)
	return changed, err
}

func (i *injector) write(served []v1alpha1.Device, view injection.Node) ([]string, error) {
	all, unknown, err := injection.Specifications(served, view)
	if err != nil {
		return nil, err
	}
	return i.folder.Keep(all, unknown)
}
