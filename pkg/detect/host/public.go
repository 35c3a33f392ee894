package host

import (
	"bytes"
	"encoding/json"
	"path"
	"regexp"
	"strings"
)

// publicPart is what of a file may be in a recording. What root alone may read of a function's configuration space holds
// serial numbers; cloud-init knows more than the place; the configuration of a container runtime holds what it logs in to registries with.
func publicPart(name string, data []byte) []byte {
	switch {
	case name == instanceData:
		return placeAlone(data)
	case strings.HasPrefix(name, "/sys/devices/") && path.Base(name) == "config":
		return data[:min(len(data), PCIHeaderSize)]
	case !runtimeConfig.MatchString(name):
		return data
	case path.Ext(name) == ".json":
		return publicJSON(data)
	default:
		return publicTOML(data)
	}
}

// runtimeConfig matches the configuration of container runtimes: containerd's, of k3s, RKE2, k0s and MicroK8s too, CRI-O's,
// Talos' parts of containerd's, Docker's and that of NVIDIA's runtime.
var runtimeConfig = regexp.MustCompile(`^/(etc/(containerd|crio|cri|k0s|docker|nvidia-container-runtime)/|var/lib/rancher/|run/k0s/|var/snap/microk8s/).*\.(toml|conf|json)$|` +
	`^/etc/crio/crio\.conf\.d/`)

// publicKeys are what configurations say about devices, and nothing else.
var publicKeys = regexp.MustCompile(`^(version|imports|disabled_plugins|enable_cdi|cdi_spec_dirs|cdi-spec-dirs|default_runtime(_name)?|default-runtime|` +
	`runtime_(type|path|root)|runtime|BinaryName|SystemdCgroup|privileged_without_host_devices(_all_devices_allowed)?|` +
	`device_ownership_from_security_context|enable_selinux|selinux|allowed_devices|additional_devices|hooks_dir|hostnetwork_disable_selinux|` +
	`mode|accept-nvidia-visible-devices-\S+|ldconfig|no-cgroups|user|load-kmods|root|path|runtimes|annotation-prefixes|default-kind|` +
	`nvidia-ctk|disable-require|supported-driver-capabilities|swarm-resource)$`)

// tomlTable matches the head of a table, tomlKey a line of one.
var (
	tomlTable = regexp.MustCompile(`^\s*\[+\s*([^\]]+?)\s*\]+`)
	tomlKey   = regexp.MustCompile(`^\s*"?([\w.-]+)"?\s*=`)
)

// publicTOML leaves the lines of public keys, and the tables that are about runtimes. A table about registries is left out
// as a whole: its very name may tell of a server.
func publicTOML(data []byte) []byte {
	var public bytes.Buffer
	secret := false
	for line := range strings.Lines(string(data)) {
		if table := tomlTable.FindStringSubmatch(line); table != nil {
			secret = strings.Contains(table[1], "registry") || strings.Contains(table[1], "auth") || strings.Contains(table[1], "header")
			if secret {
				continue
			}
			public.WriteString("[" + table[1] + "]\n")
			continue
		}
		if key := tomlKey.FindStringSubmatch(line); key != nil && !secret && publicKeys.MatchString(key[1]) {
			public.WriteString(strings.TrimSpace(line) + "\n")
		}
	}
	return public.Bytes()
}

// publicJSON leaves the public keys, however deep they are.
func publicJSON(data []byte) []byte {
	var content any
	if err := json.Unmarshal(data, &content); err != nil {
		return nil
	}
	public, err := json.MarshalIndent(publicValue(content), "", "  ")
	if err != nil {
		return nil
	}
	return public
}

// publicValue leaves out of an object what no public key names. What a table of runtimes calls them is public, too.
func publicValue(value any) any {
	object, ok := value.(map[string]any)
	if !ok {
		return nil
	}
	kept := map[string]any{}
	for key, inner := range object {
		switch inner := inner.(type) {
		case map[string]any:
			switch key {
			case "runtimes":
				named := map[string]any{}
				for name, runtime := range inner {
					named[name] = publicValue(runtime)
				}
				kept[key] = named
			case "features":
				kept[key] = inner
			}
		case string, bool, float64, []any:
			if publicKeys.MatchString(key) {
				kept[key] = inner
			}
		}
	}
	return kept
}
