package host

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const containerdConfig = `version = 3
root = "/var/lib/containerd"
imports = ["/etc/containerd/conf.d/*.toml"]

[plugins."io.containerd.cri.v1.runtime"]
  enable_cdi = true
  cdi_spec_dirs = ["/etc/cdi", "/var/run/cdi"]
  sandbox_image = "registry.corp.example/pause:3"

  [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.nvidia]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.nvidia.options]
      BinaryName = "/usr/bin/nvidia-container-runtime"

[plugins."io.containerd.grpc.v1.cri".registry.configs."registry.corp.example".auth]
  username = "robot"
  password = "hunter2"
  version = "hunter3"
[proxy_plugins.mine]
  address = "/run/secret.sock"
`

const dockerConfig = `{"default-runtime": "nvidia", "runtimes": {"nvidia": {"path": "nvidia-container-runtime", "runtimeArgs": ["--secret=hunter2"]}},
"features": {"cdi": true}, "proxies": {"http-proxy": "http://robot:hunter2@proxy"}, "log-opts": {"token": "hunter2"}, "labels": ["hunter2"]}`

// A recording has what container runtimes are told about devices, and nothing that they log in with.
func TestConfigurationsAreRecordedInPart(t *testing.T) {
	root := tree(t, map[string]string{
		"etc/containerd/config.toml": containerdConfig, "etc/docker/daemon.json": dockerConfig,
		"etc/docker/broken.json": `{"password": "hunter2"`, "etc/other.toml": "password = 1",
	})
	recorded, recording := Record(&Host{Files: LiveFiles(root)})
	for _, name := range []string{"/etc/containerd/config.toml", "/etc/docker/daemon.json", "/etc/docker/broken.json", "/etc/other.toml"} {
		if _, err := recorded.Files.ReadFile(name); err != nil {
			t.Fatal(err)
		}
	}
	replay := recording.Host().Files
	text := func(name string) string {
		data, err := replay.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	want := `version = 3
root = "/var/lib/containerd"
imports = ["/etc/containerd/conf.d/*.toml"]
[plugins."io.containerd.cri.v1.runtime"]
enable_cdi = true
cdi_spec_dirs = ["/etc/cdi", "/var/run/cdi"]
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.nvidia]
runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.nvidia.options]
BinaryName = "/usr/bin/nvidia-container-runtime"
[proxy_plugins.mine]
`
	if diff := cmp.Diff(want, text("/etc/containerd/config.toml")); diff != "" {
		t.Error(diff)
	}
	docker := text("/etc/docker/daemon.json")
	for _, kept := range []string{`"default-runtime": "nvidia"`, `"path": "nvidia-container-runtime"`, `"cdi": true`} {
		if !strings.Contains(docker, kept) {
			t.Errorf("%s lacks %s", docker, kept)
		}
	}
	if strings.Contains(docker+text("/etc/docker/broken.json"), "hunter2") {
		t.Errorf("a password is recorded: %s", docker)
	}
	if text("/etc/other.toml") != "password = 1" {
		t.Error("a file that is of no runtime is changed")
	}
}
