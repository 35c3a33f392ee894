package machine_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/machine"
	"github.com/rankwright/rankwright/test/recordings/compose"
)

// hostFacts is what the CPU backend finds on a host of files.
func hostFacts(t *testing.T, files map[string]string) (v1alpha1.Host, v1alpha1.BackendStatus) {
	t.Helper()
	h := compose.New("host")
	h.Files("/", files)
	status := detect.Detect(t.Context(), h.Replay(t), detect.Options{Backends: []backend.Backend{machine.CPU()}}).Status
	return status.Host, status.Backends[0]
}

const (
	armInfo = "processor\t: 0\nBogoMIPS\t: 2000.00\nCPU implementer\t: 0x41\nCPU part\t: 0xd4f\n\nprocessor\t: 1\nCPU implementer\t: 0x41\nCPU part\t: 0xd4f\n"
	x86Info = "processor\t: 0\ncpu family\t: 6\nmodel name\t: Xeon\nphysical id\t: 0\ncore id\t\t: 0\n\n" +
		"processor\t: 1\nmodel name\t: Xeon\nphysical id\t: 1\ncore id\t\t: 0\n\n" +
		"processor\t: 2\nmodel name\t: Xeon\nphysical id\t: 0\ncore id\t\t: 0\n"
)

func TestCPU(t *testing.T) {
	topology := map[string]string{
		"sys/devices/system/cpu/cpu0/topology/physical_package_id": "0", "sys/devices/system/cpu/cpu0/topology/core_id": "0",
		"sys/devices/system/cpu/cpu10/topology/physical_package_id": "1", "sys/devices/system/cpu/cpu10/topology/core_id": "0",
		"sys/devices/system/cpu/cpufreq/x": "", "sys/devices/system/cpu/cpu11/online": "0",
	}
	tests := map[string]struct {
		info, arch string
		topology   map[string]string
		want       v1alpha1.CPU
	}{
		"x86: cores are counted per socket": {x86Info, "", nil, v1alpha1.CPU{Model: "Xeon", Architecture: "amd64", Sockets: 2, Cores: 2, Threads: 3}},
		"Arm: sockets from sysfs":           {armInfo, "", topology, v1alpha1.CPU{Model: "Arm Neoverse V2", Architecture: "arm64", Sockets: 2, Cores: 2, Threads: 2}},
		"the kernel's own word":             {armInfo, "riscv64", nil, v1alpha1.CPU{Model: "Arm Neoverse V2", Architecture: "riscv64", Threads: 2}},
		"only sysfs":                        {"", "x86_64", topology, v1alpha1.CPU{Architecture: "amd64", Sockets: 2, Cores: 2, Threads: 2}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"proc/cpuinfo": test.info, "proc/meminfo": "MemTotal: 1048576 kB", "proc/sys/kernel/arch": test.arch}
			for name, content := range test.topology {
				files[name] = content
			}
			facts, _ := hostFacts(t, files)
			if diff := cmp.Diff(test.want, facts.CPU); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCPUBackendWithoutProc(t *testing.T) {
	if _, b := hostFacts(t, nil); b.State != v1alpha1.BackendFailed || !strings.Contains(b.Message, "/proc") {
		t.Errorf("%+v", b)
	}
}

func TestHostMemoryAndNodes(t *testing.T) {
	facts, outcome := hostFacts(t, map[string]string{
		"proc/cpuinfo": x86Info, "proc/meminfo": "MemFree: 1 kB\nMemTotal:       2113386884 kB",
		"sys/devices/system/node/node0/cpulist": "0-1", "sys/devices/system/node/node0/meminfo": "Node 0 MemTotal:       1048576 kB",
		"sys/devices/system/node/node10/cpulist": "", "sys/devices/system/node/node10/meminfo": "Node 10 MemTotal:       2097152 kB",
		"sys/devices/system/node/node0/distance": "10 21 31", "sys/devices/system/node/node10/distance": "31 21 10 17",
		"sys/devices/system/node/node2/distance": "21 10 256", "sys/devices/system/node/node2/cpulist": "2", "sys/devices/system/node/online": "0,2,10",
		"proc/sys/kernel/osrelease": "6.8.0", "etc/os-release": "NAME=x\nPRETTY_NAME=\"Ubuntu 24.04.2 LTS\"",
	})
	want := []v1alpha1.NUMANode{{ID: 0, CPUs: "0-1", MemoryMiB: 1024, Distances: []int32{10, 21, 31}}, {ID: 2, CPUs: "2"}, {ID: 10, MemoryMiB: 2048}}
	if diff := cmp.Diff(want, facts.NUMANodes); diff != "" || facts.Memory.TotalMiB != 2063854 || facts.Kernel != "6.8.0" || facts.OS != "Ubuntu 24.04.2 LTS" {
		t.Errorf("%+v\n%s", facts, diff)
	}
	if outcome.State != v1alpha1.BackendFound {
		t.Errorf("%+v", outcome)
	}
}

func TestCgroupLimits(t *testing.T) {
	const v2 = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate"
	const v1 = "31 23 0:27 %s /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n32 23 0:28 %s /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory"
	below := func(root string) string { return strings.ReplaceAll(v1, "%s", root) }
	tests := map[string]struct {
		own, mounts string
		files       map[string]string
		milli, mib  int64
	}{
		"none": {own: "0::/user.slice", mounts: v2},
		"version 2, the tightest of all ancestors": {
			own: "0::/kubepods.slice/pod.slice/scope", mounts: v2,
			files: map[string]string{
				"kubepods.slice/pod.slice/scope/cpu.max": "max 100000", "kubepods.slice/pod.slice/scope/memory.max": "8589934592",
				"kubepods.slice/pod.slice/cpu.max": "150000 100000", "kubepods.slice/pod.slice/memory.max": "4294967296",
				"kubepods.slice/cpu.max": "800000 100000", "kubepods.slice/memory.max": "max", "memory.max": "17179869184",
			}, milli: 1500, mib: 4096,
		},
		"version 2, own namespace": {
			own: "0::/", mounts: v2, files: map[string]string{"cpu.max": "50000 100000", "memory.max": "1073741824"}, milli: 500, mib: 1024,
		},
		"version 2, a cgroup that is not mounted": {
			own: "0::/../other", mounts: strings.Replace(v2, " / ", " /mine ", 1), files: map[string]string{"memory.max": "1073741824"}, mib: 1024,
		},
		"version 1": {
			own: "4:memory:/docker/x\n3:cpu,cpuacct:/docker/x\n1:name=systemd:/", mounts: below("/"),
			files: map[string]string{
				"cpu,cpuacct/docker/x/cpu.cfs_quota_us": "250000", "cpu,cpuacct/docker/x/cpu.cfs_period_us": "100000",
				"memory/docker/x/memory.limit_in_bytes": "2147483648", "memory/docker/memory.limit_in_bytes": "9223372036854771712",
			}, milli: 2500, mib: 2048,
		},
		"version 1, only the own part is mounted": {
			own: "4:memory:/docker/x/sub\n3:cpu,cpuacct:/docker/x/sub", mounts: below("/docker/x"),
			files: map[string]string{
				"cpu,cpuacct/sub/cpu.cfs_quota_us": "-1", "cpu,cpuacct/sub/cpu.cfs_period_us": "100000", "cpu,cpuacct/cpu.cfs_quota_us": "100000",
				"cpu,cpuacct/cpu.cfs_period_us": "100000", "memory/sub/memory.limit_in_bytes": "1073741824",
			}, milli: 1000, mib: 1024,
		},
		"no mountinfo": {own: "0::/a", files: map[string]string{"a/memory.max": "1073741824"}, mib: 1024},
		"not below the total": {
			own: "0::/", mounts: v2, files: map[string]string{"memory.max": "1099511627776"},
		},
		"nonsense": {
			own: "0::relative\nx\n::::", mounts: "a b c", files: map[string]string{"cpu.max": "0 0", "memory.max": "-5"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{
				"proc/cpuinfo": x86Info, "proc/meminfo": "MemTotal: 33554432 kB", "proc/self/cgroup": test.own, "proc/self/mountinfo": test.mounts,
			}
			for name, content := range test.files {
				files["sys/fs/cgroup/"+name] = content
			}
			facts, _ := hostFacts(t, files)
			if facts.CPU.LimitMilli != test.milli || facts.Memory.LimitMiB != test.mib {
				t.Errorf("%d milli-CPU and %d MiB, want %d and %d", facts.CPU.LimitMilli, facts.Memory.LimitMiB, test.milli, test.mib)
			}
		})
	}
}

func TestContainer(t *testing.T) {
	const overlay = "700 600 0:300 / / rw,relatime - overlay overlay rw,lowerdir=%s/1/fs,upperdir=x"
	tests := map[string]struct {
		files map[string]string
		want  string
	}{
		"bare host":                 {map[string]string{"proc/1/cgroup": "0::/init.scope", "proc/self/mountinfo": "26 1 259:2 / / rw - ext4 /dev/nvme0n1p2 rw"}, ""},
		"bare host with containers": {map[string]string{"proc/1/cgroup": "0::/init.scope", "proc/self/mountinfo": "26 1 259:2 / / rw - ext4 /dev/x rw\n" + strings.Replace(strings.Replace(overlay, "%s", "/var/lib/docker/overlay2", 1), " / / ", " / /var/lib/docker/overlay2/a/merged ", 1)}, ""},
		"a machine from an image":   {map[string]string{".dockerenv": "", "proc/1/cgroup": "0::/", "proc/self/mountinfo": "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard"}, ""},
		"docker on btrfs":           {map[string]string{".dockerenv": "", "proc/self/mountinfo": "27 1 254:0 /docker/btrfs/subvolumes/0a1b / rw,relatime - btrfs /dev/vda rw"}, "docker"},
		"docker":                    {map[string]string{".dockerenv": ""}, "docker"},
		"podman":                    {map[string]string{"run/.containerenv": ""}, "podman"},
		"containerd, version 1":     {map[string]string{"proc/1/cgroup": "11:memory:/kubepods/burstable/pod1/cri-containerd-ab.scope"}, "containerd"},
		"cri-o, version 1":          {map[string]string{"proc/1/cgroup": "11:memory:/kubepods.slice/crio-ab.scope"}, "cri-o"},
		"containerd, version 2":     {map[string]string{"proc/1/cgroup": "0::/", "proc/self/mountinfo": strings.Replace(overlay, "%s", "/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots", 1)}, "containerd"},
		"docker, version 2":         {map[string]string{"proc/1/cgroup": "0::/", "proc/self/mountinfo": strings.Replace(overlay, "%s", "/var/lib/docker/overlay2", 1)}, "docker"},
		"cri-o, version 2":          {map[string]string{"proc/1/cgroup": "0::/", "proc/self/mountinfo": strings.Replace(overlay, "%s", "/var/lib/containers/storage/overlay", 1)}, "cri-o"},
		"a pod of another runtime":  {map[string]string{"proc/1/cgroup": "0::/", "proc/self/mountinfo": "9 8 8:1 /var/lib/kubelet/pods/3f1b8f0e-8f0a-4f0e-9d55-0e4e2c7d9a11/etc-hosts /etc/hosts rw - ext4 /dev/sda1 rw"}, "unknown"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.files["proc/cpuinfo"] = x86Info
			if facts, _ := hostFacts(t, test.files); facts.Container != test.want {
				t.Errorf("%q, want %q", facts.Container, test.want)
			}
		})
	}
}

func TestKubernetes(t *testing.T) {
	const (
		uid     = "3f1b8f0e-8f0a-4f0e-9d55-0e4e2c7d9a11"
		hosts   = "9 8 8:1 %s/pods/" + uid + "/etc-hosts /etc/hosts rw - ext4 /dev/sda1 rw"
		message = "9 8 8:1 /pods/" + uid + "/containers/agent/0a1b2c3d /dev/termination-log rw - ext4 /dev/sda1 rw"
		subPath = "9 8 8:1 /var/lib/kubelet/pods/" + uid + "/volumes/kubernetes.io~empty-dir/a /var/lib/kubelet/pods/" + uid + "/volume-subpaths/a/b/0 rw - ext4 /dev/sda1 rw"
		unified = "0::/"
	)
	tests := map[string]struct {
		files map[string]string
		want  bool
	}{
		"bare host": {map[string]string{"proc/self/cgroup": "0::/user.slice", "etc/hosts": "127.0.0.1 localhost"}, false},
		"a node that runs pods": {map[string]string{
			"proc/self/cgroup": "0::/system.slice/ssh.service", "proc/1/cgroup": "0::/init.scope", "proc/self/mountinfo": subPath,
		}, false},
		"docker is no pod": {map[string]string{
			"proc/self/mountinfo": "9 8 8:1 /var/lib/docker/containers/0a1b2c3d/hosts /etc/hosts rw - ext4 /dev/sda1 rw",
		}, false},
		"cgroup of version 1":                        {map[string]string{"proc/self/cgroup": "11:memory:/kubepods/burstable/pod1/ab"}, true},
		"version 2, no token mounted":                {map[string]string{"proc/self/cgroup": unified, "proc/self/mountinfo": strings.Replace(hosts, "%s", "/var/lib/kubelet", 1)}, true},
		"the kubelet's files elsewhere":              {map[string]string{"proc/self/cgroup": unified, "proc/self/mountinfo": strings.Replace(hosts, "%s", "/var/snap/microk8s/common/var/lib/kubelet", 1)}, true},
		"the kubelet's files on a disk of their own": {map[string]string{"proc/self/cgroup": unified, "proc/self/mountinfo": message}, true},
		"a sandbox without mountinfo":                {map[string]string{"etc/hosts": "# Kubernetes-managed hosts file (host network).\n127.0.0.1 localhost"}, true},
		"a token":                                    {map[string]string{"var/run/secrets/kubernetes.io/serviceaccount/token": "x"}, true},
		"an agent that sees its host's files":        {map[string]string{"proc/1/cgroup": "0::/init.scope", "etc/hosts": "127.0.0.1 node1", "proc/self/mountinfo": message}, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.files["proc/cpuinfo"] = x86Info
			facts, _ := hostFacts(t, test.files)
			if facts.Kubernetes != test.want || test.want && facts.Container == "" {
				t.Errorf("pod %v in container %q, want %v", facts.Kubernetes, facts.Container, test.want)
			}
		})
	}
}

func TestCloud(t *testing.T) {
	tests := map[string]struct {
		dmi             map[string]string
		cloud, instance string
	}{
		"nothing":                {nil, "", ""},
		"AWS":                    {map[string]string{"sys_vendor": "Amazon EC2", "product_name": "p5.48xlarge"}, "aws", "p5.48xlarge"},
		"AWS on Xen":             {map[string]string{"sys_vendor": "Xen", "bios_vendor": "Xen", "bios_version": "4.11.amazon", "product_name": "HVM domU"}, "aws", ""},
		"Xen is not AWS":         {map[string]string{"sys_vendor": "Xen", "bios_vendor": "Xen", "bios_version": "4.17", "product_name": "HVM domU"}, "", ""},
		"Google Cloud":           {map[string]string{"sys_vendor": "Google", "product_name": "Google Compute Engine"}, "gcp", ""},
		"a Chromebook":           {map[string]string{"sys_vendor": "Google", "product_name": "Eve"}, "", ""},
		"Azure":                  {map[string]string{"sys_vendor": "Microsoft Corporation", "chassis_asset_tag": "7783-7084-3265-9085-8269-3286-77"}, "azure", ""},
		"Hyper-V is not Azure":   {map[string]string{"sys_vendor": "Microsoft Corporation", "product_name": "Virtual Machine"}, "", ""},
		"a Surface is not Azure": {map[string]string{"sys_vendor": "Microsoft Corporation", "product_name": "Surface Pro 9.1"}, "", ""},
		"Oracle":                 {map[string]string{"chassis_asset_tag": "OracleCloud.com", "product_name": "Standard PC"}, "oracle", ""},
		"OpenStack":              {map[string]string{"product_name": "OpenStack Nova"}, "openstack", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"proc/cpuinfo": x86Info}
			for field, value := range test.dmi {
				files["sys/class/dmi/id/"+field] = value
			}
			if facts, _ := hostFacts(t, files); facts.Cloud != test.cloud || facts.InstanceType != test.instance {
				t.Errorf("%q %q, want %q %q", facts.Cloud, facts.InstanceType, test.cloud, test.instance)
			}
		})
	}
}
