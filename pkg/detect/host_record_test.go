//go:build unix

package detect

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// liveNVIDIA is a root on disk with one GPU, and a script for its tool.
func liveNVIDIA(t *testing.T) *Host {
	t.Helper()
	const gpu = "sys/devices/pci0000:16/0000:16:01.0/0000:17:00.0/"
	root := tree(t, map[string]string{
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
	return &Host{Files: LiveFiles(root), Commands: newCommands("/", []string{folder, "/usr/bin", "/bin"}, nil)}
}

func TestReplayGivesWhatTheLiveHostGave(t *testing.T) {
	live := liveNVIDIA(t)
	for name, host := range map[string]*Host{"with tools": live, "without": {Files: live.Files}} {
		t.Run(name, func(t *testing.T) {
			want := detectJSON(t, host)
			recordedHost, recording := Record(host)
			if diff := cmp.Diff(want, detectJSON(t, recordedHost)); diff != "" {
				t.Errorf("recording changes what is found:\n%s", diff)
			}
			packed := pack(t, recording)
			replayed, err := ReadRecording(bytes.NewReader(packed))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, detectJSON(t, replayed.Host())); diff != "" {
				t.Errorf("replay differs from the live host:\n%s", diff)
			}
			if !bytes.Equal(packed, pack(t, replayed)) {
				t.Error("packing what was unpacked gives other bytes")
			}
			secondHost, second := Record(host)
			detectJSON(t, secondHost)
			if !bytes.Equal(packed, pack(t, second)) {
				t.Error("recording the same host again gives other bytes")
			}
		})
	}
}

func detectJSON(t *testing.T, host *Host) string {
	t.Helper()
	status, err := json.MarshalIndent(Detect(t.Context(), host, Options{}).Status, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(status)
}

// failing is Files and Commands that fail as hosts do.
type failing struct{ Files }

func (f failing) ReadFile(name string) ([]byte, error) {
	switch name {
	case "/secret":
		return nil, pathError("read", name, fs.ErrPermission)
	case "/broken":
		return nil, pathError("read", name, errors.New("input/output error"))
	}
	return f.Files.ReadFile(name)
}

func (failing) Run(_ context.Context, argv ...string) (CommandResult, error) {
	switch argv[0] {
	case "slow":
		return CommandResult{}, commandError(argv, context.DeadlineExceeded)
	case "large":
		return CommandResult{}, commandError(argv, ErrTooLarge)
	case "odd":
		return CommandResult{ExitCode: 7, Stdout: []byte("<&>\u2028"), Stderr: []byte("e")}, nil
	default:
		return CommandResult{}, commandError(argv[:1], ErrNoCommand)
	}
}

func TestReplayFailsAsTheHostDid(t *testing.T) {
	live := failing{LiveFiles(tree(t, map[string]string{"secret": "x", "broken": "x", "seen": "x"}))}
	host, recording := Record(&Host{Files: live, Commands: live})
	try := func(host *Host) (said []string) {
		for _, name := range []string{"/secret", "/broken", "/absent"} {
			_, err := host.Files.ReadFile(name)
			said = append(said, err.Error())
		}
		for _, tool := range []string{"slow", "large", "odd", "none"} {
			result, err := host.Commands.Run(t.Context(), tool, "-x")
			said = append(said, string(result.Stdout)+string(result.Stderr))
			if err != nil {
				said = append(said, err.Error())
			}
		}
		return said
	}
	want := try(host)
	if _, err := host.Files.ReadDir("/"); err != nil {
		t.Fatal(err)
	}
	replayed, err := ReadRecording(bytes.NewReader(pack(t, recording)))
	if err != nil {
		t.Fatal(err)
	}
	again := replayed.Host()
	if diff := cmp.Diff(want, try(again)); diff != "" {
		t.Error(diff)
	}
	if _, err := again.Files.ReadFile("/secret"); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("permission: %v", err)
	}
	for tool, want := range map[string]error{"slow": context.DeadlineExceeded, "large": ErrTooLarge, "none": ErrNoCommand} {
		if _, err := again.Commands.Run(t.Context(), tool, "-x"); !errors.Is(err, want) {
			t.Errorf("%s: %v", tool, err)
		}
	}
	if names, err := again.Files.ReadDir("/"); len(names) != 3 || err != nil {
		t.Errorf("%v, %v", names, err)
	}
	if _, err := again.Files.ReadFile("/seen"); !errors.Is(err, errNotRecorded) || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that was seen and not read: %v", err)
	}
}

func TestReplayOfThisHost(t *testing.T) {
	host, err := LiveHost("/", LiveCommands())
	if err != nil {
		t.Fatal(err)
	}
	if !exists(host.Files, "/proc/meminfo") || !exists(host.Files, "/sys/bus") {
		t.Skip("this system has no /proc and /sys")
	}
	want := Detect(t.Context(), host, Options{Backends: []Backend{CPU()}}).Status
	if want.Host.CPU.Threads == 0 || want.Host.Memory.TotalMiB == 0 || want.Host.Kernel == "" {
		t.Errorf("%+v", want.Host)
	}
	recordedHost, recording := Record(host)
	Detect(t.Context(), recordedHost, Options{})
	replayed, err := ReadRecording(bytes.NewReader(pack(t, recording)))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, Detect(t.Context(), replayed.Host(), Options{Backends: []Backend{CPU()}}).Status); diff != "" {
		t.Error(diff)
	}
}
