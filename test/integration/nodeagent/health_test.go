package nodeagent_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/repository"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/detect/nvidia"
	"github.com/rankwright/rankwright/pkg/nodeagent"
	"github.com/rankwright/rankwright/test/gpuerrors"
)

// recordedServer is a recorded host of eight GPUs on which one can be lost, or whose driver can be older.
type recordedServer struct {
	host *host.Host

	mu sync.Mutex
	// lost is the PCI address of the GPU that is lost; empty for none.
	lost string
	// older says that the driver knows of no recovery actions.
	older bool
}

func openServer(t *testing.T) *recordedServer {
	t.Helper()
	root, err := repository.Root()
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(filepath.Join(root, "test", "recordings", "nvidia-h100-8.tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // only read
	recording, err := host.ReadRecording(file)
	if err != nil {
		t.Fatal(err)
	}
	return &recordedServer{host: recording.Host()}
}

func (s *recordedServer) lose(address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lost = address
}

func (s *recordedServer) open() (*host.Host, error) {
	return &host.Host{Files: s.host.Files, Commands: s}, nil
}

// Run implements detect.Commands: what was recorded, changed as nvidia-smi changes when a GPU is lost.
func (s *recordedServer) Run(ctx context.Context, argv ...string) (host.CommandResult, error) {
	s.mu.Lock()
	lost, older := s.lost, s.older
	s.mu.Unlock()
	whole := []string{"nvidia-smi", "-q", "-x"}
	isQuery := len(argv) >= 3 && slices.Equal(argv[:3], whole)
	switch {
	case !isQuery:
		return s.host.Commands.Run(ctx, argv...)
	case lost != "" && (len(argv) == 3 || argv[len(argv)-1] == lost):
		return host.CommandResult{ExitCode: 15, Stdout: fmt.Appendf(nil,
			"Unable to determine the device handle for GPU%s: GPU is lost.  Reboot the system to recover this GPU\n", lost)}, nil
	}
	result, err := s.host.Commands.Run(ctx, whole...)
	report := string(result.Stdout)
	if len(argv) > 3 {
		report = only(report, argv[len(argv)-1])
	}
	if older {
		report = strings.ReplaceAll(report, "<gpu_recovery_action>None</gpu_recovery_action>", "")
	}
	result.Stdout = []byte(report)
	return result, err
}

// only leaves one GPU in a report of nvidia-smi.
func only(report, address string) string {
	head, _, _ := strings.Cut(report, "<gpu id=")
	for _, part := range strings.Split(report, "<gpu id=")[1:] {
		id, _, _ := strings.Cut(strings.TrimPrefix(part, `"`), `"`)
		if strings.HasSuffix(strings.ToLower(id), address) {
			body, _, _ := strings.Cut(part, "</gpu>")
			return head + "<gpu id=" + body + "</gpu></nvidia_smi_log>"
		}
	}
	return head + "</nvidia_smi_log>"
}

// newServerSite is a site whose agent detects the recorded server, by a clock that only the test moves.
func newServerSite(t *testing.T, name string, gpuErrors host.Streamer) (*site, *recordedServer) {
	t.Helper()
	s, server := newSiteFor(t, name), openServer(t)
	s.clock = testingclock.NewFakeClock(time.Now())
	s.configure = func(o *nodeagent.Options) {
		o.Host, o.Backends = server.open, []backend.Backend{nvidia.GPU()}
		o.GPUErrors, o.NVIDIADriver = gpuErrors, os.DevNull
	}
	s.agent = s.newAgent(agentConfig(t, s.node))
	return s, server
}

// pass lets time go by until the condition holds.
func (s *site) pass(what string, condition func() bool) {
	s.t.Helper()
	s.await(what, func() bool {
		s.clock.Step(time.Second)
		return condition()
	})
}

// healths are the devices' states and reasons, and how many devices have each.
func (s *site) healths() map[string]int {
	s.t.Helper()
	counts := map[string]int{}
	inventory := s.inventoryKey()
	if err := s.admin.Get(s.t.Context(), client.ObjectKeyFromObject(inventory), inventory); err != nil {
		return counts
	}
	for _, d := range inventory.Status.Devices {
		counts[strings.TrimSpace(string(d.Health.State)+" "+d.Health.Reason)]++
	}
	return counts
}

func (s *site) has(want map[string]int) func() bool {
	return func() bool { return cmp.Equal(want, s.healths()) }
}

// told are the reasons of the events about the inventory, with the device that each begins with.
func (s *site) told() map[string]int {
	s.t.Helper()
	list := &eventsv1.EventList{}
	if err := s.admin.List(s.t.Context(), list, client.InNamespace(metav1.NamespaceDefault)); err != nil {
		s.t.Fatal(err)
	}
	told := map[string]int{}
	for _, e := range list.Items {
		if e.Regarding.Kind == "AcceleratorInventory" && e.Regarding.Name == s.name {
			device, _, _ := strings.Cut(e.Note, ": ")
			told[e.Type+" "+e.Reason+" "+device]++
		}
	}
	return told
}

// One of eight GPUs falls off the bus, is lost, and comes back: it is Unhealthy at once, and Healthy again without a restart.
func TestGPUFallsOffTheBusAndComesBack(t *testing.T) {
	gpuErrors := gpuerrors.New()
	s, server := newServerSite(t, "xid", gpuErrors)
	s.run()
	s.await("all eight healthy", s.has(map[string]int{"Healthy": 8}))
	victim := s.inventory().Status.Devices[3]

	gpuErrors.Lines <- fmt.Sprintf(`{"pci":%q,"type":"XID","xid":31}`, victim.PCI.Address) // of an application: says nothing
	gpuErrors.Lines <- fmt.Sprintf(`{"pci":%q,"type":"XID","xid":79}`, victim.PCI.Address)
	s.await("the XID", s.has(map[string]int{"Healthy": 7, "Unhealthy XID79": 1}))
	if d := s.inventory().Status.Device(victim.ID); d.Usable() || !strings.HasPrefix(d.Health.Message, "XID 79: the GPU has fallen off the bus") {
		t.Errorf("%+v, want the XID as evidence", d.Health)
	}
	if got := s.labels()["nvidia.healthy"]; got != "7" {
		t.Errorf("label healthy is %q, want 7", got)
	}

	server.lose(victim.PCI.Address)
	s.agent.Rescan()
	s.pass("the lost GPU", s.has(map[string]int{"Healthy": 7, "Unhealthy GPULost": 1}))
	server.lose("")
	s.agent.Rescan()
	s.pass("all eight healthy again", s.has(map[string]int{"Healthy": 8}))

	id := string(victim.ID)
	want := map[string]int{"Warning DeviceUnhealthy " + id: 2, "Normal DeviceRecovered " + id: 1}
	s.await("the events", func() bool { return len(s.told()) >= len(want) })
	if diff := cmp.Diff(want, s.told()); diff != "" {
		t.Errorf("events differ (-want +got):\n%s", diff)
	}
	if c := meta.FindStatusCondition(s.inventory().Status.Conditions, v1alpha1.ConditionMonitored); c == nil || c.Status != metav1.ConditionTrue {
		t.Errorf("Monitored = %+v, want True", c)
	}
}

// A restart neither forgets a fault nor tells of it twice.
func TestFaultOutlivesTheAgent(t *testing.T) {
	gpuErrors := gpuerrors.New()
	s, server := newServerSite(t, "xid-restart", gpuErrors)
	server.older = true // nothing but events tells
	s.run()
	s.pass("all eight healthy", s.has(map[string]int{"Healthy": 8}))
	victim := s.inventory().Status.Devices[0]
	gpuErrors.Lines <- fmt.Sprintf(`{"pci":%q,"type":"XID","xid":95}`, victim.PCI.Address)
	want := map[string]int{"Healthy": 7, "Unhealthy XID95": 1}
	s.await("the XID", s.has(want))
	s.await("its event", func() bool { return len(s.told()) == 1 })
	s.stop()

	gpuErrors.Lines <- gpuerrors.Watching
	s.agent = s.newAgent(agentConfig(t, s.node))
	s.run()
	for range 5 {
		before := s.clock.Now()
		s.agent.Rescan()
		s.pass("half an hour", func() bool { s.clock.Step(time.Minute); return s.clock.Since(before) > 30*time.Minute })
	}
	if diff := cmp.Diff(want, s.healths()); diff != "" {
		t.Errorf("health after a restart differs (-want +got):\n%s", diff)
	}
	if got := s.told(); len(got) != 1 || got["Warning DeviceUnhealthy "+string(victim.ID)] != 1 {
		t.Errorf("events = %v, want the one of the fault", got)
	}
}

// Where only the monitor could know of errors and it does not run, devices are not Healthy, and can be used.
func TestMonitorThatCannotStart(t *testing.T) {
	for name, tools := range map[string]host.Streamer{
		"crashes": gpuerrors.Stream{Fails: errors.New("rankwright-nvml events: exit status 3: no library")},
		"missing": gpuerrors.Stream{Fails: fmt.Errorf("rankwright-nvml events: %w", host.ErrNoCommand)}, "absent": nil,
	} {
		t.Run(name, func(t *testing.T) {
			s, server := newServerSite(t, "monitor-"+name, tools)
			server.older = true
			s.run()
			s.pass("unmonitored devices", s.has(map[string]int{"Unknown NotMonitored": 8}))
			status := s.inventory().Status
			if !status.Devices[0].Usable() {
				t.Error("what is merely unmonitored is not usable")
			}
			c := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionMonitored)
			if c == nil || c.Status != metav1.ConditionFalse || !strings.Contains(c.Message, "the health of 8 of 8 devices is not known") ||
				!strings.Contains(c.Message, string(status.Devices[0].ID)) || !strings.Contains(c.Message, "rankwright-nvml") {
				t.Errorf("Monitored = %+v, want False with devices and reason", c)
			}
		})
	}
}
