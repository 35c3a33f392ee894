package host_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/detect/machine"
)

// liveNVIDIA is a root on disk with one GPU, and a script for its tool.
func liveNVIDIA(t *testing.T) *host.Host {
	t.Helper()
	const gpu = "sys/devices/pci0000:16/0000:16:01.0/0000:17:00.0/"
	root := host.Tree(t, map[string]string{
		gpu + "vendor": "0x10de\n", gpu + "device": "0x2330\n", gpu + "class": "0x030200\n", gpu + "revision": "0xa1\n",
		gpu + "subsystem_vendor": "0x10de\n", gpu + "subsystem_device": "0x16c1\n", gpu + "numa_node": "1\n",
		gpu + "max_link_speed": "32.0 GT/s PCIe\n", gpu + "max_link_width": "16\n", gpu + "driver": "->../../../../bus/pci/drivers/nvidia",
		"sys/bus/pci/drivers/nvidia/":                      "",
		"sys/bus/pci/devices/0000:17:00.0":                 "->../../../devices/pci0000:16/0000:16:01.0/0000:17:00.0",
		"sys/bus/pci/devices/0000:99:00.0":                 "->../../../devices/gone",
		"sys/class/dmi":                                    "->../devices/virtual/dmi",
		"sys/devices/virtual/dmi/id/sys_vendor":            "Amazon EC2\n",
		"sys/devices/virtual/dmi/id/product_name":          "p5.48xlarge\n",
		"proc/cpuinfo":                                     "processor : 0\nmodel name : CPU\nphysical id : 0\ncore id : 0\n",
		"proc/meminfo":                                     "MemTotal: 2097152 kB\n",
		"proc/driver/nvidia/version":                       "NVRM version: NVIDIA UNIX x86_64 Kernel Module  590.48.01\n",
		"proc/driver/nvidia/gpus/0000:17:00.0/information": "Model: \t NVIDIA H100 80GB HBM3\nDevice Minor: \t 0\n",
		"proc/self":                                        "->42",
		"proc/42/cgroup":                                   "0::/a\n",
		"sys/fs/cgroup/a/memory.max":                       "1073741824\n",
	})
	folder := t.TempDir()
	script := "#!/bin/sh\n[ \"$*\" = '-q -x' ] || exit 2\ncat <<'REPORT'\n" +
		`<nvidia_smi_log><driver_version>590.48.01</driver_version><gpu id="00000000:17:00.0"><product_name>NVIDIA H100 80GB HBM3</product_name>` +
		"<uuid>GPU-1</uuid><fb_memory_usage><total>81559 MiB</total></fb_memory_usage></gpu></nvidia_smi_log>\nREPORT\n"
	if err := os.WriteFile(filepath.Join(folder, "nvidia-smi"), []byte(script), 0o755); err != nil { //nolint:gosec // it is run
		t.Fatal(err)
	}
	return &host.Host{Files: host.LiveFiles(root), Commands: host.FolderCommands("", []string{folder, "/usr/bin", "/bin"}, nil)}
}

func TestReplayGivesWhatTheLiveHostGave(t *testing.T) {
	nvidia := liveNVIDIA(t)
	for name, live := range map[string]*host.Host{"with tools": nvidia, "without": {Files: nvidia.Files}} {
		t.Run(name, func(t *testing.T) {
			want := detectJSON(t, live)
			recordedHost, recording := host.Record(live)
			if diff := cmp.Diff(want, detectJSON(t, recordedHost)); diff != "" {
				t.Errorf("recording changes what is found:\n%s", diff)
			}
			packed := host.Pack(t, recording)
			replayed, err := host.ReadRecording(bytes.NewReader(packed))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, detectJSON(t, replayed.Host())); diff != "" {
				t.Errorf("replay differs from the live host:\n%s", diff)
			}
			if !bytes.Equal(packed, host.Pack(t, replayed)) {
				t.Error("packing what was unpacked gives other bytes")
			}
			secondHost, second := host.Record(live)
			detectJSON(t, secondHost)
			if !bytes.Equal(packed, host.Pack(t, second)) {
				t.Error("recording the same host again gives other bytes")
			}
		})
	}
}

func detectJSON(t *testing.T, h *host.Host) string {
	t.Helper()
	status, err := json.MarshalIndent(detect.Detect(t.Context(), h, detect.Options{}).Status, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(status)
}

func TestReplayOfThisHost(t *testing.T) {
	live, err := host.LiveHost("/", host.LiveCommands())
	if err != nil {
		t.Fatal(err)
	}
	if !host.Exists(live.Files, "/proc/meminfo") || !host.Exists(live.Files, "/sys/bus") {
		t.Skip("this system has no /proc and /sys")
	}
	want := detect.Detect(t.Context(), live, detect.Options{Backends: []backend.Backend{machine.CPU()}}).Status
	if want.Host.CPU.Threads == 0 || want.Host.Memory.TotalMiB == 0 || want.Host.Kernel == "" {
		t.Errorf("%+v", want.Host)
	}
	recordedHost, recording := host.Record(live)
	detect.Detect(t.Context(), recordedHost, detect.Options{})
	replayed, err := host.ReadRecording(bytes.NewReader(host.Pack(t, recording)))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, detect.Detect(t.Context(), replayed.Host(), detect.Options{Backends: []backend.Backend{machine.CPU()}}).Status); diff != "" {
		t.Error(diff)
	}
}

func TestReplayOfAnonymousRecording(t *testing.T) {
	original := host.Secretive(t)
	anonymous, replacements := host.Anonymized(t, original)
	live := detectJSON(t, original.Host())
	want := replacements.Apply(live)
	if want == live {
		t.Error("nothing in the inventory was replaced: the test tests nothing")
	}
	if diff := cmp.Diff(want, detectJSON(t, anonymous.Host())); diff != "" {
		t.Errorf("replay differs by more than the replacements (-want +got):\n%s", diff)
	}
	packed := host.Pack(t, anonymous)
	again, _ := host.Anonymized(t, host.Secretive(t))
	if !bytes.Equal(packed, host.Pack(t, again)) {
		t.Error("the same recording is made anonymous in two ways")
	}
	unpacked, err := host.ReadRecording(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, detectJSON(t, unpacked.Host())); diff != "" {
		t.Error(diff)
	}
	if original.Readme != "One host." || !strings.Contains(host.Everything(original), "gpu-rack7-n12") {
		t.Error("the original was changed")
	}
}

// A host that is called as a driver must not cost the driver's devices.
func TestAnonymizeHostNamedAsADriver(t *testing.T) {
	for _, name := range []string{"nvidia", "vendor", "0000", "a", ""} {
		original := host.SecretiveCalled(t, name)
		anonymous, replacements := host.Anonymized(t, original)
		if diff := cmp.Diff(replacements.Apply(detectJSON(t, original.Host())), detectJSON(t, anonymous.Host())); diff != "" {
			t.Errorf("host %q:\n%s", name, diff)
		}
	}
}

func FuzzReadRecording(f *testing.F) {
	f.Add(host.Archive(f, host.File("rootfs/proc/cpuinfo", "processor : 0"), host.File("commands.jsonl", `{"argv":["nvidia-smi","-q","-x"],"exitCode":0}`)))
	f.Fuzz(func(t *testing.T, data []byte) {
		recording, err := host.ReadRecording(bytes.NewReader(data))
		if err != nil {
			return
		}
		for _, b := range detect.Detect(t.Context(), recording.Host(), detect.Options{}).Status.Backends {
			if b.ErrorKind == v1alpha1.ErrorDefect {
				t.Errorf("%s: %s", b.Name, b.Message)
			}
		}
		packed := host.Pack(t, recording)
		again, err := host.ReadRecording(bytes.NewReader(packed))
		if err != nil {
			t.Fatalf("what was written cannot be read: %v", err)
		}
		if !bytes.Equal(packed, host.Pack(t, again)) {
			t.Error("reading what was written and writing it gives other bytes")
		}
	})
}
