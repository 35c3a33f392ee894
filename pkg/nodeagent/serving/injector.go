package serving

import (
	"errors"
	"fmt"
	"sync"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect"
	"github.com/rankwright/rankwright/pkg/nodeagent/injection"
)

// injector answers for containers as each vendor's configuration says, and keeps the CDI specifications that its answers
// name.
type injector struct {
	config Config
	files  func() (detect.Files, error)
	folder injection.Folder

	mu sync.Mutex
	// failed is why the specifications are not as they should be.
	failed error
}

func newInjector(options Options) *injector {
	return &injector{config: options.Config, files: options.Files, folder: injection.Folder(options.CDIFolder)}
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
	view.CDIKind = i.config.Vendors[granted[0].Vendor].CDIKind
	if mode == injection.CDI && view.CDIKind == "" {
		i.mu.Lock()
		defer i.mu.Unlock()
		if i.failed != nil {
			return injection.Answer{}, i.failed
		}
	}
	return injection.For(mode, granted, view)
}

func (i *injector) view(devices []v1alpha1.Device) (injection.Node, error) {
	if i.files == nil {
		return injection.Node{Devices: devices}, nil
	}
	files, err := i.files()
	if err != nil {
		return injection.Node{}, fmt.Errorf("open the host: %w", err)
	}
	return injection.Node{Devices: devices, Files: files}, nil
}

// keep writes the specifications of the devices that containers get by CDI, those in pools and those that go through DRA,
// and removes ours of others. It returns the files that it changed.
func (i *injector) keep(pools []Pool, status *v1alpha1.AcceleratorInventoryStatus) (changed []string, err error) {
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
	view, err := i.view(status.Devices)
	if err == nil {
		changed, err = i.write(served, view)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.failed = err
	return changed, err
}

func (i *injector) write(served []v1alpha1.Device, view injection.Node) ([]string, error) {
	all, err := injection.Specifications(served, view)
	if err != nil {
		return nil, err
	}
	return i.folder.Keep(all)
}
