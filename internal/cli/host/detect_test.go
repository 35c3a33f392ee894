package host

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/clitest"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/inventory"
)

func TestDetectReplaysARecording(t *testing.T) {
	found := clitest.Object[v1alpha1.AcceleratorInventory](t, hostOK(t, "detect", "--replay", clitest.RecordingOf(t, "nvidia-l40s-4"), "-o", "json"))
	if found.APIVersion != "rankwright.dev/v1alpha1" || found.Kind != "AcceleratorInventory" || found.Name != "nvidia-l40s-4" {
		t.Errorf("%s %s %s", found.APIVersion, found.Kind, found.Name)
	}
	summary := found.Status.Summary
	if summary.Devices != 4 || summary.Products != "4x NVIDIA L40S" || summary.MemoryMiB != 4*46068 {
		t.Errorf("summary %+v", summary)
	}
	again := []byte(hostOK(t, "detect", "--replay", clitest.RecordingOf(t, "nvidia-l40s-4"), "-o", "yaml"))
	var fromYAML v1alpha1.AcceleratorInventory
	if err := yaml.Unmarshal(again, &fromYAML); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(found, fromYAML); diff != "" {
		t.Errorf("(-json +yaml):\n%s", diff)
	}
	if err := yaml.UnmarshalStrict(again, &inventoryDocument{}); err != nil {
		t.Errorf("more than an inventory with readings: %v", err)
	}
}

// What detect shows of memory is the driver's figure, not the step that the node agent publishes.
func TestDetectShowsTheDriversFigure(t *testing.T) {
	for output, want := range map[string]string{
		"json":  `"usedByOthersMiB": 1536`,
		"yaml":  "memoryUsedMiB: 1536",
		"table": "45.0 GiB   43.5 GiB",
		"tsv":   "\t46068\t44532\t",
		"custom-columns=USED:.memory.usedByOthersMiB": "1536",
	} {
		var options detectOptions
		options.view.output = term.Format(output)
		options.selection.selector = "free>=44532MiB,free<45000MiB"
		shown, _, err := watched(t, &options, edited(t, same))
		if err != nil || !strings.Contains(shown, want) || strings.Contains(shown, "nvidia-0000:41:00.0") {
			t.Errorf("-o %s: %v, %s; want %s", output, err, shown, want)
		}
	}
}

// TestRecordedThisHostIsTheSame detects on the machine that runs the test.
func TestRecordedThisHostIsTheSame(t *testing.T) {
	if _, err := os.Stat("/proc/sys/kernel/hostname"); err != nil {
		t.Skipf("no name of the host to record: %v", err)
	}
	withoutAllotment(t)
	file := filepath.Join(t.TempDir(), "other-name.tar.gz")
	live := hostOK(t, "detect", "--record", file, "--keep-identifiers", "-o", "json")
	if diff := cmp.Diff(live, hostOK(t, "detect", "--replay", file, "-o", "json")); diff != "" {
		t.Errorf("the recording differs from the host it was made on:\n%s", diff)
	}
}

// TestDetectRecordsWhatItReads records a replayed host and replays the recording.
func TestDetectRecordsWhatItReads(t *testing.T) {
	file := filepath.Join(t.TempDir(), "again.tar.gz")
	first := hostOK(t, "detect", "--replay", clitest.RecordingOf(t, "nvidia-h100-8"), "--record", file, "--keep-identifiers", "--name", "host", "-o", "json")
	second := hostOK(t, "detect", "--replay", file, "--name", "host", "-o", "json")
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("(-first +second):\n%s", diff)
	}
	content, err := os.ReadFile(file)
	if err != nil || !bytes.HasPrefix(content, []byte{0x1f, 0x8b}) {
		t.Errorf("the recording is no tar.gz: %v", err)
	}
}

// TestDetectRecordsNoIdentifiers records a replayed host as for a bug report.
func TestDetectRecordsNoIdentifiers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "report.tar.gz")
	first := clitest.Object[v1alpha1.AcceleratorInventory](t, hostOK(t, "detect", "--replay", clitest.RecordingOf(t, "nvidia-h100-8"), "--record", file, "--name", "host", "-o", "json"))
	second := clitest.Object[v1alpha1.AcceleratorInventory](t, hostOK(t, "detect", "--replay", file, "--name", "host", "-o", "json"))
	for i := range first.Status.Devices {
		before, after := &first.Status.Devices[i], &second.Status.Devices[i]
		if before.UUID == after.UUID || len(before.UUID) != len(after.UUID) || !strings.HasPrefix(after.UUID, "GPU-") {
			t.Errorf("UUID %s is recorded as %s", before.UUID, after.UUID)
		}
		after.UUID = before.UUID
	}
	for i := range first.Status.Links.Domains {
		second.Status.Links.Domains[i].Fabric = first.Status.Links.Domains[i].Fabric
	}
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("differs by more than UUIDs (-first +second):\n%s", diff)
	}
}

func TestDetectWithoutToolsStillFindsTheDevices(t *testing.T) {
	found := clitest.Object[v1alpha1.AcceleratorInventory](t, hostRun(t, "detect", "--replay", clitest.RecordingOf(t, "nvidia-h100-8"), "--no-exec", "-o", "json").Out)
	if len(found.Status.Devices) != 8 {
		t.Errorf("%d devices, want 8", len(found.Status.Devices))
	}
}

func TestDetectOfAnEmptyTree(t *testing.T) {
	r := hostRun(t, "detect", "--root", t.TempDir(), "--name", "empty")
	if r.Code != term.ExitOK || !strings.Contains(r.Out, "No accelerators found.") || !strings.Contains(r.Out, "empty") {
		t.Errorf("exit code %d, output %q, errors %q", r.Code, r.Out, r.Err)
	}
}

// stored reads an inventory of testdata.
func stored(t *testing.T, name string) *v1alpha1.AcceleratorInventory {
	t.Helper()
	content, err := os.ReadFile(clitest.Testdata(t, name))
	if err != nil {
		t.Fatal(err)
	}
	var read v1alpha1.AcceleratorInventory
	if err := yaml.UnmarshalStrict(content, &read); err != nil {
		t.Fatal(err)
	}
	read.Status.Summary = inventory.Summarize(read.Spec, &read.Status)
	return &read
}

// readingsOfOne returns readings of one device of testdata/inventory.yaml.
func readingsOfOne() backend.Readings {
	return backend.Readings{"nvidia-0000:01:00.0": {
		MemoryUsedMiB: new(int64(1536)), TemperatureMilliC: new(int64(41_000)), PowerMilliW: new(int64(72_400)), UtilizationPercent: new(int64(7)),
	}}
}

// TestInventoryViews prints an inventory with a partition, an unhealthy device and a pair of links.
func TestInventoryViews(t *testing.T) {
	tests := map[string]struct {
		output             string
		noHeaders, summary bool
	}{
		"inventory.txt":          {output: "table"},
		"inventory-wide.txt":     {output: "wide"},
		"inventory-bare.txt":     {output: "table", noHeaders: true},
		"inventory.tsv":          {output: "tsv"},
		"inventory-names.txt":    {output: "name"},
		"inventory-sums.txt":     {output: "table", summary: true},
		"inventory-sums.yaml":    {output: "yaml", summary: true},
		"inventory-columns.txt":  {output: "custom-columns=ID:.id,MIB:{.memory.totalMiB},USED:readings.memoryUsedMiB,PEAK:.performance.peak[*].gflops"},
		"inventory-columns2.txt": {output: "custom-columns=ID:id", noHeaders: true},
		"inventory-path.txt":     {output: `jsonpath={.id}{"\t"}{.memory.totalMiB}{"\n"}`},
		"inventory-path2.txt":    {output: `jsonpath={.health.state}{range .paths[*]} {@}{end}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var view viewOptions
			flag := newDeviceOutput(&view.output)
			view.noHeaders, view.summary = test.noHeaders, test.summary
			if err := flag.Set(test.output); err != nil || flag.String() != test.output {
				t.Errorf("%q reads back as %q, %v", test.output, flag, err)
			}
			var out bytes.Buffer
			if err := view.writeTo(term.Streams{Out: &out}, stored(t, "inventory.yaml"), readingsOfOne()); err != nil {
				t.Fatal(err)
			}
			clitest.Golden(t, name, out.String())
		})
	}
}

func TestNothingInAnInventoryMovesTheCursor(t *testing.T) {
	found := stored(t, "inventory.yaml")
	found.Status.Devices[0].Product = "A\x1b[2J40\tx\n"
	for _, output := range []term.Format{"table", "wide", "tsv", "custom-columns=P:.product"} {
		view := viewOptions{output: output}
		var out bytes.Buffer
		if err := view.writeTo(term.Streams{Out: &out}, found, nil); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), "A?[2J40?x?") || strings.Contains(out.String(), "\x1b") {
			t.Errorf("-o %s: %q", output, out.String())
		}
	}
}

// The table of a host with 8 GPUs fits a terminal of 120 columns.
func TestTheTableOfEightGPUsIsNotTooWide(t *testing.T) {
	for line := range strings.Lines(hostOK(t, "detect", "--replay", clitest.RecordingOf(t, "nvidia-h100-8"))) {
		if len(line) > 121 {
			t.Errorf("%d columns: %s", len(line)-1, line)
		}
	}
}
