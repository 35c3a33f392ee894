package chart

import (
	"strings"
	"testing"
)

// TestBadValuesAreRefused has a row for each mistake that the schema must name.
func TestBadValuesAreRefused(t *testing.T) {
	tests := []struct{ name, set, want string }{
		{"misspelt value", "operator.replica=3", "at '/operator': additional properties 'replica' not allowed"},
		{"misspelt section", "agents.logLevel=debug", "additional properties 'agents' not allowed"},
		{"text for a number", "operator.replicas=two", "at '/operator/replicas': got string, want integer"},
		{"negative replicas", "operator.replicas=-1", "at '/operator/replicas': minimum: got -1, want 0"},
		{"text for a switch", "crds.keep=perhaps", "at '/crds/keep': got string, want boolean"},
		{"unknown log level", "agent.logLevel=verbose", "at '/agent/logLevel': value must be one of 'debug', 'info', 'warn', 'error'"},
		{"unknown pull policy", "image.pullPolicy=Sometimes", "at '/image/pullPolicy': value must be one of 'Always', 'IfNotPresent', 'Never'"},
		{"digest without algorithm", "agent.image.digest=0123", "at '/agent/image/digest'"},
		{"tag with a colon", "image.tag=a:b", "at '/image/tag'"},
		{"relative folder", "agent.host.cdi=var/run/cdi", "at '/agent/host/cdi'"},
		{"folder with an ending slash", "agent.host.kubeletRoot=/var/lib/kubelet/", "at '/agent/host/kubeletRoot'"},
		{"unknown mode of mounts", "agent.host.recursiveReadOnly=Always", "at '/agent/host/recursiveReadOnly'"},
		{"period without unit", "agent.rescanInterval=300x", "at '/agent/rescanInterval'"},
		{"percentage above 100", "agent.maxUnavailable=150%", "at '/agent/maxUnavailable'"},
		{"argument that is no flag", "agent.extraArgs={debug}", "at '/agent/extraArgs/0'"},
		{"namespace in capitals", "operator.namespace.name=Ops", "at '/operator/namespace/name'"},
		{"label that is too long", "commonLabels.team=" + strings.Repeat("x", 64), "at '/commonLabels/team': maxLength: got 64, want 63"},
		{"pull secret by its name alone", "imagePullSecrets={registry}", "at '/imagePullSecrets/0': got string, want object"},
		{"vendor in capitals", "vendors.NVIDIA.serve=false", "at '/vendors': additional properties 'NVIDIA' not allowed"},
		{"served without a mode of injection", "vendors.amd.serve=true", "at '/vendors/amd': missing property 'injection'"},
		{"unknown mode of injection", "vendors.amd.injection=Privileged", "at '/vendors/amd/injection': value must be one of 'CDI', 'DeviceNodes'"},
		{"unknown API of the kubelet", "vendors.amd.through=Dra", "at '/vendors/amd/through': value must be one of 'DevicePlugin', 'DRA'"},
		{"device nodes through DRA", "vendors.amd.through=DRA,vendors.amd.injection=DeviceNodes", "at '/vendors/amd/injection'"},
		{"shares through DRA", "vendors.amd.through=DRA,vendors.amd.shares=2", "at '/vendors/amd/shares': maximum: got 2, want 1"},
		{"resources through DRA", "vendors.amd.through=DRA,vendors.amd.resources.gpu=amd.com/gpu", "at '/vendors/amd/resources'"},
		{"no shares", "vendors.amd.shares=0", "at '/vendors/amd/shares': minimum: got 0, want 1"},
		{"too many shares", "vendors.amd.shares=65", "at '/vendors/amd/shares': maximum: got 65, want 64"},
		{"resource without a domain", "vendors.amd.resources.gpu=gpu", "at '/vendors/amd/resources/gpu'"},
		{"resource of Kubernetes", "vendors.amd.resources.gpu=kubernetes.io/gpu", "at '/vendors/amd/resources/gpu'"},
		{"CDI kind without CDI", "vendors.amd.injection=DeviceNodes,vendors.amd.cdiKind=amd.com/gpu", "at '/vendors/amd/injection'"},
		{"unknown failure policy", "operator.webhook.failurePolicy=Warn", "at '/operator/webhook/failurePolicy': value must be one of 'Fail', 'Ignore'"},
		{"tools of an unknown vendor", "agent.tools.vendors={acme}", "at '/agent/tools/vendors/0': value must be one of"},
		{"NVIDIA without libcuda", "vendors.nvidia.serve=true,vendors.nvidia.injection=DeviceNodes", "vendors.nvidia: injection DeviceNodes gives containers no libcuda"},
		{"NVIDIA's driver that nobody finds", "vendors.nvidia.serve=true,vendors.nvidia.injection=CDI", "vendors.nvidia: injection CDI needs the privileged helper"},
		{
			"NVIDIA's driver in a container alone", "vendors.nvidia.serve=true,vendors.nvidia.injection=CDI,agent.nvml.enabled=true,agent.nvml.runtimeClassName=nvidia",
			"set agent.nvml.enabled without a runtimeClassName",
		},
		{"libraries by somebody", "vendors.nvidia.userLibraries=Host", "at '/vendors/nvidia/userLibraries': value must be one of 'Runtime', 'Image'"},
		{"libraries of another vendor", "vendors.amd.userLibraries=Image", "vendors.amd: userLibraries and imexChannels are for nvidia alone"},
		{
			"a taint that nobody would set", "vendors.amd.serve=true,vendors.amd.through=DRA,vendors.amd.injection=CDI,vendors.amd.unhealthyTaint=NoExecute",
			"vendors.amd.unhealthyTaint: NoExecute waits for the operator",
		},
		{"channel that is none", "vendors.nvidia.imexChannels={2048}", "at '/vendors/nvidia/imexChannels/0'"},
		{"hook program twice", "agent.cdiHook.path=/usr/bin/hook,agent.cdiHook.installTo=/opt/bin", "agent.cdiHook: path is for a program that is there"},
		{"hook program out of the tree", "agent.cdiHook.path=/opt/../etc", "at '/agent/cdiHook/path'"},
		{"tools of hosts by a runtime class", "agent.nvml.enabled=true,agent.nvml.runtimeClassName=nvidia,agent.tools.vendors={aws}", "agent.tools.vendors: tools of hosts need the privileged helper"},
		{"MIG devices without a runtime class", "agent.nvml.enabled=true,agent.nvml.migMonitor=true", "agent.nvml.migMonitor: is for agent.nvml.enabled with a runtimeClassName"},
		{"a webhook that waits for a minute", "operator.webhook.timeoutSeconds=60", "at '/operator/webhook/timeoutSeconds': maximum: got 60, want 30"},
		{"excluded namespace in capitals", "operator.webhook.excludedNamespaces={Ops}", "at '/operator/webhook/excludedNamespaces/0'"},
		{"a tenant without a selector", "operator.tenants[0].devices=8", "at '/operator/tenants/0': missing property 'namespaceSelector'"},
		{"less than no devices", "operator.tenants[0].devices=-1", "at '/operator/tenants/0/devices': minimum: got -1, want 0"},
		{"a setting of repairs that is none", "operator.repair.settings.maxConcurent=1", "at '/operator/repair/settings': additional properties 'maxConcurent' not allowed"},
		{"no repair at a time", "operator.repair.settings.maxConcurrent=0", "at '/operator/repair/settings/maxConcurrent': minimum: got 0, want 1"},
		{"namespace of dashboards in capitals", "dashboards.namespace=Monitoring", "at '/dashboards/namespace'"},
		{"one namespace for both", "operator.namespace.name=" + agentNamespace, "operator.namespace.name: rankwright-node-agent is the release's namespace"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, stderr, err := helm(t, "template", release, chartDir(t), "--namespace", agentNamespace, "--set", test.set)
			if err == nil || !strings.Contains(stderr, test.want) {
				t.Errorf("--set %s: %v, want a refusal with %q:\n%s", test.set, err, test.want, stderr)
			}
		})
	}
}
