package host

import (
	"bytes"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// secrets are what no anonymous recording may hold, in any case of letters.
var secrets = []string{
	"gpu-rack7-n12", "corp.example.com", "login01", "1650000000001", "CZ2D1X0ABC", "S4EVNX0R123456", "1B0F0F2A", "a1b2c3d4-e5f6",
	"a1b2c3d4e5f6", "02:42:ac:11:00:02", "b8:3f:d2:aa:bb:cc", "b83fd2aabbcc", "0c42:a103:0012:3456", "0c42a10300123456",
	"e3a9c1f2b4d5e6f1", "16404856365833905905", "15188982192727901047", "10.20.30.41", "0a14:1e29", "fd00::1:2", "2a02:26f7",
	"alice", "bob", "train_secret.py", "vault-token", "i-0abc1234def567890", "7f3c9a5e", "d00dfeedcafe", "hunter2", "fileserver9",
	"9f86d081884c7d65", "team-budget", "b0a1d500", "QX77", "TN0001", "LQAC2", "5ca1ab1e00c0ffee", "b83fd2ffff00aa01",
}

// secretive is a recording with identifiers wherever a host has some.
func secretive(t testing.TB) *Recording {
	t.Helper()
	const gpu = "/sys/devices/pci0000:16/0000:17:00.0/"
	const pod = "kubepods-burstable-pod1b0f0f2a_a1b2_4c3d_8e4f_d00dfeedcafe.slice"
	const container = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
	const uuid = "GPU-a1b2c3d4-e5f6-4711-8123-d00dfeedcafe"
	r := NewRecording()
	for name, content := range map[string]string{
		"/proc/sys/kernel/hostname":  "GPU-rack7-n12\n",
		"/proc/sys/kernel/osrelease": "6.8.0-45-generic\n",
		"/etc/hosts":                 "127.0.0.1 localhost\n10.20.30.41 gpu-rack7-n12.corp.example.com gpu-rack7-n12 # seat of alice\n10.20.30.42\tlogin01\nfd00::1:2 login01\n",
		"/etc/machine-id":            "7f3c9a5e1b0f0f2aa1b2c3d4e5f60718\n",
		"/etc/os-release":            "PRETTY_NAME=\"Ubuntu 24.04 LTS\"\n",
		"/proc/cmdline":              "BOOT_IMAGE=/vmlinuz root=UUID=1b0f0f2a-a1b2-4c3d-8e4f-d00dfeedcafe ro intel_iommu=on token=vault-token ip=10.20.30.41::10.20.30.1\n",
		"/proc/cpuinfo":              "processor : 0\nmodel name : CPU\nphysical id : 0\ncore id : 0\nSerial\t\t: 1B0F0F2A00000001\n",
		"/proc/meminfo":              "MemTotal: 2097152 kB\n",
		"/proc/self/cgroup":          "0::/kubepods.slice/" + pod + "/cri-containerd-" + container + ".scope\n",
		"/sys/fs/cgroup/kubepods.slice/" + pod + "/cri-containerd-" + container + ".scope/memory.max": "1073741824\n",
		"/proc/self/mountinfo": "36 35 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup rw\n" +
			"40 35 0:50 / / rw - overlay overlay rw,lowerdir=/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots/7/fs\n" +
			"41 40 0:51 /export/team-budget /home/alice rw - nfs4 fileserver9:/export/team-budget rw,vers=4.2,addr=10.20.30.41,username=bob,password=hunter2\n" +
			"42 40 8:1 /var/lib/kubelet/pods/1b0f0f2a-a1b2-4c3d-8e4f-d00dfeedcafe/volumes/kubernetes.io~secret/vault-token /data rw - ext4 /dev/sda1 rw\n",
		"/sys/class/dmi/id/product_serial":                  "CZ2D1X0ABC\n",
		"/sys/class/dmi/id/board_serial":                    "QX77\n",
		"/sys/class/dmi/id/chassis_serial":                  "To Be Filled By O.E.M.\n",
		"/sys/class/dmi/id/product_uuid":                    "A1B2C3D4-E5F6-4711-8123-D00DFEEDCAFE\n",
		"/sys/class/dmi/id/chassis_asset_tag":               "7783-7084-3265-9085-8269-3286-77\n",
		"/sys/class/nvme/nvme0/serial":                      "S4EVNX0R123456      \n",
		"/sys/class/nvme/nvme0/nvme0n1/wwid":                "eui.b0a1d500a1b2c3d4\n",
		"/sys/class/net/eth0/address":                       "b8:3f:d2:aa:bb:cc\n",
		"/sys/class/net/eth0/phys_switch_id":                "b83fd2ffff00aa01\n",
		"/sys/class/neuron_device/server_id_4":              "5ca1ab1e00c0ffee\n",
		"/sys/class/net/lo/address":                         "00:00:00:00:00:00\n",
		"/sys/class/net/enxb83fd2aabbcc/address":            "b8:3f:d2:aa:bb:cc\n",
		"/sys/class/net/ib0/address":                        "80:00:00:48:fe:80:00:00:00:00:00:00:0c:42:a1:03:00:12:34:56\n",
		"/sys/class/infiniband/mlx5_0/node_guid":            "0c42:a103:0012:3456\n",
		"/sys/class/infiniband/mlx5_0/node_desc":            "gpu-rack7-n12 mlx5_0\n",
		"/sys/class/infiniband/mlx5_0/fw_ver":               "20.39.100.4\n",
		"/sys/class/infiniband/mlx5_0/ports/1/gids/0":       "fe80:0000:0000:0000:0c42:a103:0012:3456\n",
		"/sys/class/infiniband/mlx5_0/ports/1/gids/1":       "0000:0000:0000:0000:0000:ffff:0a14:1e29\n",
		"/sys/class/infiniband/mlx5_0/ports/1/gids/2":       "0000:0000:0000:0000:0000:0000:0000:0000\n",
		"/sys/class/infiniband/mlx5_0/ports/1/gids/3":       "2a02:26f7:0000:0001:0c42:a103:0012:3456\n",
		"/sys/bus/pci/devices/0000:17:00.0/config":          strings.Repeat("\x10", 64) + "alice",
		"/sys/bus/pci/devices/0000:17:00.0/vpd":             "alice",
		"/sys/devices/pci0000:40/0000:41:00.0/unique_id":    "e3a9c1f2b4d5e6f1\n",
		"/sys/class/kfd/kfd/topology/nodes/2/properties":    "simd_count 416\nunique_id 16404856365833905905\nhive_id 15188982192727901047\nlocal_mem_size 0\n",
		"/sys/devices/pci0000:40/0000:41:00.0/xgmi_hive_id": "15188982192727901047\n",
		gpu + "vendor": "0x10de\n", gpu + "device": "0x2330\n", gpu + "class": "0x030200\n",
		gpu + "resource": "0x0000000091000000 0x0000000091ffffff 0x0000000000140204\n",
		"/proc/driver/nvidia/gpus/0000:17:00.0/information": "Model: \t NVIDIA H100 80GB HBM3\nGPU UUID: \t " + uuid + "\nVideo BIOS: \t 96.00.99.00.01\nDevice Minor: \t 0\n",
	} {
		if strings.Contains(name, "/bus/pci/devices/") {
			name = gpu + name[strings.LastIndex(name, "/")+1:]
		}
		if err := r.AddFile(name, content); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{
		"/sys/bus/pci/devices/0000:17:00.0":   "../../../devices/pci0000:16/0000:17:00.0",
		gpu + "driver":                        "../../../bus/pci/drivers/nvidia",
		"/dev/disk/by-id/nvme-S4EVNX0R123456": "../../nvme0n1",
		"/dev/by-uuid":                        "/dev/disk/a1b2c3d4-e5f6-4711-8123-d00dfeedcafe",
	} {
		if err := r.AddLink(name, target); err != nil {
			t.Fatal(err)
		}
	}
	report := `<nvidia_smi_log><driver_version>590.48.01</driver_version><gpu id="00000000:17:00.0"><product_name>NVIDIA H100 80GB HBM3</product_name>` +
		`<serial>1650000000001</serial><uuid>` + uuid + `</uuid><pdi>0xe3a9c1f2b4d5e6f1</pdi><fb_memory_usage><total>81559 MiB</total></fb_memory_usage>` +
		`<processes><process_info><pid>12</pid><process_name>/usr/bin/python3 train_secret.py</process_name></process_info></processes></gpu></nvidia_smi_log>`
	neuron := `{"instance_id": "i-0abc1234def567890", "driver version": "1.14.0.2", "serial": 16500001,
		"neuron_processes": [{"pid": 7, "command": "python \"train_secret.py\" --user bob", "user": "bob"}], "host_ip": "10.20.30.41", "path": "/home/alice/x"}`
	for _, c := range []struct {
		out, err string
		argv     []string
	}{
		{report, "", []string{"nvidia-smi", "-q", "-x"}},
		{"GPU 0: NVIDIA H100 80GB HBM3 (UUID: " + uuid + ")\n", "", []string{"nvidia-smi", "-L"}},
		{neuron, "gpu-rack7-n12: warning: mac:02:42:ac:11:00:02, 02-42-AC-11-00-02, serial 1650000000001", []string{"neuron-ls", "-j", uuid}},
		{"0000:17:00.0, 01P0-HL2080A0-15-TN0001-03-07-00, 96\n", "", []string{"hl-smi", "-Q", "bus_id,uuid,memory.total", "-f", "csv,noheader"}},
		{"Device ID,\"Serial Number\",Name\n0,\"LQAC2,1500D\",Data Center GPU\n", "", []string{"xpu-smi", "discovery"}},
		{"Node GUID: 0x0c42a10300123456\nHost Name : GPU-RACK7-N12\nFirmware version: 1.2.3.4\n", "", []string{"ibstat"}},
	} {
		if err := r.AddCommand(CommandResult{Stdout: []byte(c.out), Stderr: []byte(c.err)}, c.argv...); err != nil {
			t.Fatal(err)
		}
	}
	r.Readme = "One host."
	return r
}

// everything is all texts of a recording in one.
func everything(r *Recording) string {
	var all strings.Builder
	all.WriteString(r.Readme)
	for name, e := range r.entries {
		fmt.Fprintf(&all, "\n%s\n%s", name, e.data)
	}
	for _, c := range r.commands {
		fmt.Fprintf(&all, "\n%q\n%s\n%s\n%s", c.Argv, c.Stdout, c.Stderr, c.Error)
	}
	return all.String()
}

func anonymized(t testing.TB, r *Recording) (*Recording, *Replacements) {
	t.Helper()
	anonymous, replacements, err := r.Anonymize()
	if err != nil {
		t.Fatal(err)
	}
	return anonymous, replacements
}

func TestAnonymousRecordingTellsNoSecret(t *testing.T) {
	original := secretive(t)
	before := strings.ToLower(everything(original))
	anonymous, _ := anonymized(t, original)
	after := strings.ToLower(everything(anonymous))
	for _, secret := range secrets {
		secret = strings.ToLower(secret)
		if !strings.Contains(before, secret) && !strings.Contains(before, strings.ReplaceAll(secret, "-", "_")) {
			t.Errorf("%s is not in the recording: the test tests nothing", secret)
		}
		if at := strings.Index(after, secret); at >= 0 {
			t.Errorf("%s is left: …%q…", secret, after[max(0, at-60):min(len(after), at+60)])
		}
	}
	if !strings.HasPrefix(anonymous.Readme, "One host.\n\nIdentifiers were replaced") || !strings.Contains(anonymous.Readme, "host names: ") {
		t.Errorf("README: %s", anonymous.Readme)
	}
}

func TestAnonymizeKeepsFormsAndIdentity(t *testing.T) {
	anonymous, _ := anonymized(t, secretive(t))
	files := anonymous.Host().Files
	want := map[string]string{
		"/proc/sys/kernel/hostname":  "host-1",
		"/proc/sys/kernel/osrelease": "6.8.0-45-generic",
		"/etc/hosts":                 "127.0.0.1 localhost\n192.0.2.1 host-1.domain-1.invalid host-1 #\n192.0.2.2\thost-2\n2001:db8::1 host-2",
		"/etc/machine-id":            "00000000000040008000000000000002",
		"/etc/os-release":            `PRETTY_NAME="Ubuntu 24.04 LTS"`,
		"/proc/cmdline":              "BOOT_IMAGE=value-1 root=value-2 ro intel_iommu=on token=value-3 ip=value-4",
		"/proc/self/mountinfo": "36 35 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup rw\n" +
			"40 35 0:50 / / rw - overlay overlay rw,lowerdir=/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots/7/fs\n" +
			"41 40 0:51 /step-1/step-2 /home/user-1 rw - nfs4 step-3:/step-1/step-2 rw,vers=4.2,addr=192.0.2.1,step-4=step-5,step-6=step-7\n" +
			"42 40 8:1 /var/lib/kubelet/pods/00000000-0000-4000-8000-000000000003/volumes/kubernetes.io~secret/step-8 /data rw - ext4 /dev/sda1 rw",
		"/proc/self/cgroup": "0::/kubepods.slice/kubepods-burstable-pod00000000_0000_4000_8000_000000000003.slice/cri-containerd-" +
			strings.Repeat("0", 63) + "1.scope",
		"/sys/class/dmi/id/product_serial":            "AA0A0A0AAB",
		"/sys/class/dmi/id/board_serial":              "AA01",
		"/sys/class/dmi/id/chassis_serial":            "To Be Filled By O.E.M.",
		"/sys/class/dmi/id/product_uuid":              "00000000-0000-4000-8000-000000000001",
		"/sys/class/dmi/id/chassis_asset_tag":         "7783-7084-3265-9085-8269-3286-77",
		"/sys/class/nvme/nvme0/serial":                "A0AAAA0A000001",
		"/sys/class/net/eth0/address":                 "02:00:00:00:00:01",
		"/sys/class/net/eth0/phys_switch_id":          "1000000000000005",
		"/sys/class/neuron_device/server_id_4":        "1000000000000006",
		"/sys/class/net/lo/address":                   "00:00:00:00:00:00",
		"/sys/class/net/enx020000000001/address":      "02:00:00:00:00:01",
		"/sys/class/net/ib0/address":                  "00:00:00:00:fe:80:00:00:00:00:00:00:10:00:00:00:00:00:00:01",
		"/sys/class/infiniband/mlx5_0/node_guid":      "1000:0000:0000:0001",
		"/sys/class/infiniband/mlx5_0/node_desc":      "host-1 mlx5_0",
		"/sys/class/infiniband/mlx5_0/fw_ver":         "20.39.100.4",
		"/sys/class/infiniband/mlx5_0/ports/1/gids/0": "fe80:0000:0000:0000:1000:0000:0000:0001",
		"/sys/class/infiniband/mlx5_0/ports/1/gids/1": "0000:0000:0000:0000:0000:ffff:c000:0201",
		"/sys/class/infiniband/mlx5_0/ports/1/gids/2": "0000:0000:0000:0000:0000:0000:0000:0000",
		"/sys/bus/pci/devices/0000:17:00.0/resource":  "0x0000000091000000 0x0000000091ffffff 0x0000000000140204",
		"/sys/bus/pci/devices/0000:17:00.0/config":    strings.Repeat("\x10", 64),
	}
	got := map[string]string{}
	for name := range want {
		text, ok, err := ReadText(files, name)
		if !ok || err != nil {
			t.Errorf("%s: %v, %v", name, ok, err)
		}
		got[name] = text
	}
	// The first of a form is what it is by the order of the recording; only its form and what equals it matter.
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for name, value := range map[string]string{"/dev/disk/by-id/nvme-A0AAAA0A000001": "../../nvme0n1", "/dev/by-uuid": "/dev/disk/00000000-0000-4000-8000-000000000001"} {
		if target, err := files.ReadLink(name); target != value || err != nil {
			t.Errorf("%s -> %s, %v", name, target, err)
		}
	}
	if _, err := files.ReadFile("/sys/bus/pci/devices/0000:17:00.0/vpd"); err == nil {
		t.Error("binary product data is kept")
	}
}

// What names a device in one tool's output names it in every other's, and in files.
func TestAnonymizeIsConsistentAcrossTools(t *testing.T) {
	_, replacements := anonymized(t, secretive(t))
	for form, want := range map[string]string{
		"GPU-a1b2c3d4-e5f6-4711-8123-d00dfeedcafe": "GPU-00000000-0000-4000-8000-000000000001",
		"GPU-A1B2C3D4-E5F6-4711-8123-D00DFEEDCAFE": "GPU-00000000-0000-4000-8000-000000000001",
		"a1b2c3d4e5f647118123d00dfeedcafe":         "00000000000040008000000000000001",
		"0c42:a103:0012:3456":                      "1000:0000:0000:0001",
		"0x0c42a10300123456":                       "0x1000000000000001",
		"0c:42:a1:03:00:12:34:56":                  "10:00:00:00:00:00:00:01",
		"fe80:0000:0000:0000:0c42:a103:0012:3456":  "fe80:0000:0000:0000:1000:0000:0000:0001",
		"b8:3f:d2:aa:bb:cc":                        "02:00:00:00:00:01",
		"B8-3F-D2-AA-BB-CC":                        "02-00-00-00-00-01",
		"enxb83fd2aabbcc":                          "enx020000000001",
		"board 1650000000001.":                     "board 1000000000001.",
		"<serial>1650000000001</serial>":           "<serial>1000000000001</serial>",
		"Serial Number : 1650000000001":            "Serial Number : 1000000000001",
		"gpu-rack7-n12: ok":                        "host-1: ok",
		"GPU-rack7-n12.corp.example.com":           "host-1.domain-1.invalid",
	} {
		if got := replacements.Apply(form); got != want {
			t.Errorf("%s becomes %s, want %s", form, got, want)
		}
	}
	hexadecimal, decimal := replacements.Apply("e3a9c1f2b4d5e6f1"), replacements.Apply("16404856365833905905")
	id, err := parseID(hexadecimal, 16)
	if got, err2 := parseID(decimal, 10); err != nil || err2 != nil || id != got {
		t.Errorf("one id is %s in hexadecimal and %s in decimal", hexadecimal, decimal)
	}
}

func TestAnonymizeKeepsFailures(t *testing.T) {
	r := NewRecording()
	if err := r.add("/proc/driver/nvidia/version", &entry{mode: 0o444, err: fs.ErrPermission}); err != nil {
		t.Fatal(err)
	}
	if err := r.addCommand(recordedCommand{Argv: []string{"ibstat"}, Error: "cannot reach 10.1.2.3"}); err != nil {
		t.Fatal(err)
	}
	anonymous, _ := anonymized(t, r)
	if _, err := anonymous.Host().Files.ReadFile("/proc/driver/nvidia/version"); err == nil || !strings.HasSuffix(err.Error(), fs.ErrPermission.Error()) {
		t.Errorf("%v", err)
	}
	if _, err := anonymous.Host().Commands.Run(t.Context(), "ibstat"); err == nil || strings.Contains(err.Error(), "10.1.2.3") {
		t.Errorf("%v", err)
	}
}

func TestSerialNumbersKeepTheirForm(t *testing.T) {
	p := newPseudonyms(map[string]bool{})
	for _, test := range []struct{ value, want string }{
		{"1650000000001", "1000000000001"},
		{"1650000000002", "1000000000002"},
		{"0650000000002", "0000000000001"},
		{"MT2250X00", "AA0000A01"},
		{"abcdef12", "aaaaaa01"},
		{"abcdxf12", "aaaaaa01"},
		{"SN-12/AB", "AA-00/AB"},
		{"ünïcode7", "üaïaaaa1"},
		{"N/A", "N/A"},
		{"[N/A]", "[N/A]"},
		{"0000000", "0000000"},
		{"", ""},
	} {
		if got := p.serial(test.value); got != test.want {
			t.Errorf("%q becomes %q, want %q", test.value, got, test.want)
		}
	}
	seen := map[string]string{}
	for i := range 2000 {
		value := fmt.Sprintf("SN%04dQ", i)
		replacement := p.serial(value)
		if other, ok := seen[replacement]; ok && other != value {
			t.Fatalf("%s and %s both become %s", value, other, replacement)
		}
		seen[replacement] = value
	}
}

func FuzzAnonymize(f *testing.F) {
	f.Add("GPU UUID: GPU-a1b2c3d4-e5f6-4711-8123-d00dfeedcafe\n<serial>1650000000001</serial>", "nvidia-smi")
	f.Add(`{"uuid": "x", "command": "python \"a\"", "serial": 12}`, "neuron-ls")
	f.Add("36 35 0:26 / /a/b rw - nfs4 server:/x rw,addr=10.1.2.3", "/proc/self/mountinfo")
	f.Add("fe80::1 a.b.c #\n10.0.0.1 d", "/etc/hosts")
	f.Add("a=b quiet", "/proc/cmdline")
	f.Add("02:42:ac:11:00:02", "/sys/class/net/e/address")
	f.Fuzz(func(t *testing.T, text, place string) {
		const host, uuid, mac = "secret-host-9", "d00dfeed-cafe-4711-8123-a1b2c3d4e5f6", "b8:3f:d2:aa:bb:cc"
		r := NewRecording()
		if err := r.AddFile("/proc/sys/kernel/hostname", host+"\n"); err != nil {
			t.Fatal(err)
		}
		said := text + "\n" + host + " " + uuid + " " + mac + "\n"
		if r.AddFile(place, said) != nil && r.AddCommand(CommandResult{Stdout: []byte(said), Stderr: []byte(text)}, place) != nil {
			t.Skip()
		}
		anonymous, _, err := r.Anonymize()
		if err != nil {
			t.Skip(err) // names that become one
		}
		all := strings.TrimPrefix(everything(anonymous), text)
		for _, secret := range []string{host, uuid, mac} {
			if !strings.Contains(text, secret) && !strings.Contains(place, secret) && strings.Contains(all, " "+secret) {
				t.Errorf("%s is left in %q", secret, all)
			}
		}
		again, _, err := r.Anonymize()
		if err != nil || !bytes.Equal(pack(t, anonymous), pack(t, again)) {
			t.Errorf("made anonymous in two ways: %v", err)
		}
	})
}
