package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/clitest"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/pkg/detect"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/inventory"
)

// scans gives one look after another, and the user ends the watch after the last.
type scans struct {
	list []scan
	next int
}

func (s *scans) look(context.Context) (scan, error) {
	s.next++
	return s.list[s.next-1], nil
}

func (s *scans) pause(context.Context) bool { return s.next < len(s.list) }

// watched runs a detection over scans and returns what it printed.
func watched(t *testing.T, options *detectOptions, list ...scan) (out, errs string, err error) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	options.watch = len(list) > 1
	options.interval = time.Second
	if options.view.output == "" {
		options.view.output = "table"
	}
	options.selection.sortBy = "id"
	work, err := options.work(term.Streams{Out: &stdout, Err: &stderr}, false)
	if err != nil {
		t.Fatal(err)
	}
	sequence := &scans{list: list}
	work.look, work.pause = sequence.look, sequence.pause
	work.now = func() time.Time { return time.Date(2026, 3, 1, 12, 30, 5, 0, time.UTC) }
	err = work.run(t.Context())
	if err == nil && sequence.next != len(list) {
		t.Errorf("looked %d times of %d", sequence.next, len(list))
	}
	return stdout.String(), stderr.String(), err
}

// edited is a scan of testdata/inventory.yaml with something changed.
func edited(t *testing.T, edit func(*v1alpha1.AcceleratorInventoryStatus, backend.Readings)) scan {
	t.Helper()
	s := scan{inventory: stored(t, "inventory.yaml"), readings: readingsOfOne(), elapsed: 3 * time.Millisecond, times: []detect.BackendTime{
		{Backend: "amd", Elapsed: 20 * time.Microsecond}, {Backend: "cpu", Elapsed: time.Millisecond}, {Backend: "nvidia", Elapsed: 2500 * time.Microsecond},
	}}
	s.inventory.Status.Backends[1].State = v1alpha1.BackendFound
	edit(&s.inventory.Status, s.readings)
	setUse(&s.inventory.Status, s.readings)
	return s
}

func same(*v1alpha1.AcceleratorInventoryStatus, backend.Readings) {}

func breaks(s *v1alpha1.AcceleratorInventoryStatus, _ backend.Readings) {
	s.Devices[0].Health = v1alpha1.DeviceHealth{State: v1alpha1.Unhealthy, Reason: "Xid79"}
}

// warms breaks the same device and changes the readings of another one, whose memory in use stays in its step.
func warms(s *v1alpha1.AcceleratorInventoryStatus, r backend.Readings) {
	breaks(s, r)
	r["nvidia-0000:01:00.0"] = backend.Reading{MemoryUsedMiB: new(int64(1600)), TemperatureMilliC: new(int64(43_600)), UtilizationPercent: new(int64(7))}
}

// The wide table shows readings, so the watch tells their changes there, as the table shows them, and no others.
func TestWatchRefreshesReadings(t *testing.T) {
	hardly := func(s *v1alpha1.AcceleratorInventoryStatus, r backend.Readings) {
		warms(s, r)
		*r["nvidia-0000:01:00.0"].TemperatureMilliC += 100
	}
	for output, want := range map[string]string{
		"wide":  "~ 12:30:05 device nvidia-0000:01:00.0: used 1.5 GiB -> 1.6 GiB, temp 41 C -> 44 C, power 72 W -> -\n",
		"table": "",
	} {
		var options detectOptions
		options.view.output = term.Format(output)
		out, _, err := watched(t, &options, edited(t, breaks), edited(t, warms), edited(t, hardly))
		if err != nil {
			t.Fatal(err)
		}
		_, changes, _ := strings.Cut(out, "\n~")
		if want = strings.TrimPrefix(want, "~"); changes != want {
			t.Errorf("-o %s: changes %q, want %q", output, changes, want)
		}
	}
}

func TestWatchPrintsWhatChanges(t *testing.T) {
	added := func(s *v1alpha1.AcceleratorInventoryStatus, _ backend.Readings) {
		breaks(s, nil)
		s.Devices = append(s.Devices[:3], v1alpha1.Device{
			ID: "nvidia-0000:e1:00.0", Vendor: "nvidia", Family: v1alpha1.FamilyGPU, Product: "NVIDIA L4",
			Memory: &v1alpha1.DeviceMemory{TotalMiB: 23034}, Health: v1alpha1.DeviceHealth{State: v1alpha1.Healthy},
		})
		s.Devices[1].Memory.UsedByOthersMiB = 2048
		s.Links.Pairs = nil
	}
	out, errs, err := watched(t, &detectOptions{}, edited(t, same), edited(t, same), edited(t, breaks), edited(t, added))
	if err != nil || errs != "" {
		t.Errorf("error %v, errors %q", err, errs)
	}
	clitest.Golden(t, "watch.txt", out)
}

func TestWatchForMachinesPrintsTheWholeAnew(t *testing.T) {
	var options detectOptions
	options.view.output = "yaml"
	out, _, err := watched(t, &options, edited(t, same), edited(t, same), edited(t, breaks), edited(t, warms))
	if err != nil {
		t.Fatal(err)
	}
	if documents := strings.Split(out, "\n---\n"); len(documents) != 3 || !strings.Contains(documents[2], "temperatureMilliC: 43600") || !strings.Contains(documents[1], "reason: Xid79\n      state: Unhealthy") {
		t.Errorf("%d documents in %s", len(documents), out)
	}
}

func TestWatchOnlyShowsWhatIsSelected(t *testing.T) {
	var options detectOptions
	options.selection.selector = "product~a100"
	out, _, err := watched(t, &options, edited(t, same), edited(t, breaks))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out, "~") || strings.Contains(out, "A40") {
		t.Errorf("changes of others: %s", out)
	}
}

func TestWatchEndsWhenAnAlertIsMet(t *testing.T) {
	options := detectOptions{alerts: []string{"healthy<2", "temperature>80"}}
	out, errs, err := watched(t, &options, edited(t, same), edited(t, breaks), edited(t, same))
	if !errors.Is(err, term.ErrAlert) {
		t.Errorf("error %v", err)
	}
	want := "alert healthy<2: 1 device healthy\nalert healthy<2: nvidia-0000:01:00.0 is Unhealthy Xid79\n"
	if !strings.HasPrefix(errs, want) || !strings.Contains(out, "~ 12:30:05 device nvidia-0000:01:00.0: health.reason - -> Xid79") {
		t.Errorf("errors %q, output %s", errs, out)
	}
}

func TestWatchIsEndedByTheUser(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if pause(ctx, time.Hour) {
		t.Error("goes on")
	}
	looks := 0
	ended := detection{
		detectOptions: &detectOptions{watch: true}, selects: selection{filter: inventory.All()},
		look: func(context.Context) (scan, error) {
			looks++
			if looks > 1 {
				return scan{}, context.Canceled
			}
			return edited(t, same), nil
		},
		pause:   func(context.Context) bool { return true },
		streams: term.Streams{Out: &bytes.Buffer{}, Err: &bytes.Buffer{}},
	}
	if err := ended.run(ctx); err != nil || looks != 2 {
		t.Errorf("%d looks, error %v", looks, err)
	}
	if !pause(t.Context(), time.Nanosecond) {
		t.Error("ended by nobody")
	}
}

func TestAlertsOfOneLook(t *testing.T) {
	tests := map[string]struct {
		alerts []string
		edit   func(*v1alpha1.AcceleratorInventoryStatus, backend.Readings)
		met    bool
		failed string
		errs   string
	}{
		"not met": {
			alerts: []string{"temperature>80"}, edit: same,
			errs: "warning: alert temperature>80: not reported by nvidia-0000:{41:00.0,81:00.0-mig1,c1:00.0}\n",
		},
		"met by one": {
			alerts: []string{"temperature>=41"}, edit: same, met: true,
			errs: "alert temperature>=41: nvidia-0000:01:00.0 has 41.0 C\n",
		},
		"one of two": {
			alerts: []string{"healthy<2", "devices>3"}, edit: same, met: true,
			errs: "alert devices>3: 4 devices there\n",
		},
		"reported by none": {
			alerts: []string{"temperature>80"}, edit: func(_ *v1alpha1.AcceleratorInventoryStatus, r backend.Readings) { clear(r) },
			failed: "alert temperature>80: no device reports temperature: a driver or its tool must be there, and --no-exec not given",
		},
		"of no device": {
			alerts: []string{"temperature>80"}, edit: func(s *v1alpha1.AcceleratorInventoryStatus, _ backend.Readings) { s.Devices = nil },
		},
		"met beside one that nothing reports": {
			alerts: []string{"temperature>80", "devices>3"}, edit: func(_ *v1alpha1.AcceleratorInventoryStatus, r backend.Readings) { clear(r) }, met: true,
			errs: "alert devices>3: 4 devices there\n",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, errs, err := watched(t, &detectOptions{alerts: test.alerts}, edited(t, test.edit))
			if errors.Is(err, term.ErrAlert) != test.met || !strings.HasPrefix(errs, test.errs) {
				t.Errorf("error %v, errors %q, want %q", err, errs, test.errs)
			}
			if !test.met && (err == nil) != (test.failed == "") || err != nil && test.failed != "" && err.Error() != test.failed {
				t.Errorf("error %v, want %q", err, test.failed)
			}
		})
	}
}

func TestTimings(t *testing.T) {
	_, errs, err := watched(t, &detectOptions{timings: true}, edited(t, same))
	if err != nil {
		t.Fatal(err)
	}
	want := `BACKEND   TIME
nvidia    2.500 ms
cpu       1.000 ms
amd       0.020 ms
sum       3.520 ms
elapsed   3.000 ms
`
	if errs != want {
		t.Errorf("%q, want %q", errs, want)
	}
}

func TestDetectExitCodes(t *testing.T) {
	h100 := []string{"detect", "--replay", clitest.RecordingOf(t, "nvidia-h100-8")}
	tests := map[string]struct {
		args []string
		code int
		out  string // in the output
		errs string // in the errors
	}{
		"requirement met":       {[]string{"--requirement", "gpu>=8"}, term.ExitOK, "nvidia-0000:df:00.0", ""},
		"requirement not met":   {[]string{"--requirement", "tpu>=8|gpu>=9"}, term.ExitFailure, "", "--requirement tpu>=8|gpu>=9 is not met: 8 TPU chips needed, 0 usable; or 9 GPUs needed, 8 usable"},
		"requirement of part":   {[]string{"--requirement", "gpu>=5", "--selector", "numaNode=0"}, term.ExitFailure, "nvidia-0000:1b:00.0", "5 GPUs needed, 4 usable"},
		"no requirement":        {[]string{"--requirement", "none", "--family", "tpu"}, term.ExitOK, "No device is selected: the host has 8 devices.", ""},
		"bad requirement":       {[]string{"--requirement", "tpus"}, term.ExitUsage, "", `--requirement tpus: position 1: unknown requirement "tpus"`},
		"family":                {[]string{"--family", "gpu,tpu", "-o", "name"}, term.ExitOK, "nvidia-0000:1b:00.0\n", ""},
		"bad family":            {[]string{"--family", "gpus"}, term.ExitUsage, "", "--family gpus: use one of GPU, TPU, NPU, ASIC, CPU"},
		"vendor by its stack":   {[]string{"--vendor", "CUDA", "--selector", "backend=cuda,vendor!=rocm", "--backend", "cuda", "--requirement", "cuda>=8", "-o", "name"}, term.ExitOK, "nvidia-0000:1b:00.0\n", ""},
		"no device of a stack":  {[]string{"--requirement", "rocm"}, term.ExitFailure, "", "1 AMD GPU needed, 0 usable"},
		"vendor":                {[]string{"--vendor", "AMD", "-o", "name"}, term.ExitOK, "", ""},
		"bad selector":          {[]string{"--selector", "size>1"}, term.ExitUsage, "", `--selector size>1: position 1: unknown field "size"`},
		"order":                 {[]string{"--sort-by", "numa", "--selector", "numaNode=1", "-o", "name"}, term.ExitOK, "nvidia-0000:9d:00.0\n", ""},
		"bad order":             {[]string{"--sort-by", "size"}, term.ExitUsage, "", `sort key "size": use one of id, best`},
		"backend":               {[]string{"--backend", "nvidia,tpu", "-o", "yaml"}, term.ExitOK, "name: tpu", ""},
		"another backend":       {[]string{"--without", "nvidia"}, term.ExitOK, "No accelerators found.", ""},
		"bad backend":           {[]string{"--backend", "nvdia"}, term.ExitUsage, "", "--backend nvdia: no such backend: did you mean nvidia? There are "},
		"bad backend left out":  {[]string{"--without", "cpux"}, term.ExitUsage, "", "--without cpux: no such backend: did you mean cpu?"},
		"no backend":            {[]string{"--backend", "cpu", "--without", "cpu"}, term.ExitUsage, "", "leave no backend to look by"},
		"alert":                 {[]string{"--alert", "devices!=4", "-o", "name"}, term.ExitAlert, "nvidia-0000:1b:00.0", "alert devices!=4: 8 devices there"},
		"bad alert":             {[]string{"--alert", "memoryUsed>90"}, term.ExitUsage, "", `--alert memoryUsed>90: position 12: value "90" of memoryUsed`},
		"interval alone":        {[]string{"--interval", "1s"}, term.ExitUsage, "", "--interval 1s is the time between two looks of --watch: add that"},
		"short interval":        {[]string{"--watch", "--interval", "1ms"}, term.ExitUsage, "", "--interval 1ms: give at least 100ms"},
		"watch of rows":         {[]string{"--watch", "-o", "name"}, term.ExitUsage, "", "--watch prints changes"},
		"watch and record":      {[]string{"--watch", "--record", "x"}, term.ExitUsage, "", "give one of them"},
		"timings":               {[]string{"--timings", "-o", "name"}, term.ExitOK, "nvidia-0000:1b:00.0\n", "elapsed"},
		"CUDA and units":        {[]string{"-o", `jsonpath={.cudaVersion} {.computeUnits} {.readings.pcieMaxMBps}`}, term.ExitOK, "13.0 132 63015\n", ""},
		"sums":                  {[]string{"--summary"}, term.ExitOK, "all      all      all                     8         8        637.2 GiB   637.2 GiB", ""},
		"columns of nobody":     {[]string{"-o", "custom-columns=ID"}, term.ExitUsage, "", "position 1: column"},
		"format that is not":    {[]string{"-o", "xml"}, term.ExitUsage, "", "use one of table, wide, json, yaml, tsv, name, custom-columns=, jsonpath="},
		"JSON of some":          {[]string{"--selector", "numaNode=1", "-o", "json"}, term.ExitOK, `"devices": 4,`, ""},
		"requirement and alert": {[]string{"--requirement", "tpu", "--alert", "devices<1"}, term.ExitAlert, "", "alert devices<1: 0 devices there"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := hostRun(t, append(h100, test.args...)...)
			if r.Code != test.code || !strings.Contains(r.Out, test.out) || !strings.Contains(r.Err, test.errs) || test.errs == "" && r.Err != "" {
				t.Errorf("exit code %d, errors %q, output %q; want %d, %q and %q", r.Code, r.Err, r.Out, test.code, test.errs, test.out)
			}
		})
	}
}

func TestCompletionOfDetect(t *testing.T) {
	tests := map[string]struct {
		args []string
		want string
	}{
		"backends":            {[]string{"--backend", ""}, "nvidia\n"},
		"the next backend":    {[]string{"--without", "nvidia,"}, "nvidia,tpu\n"},
		"families":            {[]string{"--family", ""}, "ASIC\n"},
		"requirements":        {[]string{"--requirement", "g"}, "gaudi\n"},
		"sort keys":           {[]string{"--sort-by", ""}, "bandwidth\n"},
		"alerts":              {[]string{"--alert", "mem"}, "memoryUsed>\n"},
		"fields of selectors": {[]string{"--selector", "vendor=nvidia,"}, "vendor=nvidia,computeCapability=\n"},
		"formats":             {[]string{"-o", "cu"}, "custom-columns=\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := hostRun(t, append([]string{"__complete", "detect"}, test.args...)...)
			if r.Code != term.ExitOK || !strings.Contains("\n"+r.Out, "\n"+test.want) {
				t.Errorf("exit code %d, %q; want %q in it", r.Code, r.Out, test.want)
			}
			if name == "the next backend" && strings.Contains(r.Out, "nvidia,nvidia") {
				t.Errorf("what was given is offered again: %q", r.Out)
			}
		})
	}
}

// What docs/use/detect.md shows is what the command prints.
func TestTheDocumentationShowsRealOutput(t *testing.T) {
	path := filepath.Join("..", "..", "..", "docs", "use", "detect.md")
	page := clitest.ReadPage(t, path)
	printed := func(name string) string {
		golden, err := os.ReadFile(clitest.Testdata(t, "golden", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(golden)
	}
	_, matrix, _ := strings.Cut(printed("topology.txt"), "300 GB/s     nvidia-0000:{03,41}:00.0\n\n")
	_, changes, _ := strings.Cut(printed("watch.txt"), "\n~")
	const recorded = "detect --replay test/recordings/google-v5p-4.tar.gz"
	page.Show(t, recorded, hostOK(t, "detect", "--replay", clitest.RecordingOf(t, "google-v5p-4")))
	unmet := hostRun(t, "detect", "--replay", clitest.RecordingOf(t, "google-v5p-4"), "--requirement", "tpu>=8|gpu", "-o", "name")
	page.Show(t, recorded+" --requirement 'tpu>=8|gpu' -o name", unmet.Out+unmet.Err)
	page.ShowLine(t, "echo $?", fmt.Sprintln(unmet.Code))
	var note strings.Builder
	printAllotments(&note, alike(t), []string{"CUDA_VISIBLE_DEVICES=1,0"})
	page.ShowLine(t, "CUDA_VISIBLE_DEVICES=1,0 kubectl rankwright detect > /dev/null", note.String())
	page.Hold(t)
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"topology": matrix, "watch": changes} {
		if want == "" || !strings.Contains(string(content), want) {
			t.Errorf("%s: not in docs/use/detect.md:\n%s", name, want)
		}
	}
}

// TestSavedInventory: every question can be put to an inventory in a file, which must have no field that nobody knows.
func TestSavedInventory(t *testing.T) {
	recorded := []string{"detect", "--replay", clitest.RecordingOf(t, "nvidia-h100-8")}
	for _, format := range []string{"yaml", "json"} {
		saved := hostRun(t, append(recorded, "-o", format)...).Out
		for _, question := range [][]string{
			{},
			{"-o", "wide"},
			{"-o", "json"},
			{"--summary"},
			{"--selector", "numaNode=1", "-o", "tsv"},
			{"--requirement", "gpu>=9"},
			{"--alert", "devices<9"},
			{"-o", "custom-columns=ID:.id,USED:.readings.memoryUsedMiB"},
		} {
			want := hostRun(t, append(recorded, question...)...)
			got := clitest.Run(t, newHostRoot, saved, append([]string{"detect", "-f", "-"}, question...)...)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%v of a saved inventory (-of the host +of the file):\n%s", question, diff)
			}
		}
	}
	saved := hostRun(t, append(recorded, "-o", "yaml")...).Out
	for name, test := range map[string]struct {
		input string
		args  []string
		code  int
		want  string
	}{
		"unknown field": {strings.Replace(saved, "numaNode:", "numaNod:", 1), nil, term.ExitFailure, `unknown field "status.devices[0].numaNod"`},
		"two":           {saved + "---\n" + saved, nil, term.ExitFailure, "has 2 AcceleratorInventories: choose one with --name"},
		"another name":  {saved, []string{"--name", "x"}, term.ExitFailure, "has no AcceleratorInventory of the name x"},
		"no inventory":  {"apiVersion: v1\nkind: Node\n", nil, term.ExitFailure, "has no AcceleratorInventory: give one"},
		"and a tree":    {saved, []string{"--root", "/"}, term.ExitUsage, "give no --replay, --root"},
		"and a backend": {saved, []string{"--backend", "cpu"}, term.ExitUsage, "at which no backend looks"},
		"and a watch":   {saved, []string{"--watch"}, term.ExitUsage, "a saved inventory does not change"},
	} {
		r := clitest.Run(t, newHostRoot, test.input, append([]string{"detect", "-f", "-"}, test.args...)...)
		if r.Code != test.code || !strings.Contains(r.Err, test.want) {
			t.Errorf("%s: exit code %d, errors %q; want %d and %q", name, r.Code, r.Err, test.code, test.want)
		}
	}
}
