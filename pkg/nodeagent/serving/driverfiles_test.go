package serving

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/utils/clock"
	"tags.cncf.io/container-device-interface/specs-go"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/await"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/nodeagent/injection"
)

// generator plays rankwright-cdi on a node whose driver has a release; with none, it fails with the exit status.
type generator struct {
	mu      sync.Mutex
	release string
	exit    int
	asked   int
	argv    []string
}

func (g *generator) Run(_ context.Context, argv ...string) (host.CommandResult, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.asked++
	g.argv = argv
	if g.release == "" {
		return host.CommandResult{ExitCode: cmp.Or(g.exit, 1), Stderr: []byte("looking\nno libcuda.so below /\n")}, nil
	}
	text, err := json.Marshal(specs.Spec{ContainerEdits: specs.ContainerEdits{
		Mounts: []*specs.Mount{{HostPath: "/usr/lib/libcuda.so." + g.release, ContainerPath: "/usr/lib/libcuda.so." + g.release}},
	}})
	return host.CommandResult{Stdout: text}, err
}

func (g *generator) set(release string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.release = release
}

// hurried waits a thousandth of what it is asked to.
type hurried struct{ clock.Clock }

func (h hurried) NewTimer(d time.Duration) clock.Timer { return h.Clock.NewTimer(d / 1000) }

// servedByCDI is a plugin that serves one GPU of NVIDIA's by a specification of our own, and what a node's status is with a
// release of the driver.
func servedByCDI(t *testing.T, folder string, g *generator, changed ...chan struct{}) (*Plugin, func(release string) *v1alpha1.AcceleratorInventoryStatus) {
	t.Helper()
	tell := func() {
		for _, c := range changed {
			await.Signal(c, struct{}{})
		}
	}
	config := Config{Vendors: map[string]VendorConfig{nvidia: {Serve: true, Injection: injection.CDI, Settings: injection.Settings{IMEXChannels: []int{0}}}}}
	p := New(Options{
		Config: config, Folder: t.TempDir(), CDIFolder: folder, Commands: g, Hook: "/opt/hook", Log: slog.New(slog.DiscardHandler),
		Clock: hurried{clock.RealClock{}}, PodResources: filepath.Join(t.TempDir(), "none"), Changed: tell,
	})
	return p, func(release string) *v1alpha1.AcceleratorInventoryStatus {
		return &v1alpha1.AcceleratorInventoryStatus{Devices: []v1alpha1.Device{{
			ID: "nvidia-0", Vendor: nvidia, Backend: "nvidia", Family: v1alpha1.FamilyGPU, Paths: []string{"/dev/nvidia0"}, DriverVersion: release,
			Health: v1alpha1.DeviceHealth{State: v1alpha1.Healthy},
		}}}
	}
}

func run(t *testing.T, p *Plugin) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { p.Run(ctx); close(ended) }()
	t.Cleanup(func() { cancel(); <-ended })
}

func (p *Plugin) grants(status *v1alpha1.AcceleratorInventoryStatus) error {
	_, err := p.Inject(injection.CDI, status.Devices, status.Devices)
	return err
}

func awaitThat(t *testing.T, changed <-chan struct{}, what string, done func() bool) {
	t.Helper()
	late := time.After(10 * time.Second)
	for !done() {
		select {
		case <-changed:
		case <-late:
			t.Fatalf("not within 10 s: %s", what)
		}
	}
}

// Until the driver's libraries are known, and while they are another driver's, the device is not for new pods, and the
// condition says why; then it is.
func TestDriverFilesAreAskedForUntilTheyAreKnown(t *testing.T) {
	g := &generator{}
	folder := t.TempDir()
	changed := make(chan struct{}, 1)
	p, statusWith := servedByCDI(t, folder, g, changed)
	status := statusWith("580.105.08")
	p.Update(nil, status, v1alpha1.AcceleratorInventorySpec{})
	run(t, p)
	awaitThat(t, changed, "a reason", func() bool {
		condition := p.Account().withheldReasons()
		return strings.Contains(condition, "rankwright-cdi exits with 1: no libcuda.so below /")
	})
	if err := p.grants(status); err == nil || !strings.Contains(err.Error(), "no libcuda.so below /") {
		t.Errorf("granted: %v", err)
	}
	want := []string{"rankwright-cdi", "generate", "--make-nodes", "--hook=/opt/hook", "--imex-channels=0"}
	if !slices.Equal(want, g.argv) || !host.Allows(host.InvocationsOf(nvidia), g.argv) {
		t.Errorf("asked by %v, which a helper allows: %v", g.argv, host.Allows(host.InvocationsOf(nvidia), g.argv))
	}
	g.set("580.105.08")
	awaitThat(t, changed, "a grant", func() bool { return p.grants(status) == nil })
	awaitThat(t, changed, "no reason", func() bool { return len(p.Account().Withheld) == 0 })
	content, err := os.ReadFile(filepath.Join(folder, "rankwright.dev-nvidia-gpu.json"))
	if err != nil || !strings.Contains(string(content), "/usr/lib/libcuda.so.580.105.08") {
		t.Errorf("%v: %s", err, content)
	}

	upgraded := statusWith("580.126.09")
	p.Update(nil, upgraded, v1alpha1.AcceleratorInventorySpec{})
	if err := p.grants(upgraded); err == nil || !strings.Contains(err.Error(), "its driver is 580.126.09") {
		t.Errorf("granted with the libraries of the driver before: %v", err)
	}
	g.set("580.126.09")
	p.Update(nil, statusWith(""), v1alpha1.AcceleratorInventorySpec{}) // unloaded for a moment
	p.Update(nil, upgraded, v1alpha1.AcceleratorInventorySpec{})
	awaitThat(t, changed, "a grant of the new driver", func() bool { return p.grants(upgraded) == nil })
}

// withheldReasons are the reasons for which devices are withheld.
func (a Account) withheldReasons() string { return reasons(a.Withheld) }

// An agent that starts grants by what the agent before it wrote, until it has asked, and while the driver's program fails.
func TestDriverFilesOutliveTheAgent(t *testing.T) {
	folder := t.TempDir()
	g := &generator{release: "580.105.08"}
	p, statusWith := servedByCDI(t, folder, g)
	status := statusWith("580.105.08")
	p.Update(nil, status, v1alpha1.AcceleratorInventorySpec{})
	if _, err := p.injector.driver.ask(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.driverTold()
	if err := p.grants(status); err != nil {
		t.Fatal(err)
	}
	g.set("")
	next, _ := servedByCDI(t, folder, g)
	next.Update(nil, status, v1alpha1.AcceleratorInventorySpec{})
	for range 2 {
		if err := next.grants(status); err != nil {
			t.Error(err)
		}
		if _, err := next.injector.driver.ask(t.Context()); err == nil {
			t.Error("the program does not fail")
		}
		next.driverTold()
	}
}

// Where a driver's files are removed while its module stays, its GPUs cease to answer: the driver is looked for anew, and no new
// pod gets files that are gone.
func TestDriverFilesThatAreGone(t *testing.T) {
	g := &generator{release: "580.105.08"}
	changed := make(chan struct{}, 1)
	p, statusWith := servedByCDI(t, t.TempDir(), g, changed)
	status := statusWith("580.105.08")
	p.Update(nil, status, v1alpha1.AcceleratorInventorySpec{})
	run(t, p)
	awaitThat(t, changed, "a grant", func() bool { return p.grants(status) == nil })
	g.mu.Lock()
	g.release, g.exit = "", injection.ExitNoDriver
	g.mu.Unlock()
	gone := statusWith("580.105.08")
	gone.Devices[0].Health.State = v1alpha1.Unknown
	p.Update(nil, gone, v1alpha1.AcceleratorInventorySpec{})
	awaitThat(t, changed, "a reason", func() bool {
		return strings.Contains(p.Account().withheldReasons(), "rankwright-cdi exits with 3: no libcuda.so below /")
	})
	if p.grants(gone) == nil {
		t.Error("granted without a driver")
	}
	g.set("580.105.08")
	p.Update(nil, status, v1alpha1.AcceleratorInventorySpec{})
	awaitThat(t, changed, "a grant again", func() bool { return p.grants(status) == nil })
}

// A driver that stays the same is asked for once, and nobody is asked where no GPU is served.
func TestDriverFilesAreAskedForOnce(t *testing.T) {
	g := &generator{release: "580.105.08"}
	p, statusWith := servedByCDI(t, t.TempDir(), g)
	f := p.injector.driver
	if changed, err := f.ask(t.Context()); changed || err != nil || g.asked != 0 {
		t.Errorf("asked %d times for nothing: %v, %v", g.asked, changed, err)
	}
	for range 3 {
		p.Update(nil, statusWith("580.105.08"), v1alpha1.AcceleratorInventorySpec{})
	}
	if len(f.wake) != 1 {
		t.Error("nobody is woken")
	}
	<-f.wake
	p.Update(nil, statusWith("580.105.08"), v1alpha1.AcceleratorInventorySpec{})
	if len(f.wake) != 0 {
		t.Error("woken for a driver that is the same")
	}
	silent := statusWith("580.105.08")
	silent.Devices[0].Health.State = v1alpha1.Unknown
	p.Update(nil, silent, v1alpha1.AcceleratorInventorySpec{})
	if len(f.wake) != 1 {
		t.Fatal("nobody is woken for a GPU that ceased to answer")
	}
	<-f.wake
	p.Update(nil, statusWith("580.105.08"), v1alpha1.AcceleratorInventorySpec{})
	if len(f.wake) != 1 {
		t.Error("nobody is woken for a GPU that answers again")
	}
	for _, want := range []bool{true, false} {
		if changed, err := f.ask(t.Context()); changed != want || err != nil {
			t.Errorf("changed %v, %v", changed, err)
		}
	}
	f.commands = nil
	if _, err := f.query(t.Context()); err == nil || !strings.Contains(err.Error(), "enable the node helper") {
		t.Error(err)
	}
	f.commands = failing{}
	if _, err := f.query(t.Context()); !errors.Is(err, host.ErrNoCommand) {
		t.Error(err)
	}
}

type failing struct{}

func (failing) Run(context.Context, ...string) (host.CommandResult, error) {
	return host.CommandResult{}, host.ErrNoCommand
}
