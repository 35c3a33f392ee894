package chart

import (
	"bytes"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write what is rendered to testdata/golden")

func TestLint(t *testing.T) {
	mustHelm(t, "lint", "--strict", chartDir(t))
	for _, values := range allValueSets(t) {
		mustHelm(t, "lint", "--strict", chartDir(t), "--values", values)
	}
}

// valueSets are the files of testdata/values.
func valueSets(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/values/*.yaml")
	if err != nil || len(files) < 6 {
		t.Fatalf("value sets: %q, %v", files, err)
	}
	return files
}

// allValueSets are the files of testdata/values and the presets.
func allValueSets(t *testing.T) []string {
	t.Helper()
	return append(valueSets(t), presets(t)...)
}

// presets are the files that the chart has for providers' clusters.
func presets(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(chartDir(t), "presets", "*.yaml"))
	if err != nil || len(files) < 8 {
		t.Fatalf("presets: %q, %v", files, err)
	}
	return files
}

// A provider's cluster needs other folders, types and quotas, and the agent is never more privileged for it.
func TestPresetsKeepTheAgentUnprivileged(t *testing.T) {
	for _, preset := range presets(t) {
		t.Run(filepath.Base(preset), func(t *testing.T) {
			checkPrivileges(t, render(t, "--values", preset), []string{"/host/var/lib/kubelet/device-plugins", "/host/var/run/cdi"})
		})
	}
}

// TestGolden shows in a diff what a change does: all objects of the defaults, and the objects of other sets of values
// that differ from them. Of the CustomResourceDefinitions, which config/crd has, and of dashboards it shows the metadata alone.
func TestGolden(t *testing.T) {
	defaults := documents(t)
	for _, values := range allValueSets(t) {
		t.Run(filepath.Base(values), func(t *testing.T) {
			got := documents(t, "--values", values)
			if filepath.Base(values) != "defaults.yaml" {
				got = difference(defaults, got)
			}
			var text bytes.Buffer
			for _, key := range slices.Sorted(maps.Keys(got)) {
				text.WriteString("---\n# " + key + "\n" + got[key])
			}
			golden(t, filepath.Base(values), text.String())
		})
	}
}

// TestGoldenNotes shows what Helm says after an installation.
func TestGoldenNotes(t *testing.T) {
	for _, set := range []string{"defaults", "serving"} {
		said := mustHelm(t, "install", release, chartDir(t), "--namespace", agentNamespace, "--dry-run=client", "--values", filepath.Join("testdata", "values", set+".yaml"))
		_, notes, found := strings.Cut(said, "\nNOTES:\n")
		if !found {
			t.Fatalf("no notes in\n%s", said)
		}
		golden(t, "NOTES-"+set+".txt", notes)
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "golden", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("run `go test ./test/chart -run Golden -update` and review:\n%s", diff)
	}
}

// documents are the rendered objects as YAML, by their names.
func documents(t *testing.T, args ...string) map[string]string {
	t.Helper()
	byKey := map[string]string{}
	for _, object := range render(t, args...) {
		switch {
		case object.GetKind() == "CustomResourceDefinition":
			delete(object.Object, "spec")
		case strings.HasPrefix(object.GetName(), dashboardPrefix):
			delete(object.Object, "data")
		}
		document, err := yaml.Marshal(object.Object)
		if err != nil {
			t.Fatal(err)
		}
		byKey[key(object)] = string(document)
	}
	return byKey
}

// difference is what is not in the first set of documents, with a word for what is there alone.
func difference(from, to map[string]string) map[string]string {
	differing := map[string]string{}
	for key, document := range to {
		if from[key] != document {
			differing[key] = document
		}
	}
	for key := range from {
		if _, kept := to[key]; !kept {
			differing[key] = "# is not there\n"
		}
	}
	return differing
}

// TestKustomizeInstallsTheSame holds config/ to the chart: but for Helm's labels and hooks, both install the same.
func TestKustomizeInstallsTheSame(t *testing.T) {
	const (
		namespace     = "Namespace /" + agentNamespace                           // made by Helm itself
		class         = "DeviceClass.resource.k8s.io /placement.rankwright.dev"  // of config/claims, by whether the API is there
		configuration = "ConfigMap " + agentNamespace + "/rankwright-node-agent" // a text, written in other ways
	)
	tests := []struct {
		folder string
		hook   string
		values []string
		// except are the objects that only one of the two has, or that differ on purpose.
		except []string
	}{
		{folder: "config", except: []string{namespace, class}},
		{folder: "config/cleanup", hook: "post-delete"},
		{folder: "test/chart/testdata/dra", values: []string{"--values", "testdata/values/dra.yaml"}, except: []string{namespace, configuration}},
		{folder: "test/chart/testdata/repair", values: []string{"--values", "../../examples/repair/job.yaml"}, except: []string{namespace, class}},
		{folder: "test/chart/testdata/drivers", values: []string{"--set", "agent.nvml.enabled=true"}, except: []string{namespace, class}},
		{
			folder: "test/chart/testdata/cdi", values: []string{"--set", "vendors.nvidia.serve=true,vendors.nvidia.injection=CDI,vendors.nvidia.cdiKind=nvidia.com/gpu"},
			except: []string{namespace, class, configuration},
		},
	}
	for _, test := range tests {
		t.Run(test.folder, func(t *testing.T) {
			text, said, err := tool(t, nil, "kubectl", "kustomize", filepath.Join(root(t), test.folder))
			if err != nil {
				t.Fatal(err, said)
			}
			want, got := plain(decode(t, text)), map[string]any{}
			for _, object := range render(t, test.values...) {
				if hook(object) == test.hook {
					maps.Copy(got, plain([]*unstructured.Unstructured{object}))
				}
			}
			for _, all := range []map[string]any{want, got} {
				maps.DeleteFunc(all, func(key string, _ any) bool { return slices.Contains(test.except, key) })
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-) and the chart (+) differ: change the other too, or run `make generate`:\n%s", test.folder, diff)
			}
		})
	}
}

// plain returns objects by their names without what is Helm's own.
func plain(objects []*unstructured.Unstructured) map[string]any {
	byKey := map[string]any{}
	for _, object := range objects {
		labels := object.GetLabels()
		maps.DeleteFunc(labels, func(key, _ string) bool { return !strings.HasPrefix(key, "pod-security.kubernetes.io/") })
		object.SetLabels(labels)
		annotations := object.GetAnnotations()
		maps.DeleteFunc(annotations, func(key, _ string) bool { return strings.HasPrefix(key, "helm.sh/") })
		object.SetAnnotations(annotations)
		for _, checksum := range []string{"checksum/config", "rankwright.dev/repairs-checksum"} {
			unstructured.RemoveNestedField(object.Object, "spec", "template", "metadata", "annotations", checksum)
		}
		for _, fields := range [][]string{{"metadata", "labels"}, {"metadata", "annotations"}, {"spec", "template", "metadata", "annotations"}} {
			if value, _, _ := unstructured.NestedMap(object.Object, fields...); len(value) == 0 {
				unstructured.RemoveNestedField(object.Object, fields...)
			}
		}
		byKey[key(object)] = object.Object
	}
	return byKey
}

// TestRightsOfDRA holds what an agent needs for claims to installations with a vendor that goes through DRA, and the classes
// to clusters that know them.
func TestRightsOfDRA(t *testing.T) {
	const own, placement = "DeviceClass.resource.k8s.io /rankwright.dev", "DeviceClass.resource.k8s.io /placement.rankwright.dev"
	rights := []string{"ClusterRole.rbac.authorization.k8s.io /rankwright-node-agent-dra", "ClusterRoleBinding.rbac.authorization.k8s.io /rankwright-node-agent-dra"}
	tests := []struct {
		name string
		set  string
		want []string
	}{
		{"no vendor is served", "", []string{placement}},
		{"by the device plugin", "vendors.amd.serve=true,vendors.amd.injection=CDI", []string{placement}},
		{"through DRA, and not served", "vendors.amd.through=DRA", []string{placement}},
		{"through DRA", "vendors.amd.serve=true,vendors.amd.injection=CDI,vendors.amd.through=DRA", append([]string{own, placement}, rights...)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, object := range render(t, "--set", test.set) {
				if name := key(object); strings.HasPrefix(name, "DeviceClass") || slices.Contains(rights, name) {
					got = append(got, name)
				}
			}
			slices.Sort(got)
			slices.Sort(test.want)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestAgentHasNoPrivileges holds the agent to its default: no capability, and two folders that it can write, or
// four where devices go through DRA. A helper changes nothing of that.
func TestAgentHasNoPrivileges(t *testing.T) {
	folders := []string{"/host/var/lib/kubelet/device-plugins", "/host/var/run/cdi"}
	t.Run("defaults", func(t *testing.T) { checkPrivileges(t, render(t), folders) })
	t.Run("helper", func(t *testing.T) {
		checkPrivileges(t, render(t, "--values", "testdata/values/drivers.yaml"), append(slices.Clone(folders), "/host/opt/rankwright/bin"))
	})
	t.Run("dra", func(t *testing.T) {
		checkPrivileges(t, render(t, "--values", "testdata/values/dra.yaml"),
			append(folders, "/var/lib/kubelet/plugins/rankwright.dev", "/var/lib/kubelet/plugins_registry"))
	})
}

// checkPrivileges finds the agent among objects and compares the folders that it can write.
func checkPrivileges(t *testing.T, objects []*unstructured.Unstructured, folders []string) {
	t.Helper()
	for _, object := range objects {
		if object.GetKind() != "DaemonSet" {
			continue
		}
		spec, _, _ := unstructured.NestedMap(object.Object, "spec", "template", "spec")
		for _, field := range []string{"hostNetwork", "hostPID", "hostIPC"} {
			if spec[field] != nil {
				t.Errorf("%s is set", field)
			}
		}
		containers, _, _ := unstructured.NestedSlice(spec, "containers")
		container, _ := containers[0].(map[string]any)
		want := map[string]any{
			"runAsUser": 0.0, "runAsGroup": 0.0, "allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
			"capabilities": map[string]any{"drop": []any{"ALL"}},
		}
		unstructured.RemoveNestedField(container, "securityContext", "seLinuxOptions") // a type of a policy's, not a privilege
		if diff := cmp.Diff(want, container["securityContext"]); diff != "" {
			t.Error(diff)
		}
		mounts, _, _ := unstructured.NestedSlice(container, "volumeMounts")
		var writable []string
		for _, entry := range mounts {
			mount, _ := entry.(map[string]any)
			if mount["readOnly"] != true {
				path, _ := mount["mountPath"].(string)
				writable = append(writable, path)
			}
		}
		if diff := cmp.Diff(folders, writable); diff != "" {
			t.Errorf("writable mounts: %s", diff)
		}
		return
	}
	t.Error("the chart has no DaemonSet")
}
