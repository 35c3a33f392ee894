//go:build linux

package e2e

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/rankwright/rankwright/test/cluster"
	"github.com/rankwright/rankwright/tools/images"
)

var update = flag.Bool("update", false, "write the differences of the views to testdata/views")

// explanations is the file that says of each field why it may differ.
const explanations = "testdata/views/why.yaml"

// difference is a field of the inventory that is not the same from everywhere that a host is looked at.
type difference struct {
	// Field is a path in the status, with * for every member of a list.
	Field string `json:"field"`
	// Host is on the host with its tools, NoExec there without running any, Pod in the DaemonSet's pod.
	Host   string `json:"host"`
	NoExec string `json:"noExec"`
	Pod    string `json:"pod"`
}

// threeViews compares what is seen of the nodes' hosts from three places with what testdata/views says of each. Every
// difference is explained there, and there is no explanation without a difference.
func threeViews(t *testing.T, s *site, _ *cluster.Node) {
	programs := images.Programs{Root: "../..", Out: s.dir, Tags: "grpcnotrace", Version: tag}
	files := map[string]string{}
	for _, name := range []string{"kubectl-rankwright", "rankwright-nvml"} {
		binary, err := programs.Build(t.Context(), name, "")
		if err != nil {
			t.Fatal(err)
		}
		files["/usr/local/bin/"+name] = binary
		if err := images.AddGlibc(files, binary, runtime.GOARCH); err != nil {
			t.Fatal(err)
		}
	}
	var why map[string]string
	readYAML(t, explanations, &why)
	unused := maps.Clone(why)
	for i, node := range s.Nodes {
		for name, source := range files {
			content, err := os.ReadFile(source)
			if err != nil {
				t.Fatal(err)
			}
			if err := node.WriteHostFile(name, content, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		pod, err := s.objects.Resource(inventories).Get(t.Context(), node.Name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		found := differencesOf([3]any{onHost(t, node), onHost(t, node, "--no-exec"), pod.Object["status"]})
		checkDifferences(t, filepath.Join("testdata", "views", playedByDrivers[i]+".yaml"), found)
		for _, d := range found {
			delete(unused, d.Field)
			if why[d.Field] == "" {
				t.Errorf("%s of %s differs: say why in %s, or mend it", d.Field, playedByDrivers[i], explanations)
			}
		}
	}
	if len(unused) > 0 {
		t.Errorf("%s explains what does not differ: %q", explanations, slices.Sorted(maps.Keys(unused)))
	}
}

func readYAML(t *testing.T, name string, into any) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err == nil {
		err = yaml.UnmarshalStrict(text, into)
	}
	if err != nil {
		t.Errorf("%s: %v", name, err)
	}
}

// onHost is the status that the command line shows on the host itself: the played file tree is its root.
func onHost(t *testing.T, node *cluster.Node, flags ...string) any {
	t.Helper()
	command := append([]string{"chroot", cluster.HostFolder, "/usr/local/bin/kubectl-rankwright", "detect", "-o", "json", "--name", node.Name}, flags...)
	run := node.Command(t.Context(), command...)
	var stdout, stderr bytes.Buffer
	run.Stdout, run.Stderr = &stdout, &stderr
	if err := run.Run(); err != nil {
		t.Fatalf("%s: %v: %s", strings.Join(command, " "), err, stderr.String())
	}
	var inventory unstructured.Unstructured
	if err := inventory.UnmarshalJSON(stdout.Bytes()); err != nil {
		t.Fatalf("%v in %s", err, stdout.String())
	}
	return inventory.Object["status"]
}

// checkDifferences compares differences with a golden file.
func checkDifferences(t *testing.T, name string, found []difference) {
	t.Helper()
	if *update {
		text, err := yaml.Marshal(found)
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, name, string(text))
		return
	}
	var golden []difference
	readYAML(t, name, &golden)
	if diff := cmp.Diff(golden, found); diff != "" {
		t.Errorf("%s (-known +seen; the flag -update writes it):\n%s", name, diff)
	}
}

// differencesOf compares three views, in the order of a difference.
func differencesOf(views [3]any) []difference {
	found := map[string]difference{}
	compareViews("", views, func(field string, values [3]any) {
		d := difference{Field: field, Host: tellView(field, values[0]), NoExec: tellView(field, values[1]), Pod: tellView(field, values[2])}
		if before, again := found[field]; again && before != d {
			d.Host, d.NoExec, d.Pod = merge(before.Host, d.Host), merge(before.NoExec, d.NoExec), merge(before.Pod, d.Pod)
		}
		found[field] = d
	})
	sorted := slices.Collect(maps.Values(found))
	slices.SortFunc(sorted, func(a, b difference) int { return strings.Compare(a.Field, b.Field) })
	return sorted
}

// merge is what two members of a list say together.
func merge(a, b string) string {
	if a == b {
		return a
	}
	return "various"
}

// compareViews reports the fields in which three values differ, the outermost that not all have.
func compareViews(field string, values [3]any, report func(string, [3]any)) {
	if reflect.DeepEqual(values[0], values[1]) && reflect.DeepEqual(values[1], values[2]) {
		return
	}
	var members [3]map[string]any
	names := map[string]bool{}
	isList := false
	for i, value := range values {
		members[i], isList = membersOf(value)
		if members[i] == nil {
			report(field, values)
			return
		}
		for name := range members[i] {
			names[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		below := strings.TrimPrefix(field+"."+name, ".")
		if isList {
			below = field + ".*"
		}
		compareViews(below, [3]any{members[0][name], members[1][name], members[2][name]}, report)
	}
}

// membersOf are the fields of an object, or the objects of a list by what names them; nil of what has none.
func membersOf(value any) (members map[string]any, isList bool) {
	switch value := value.(type) {
	case map[string]any:
		return value, false
	case []any:
		members = map[string]any{}
		for _, member := range value {
			fields, isObject := member.(map[string]any)
			name := ""
			for _, key := range []string{"id", "name", "type"} {
				if text, isText := fields[key].(string); isText && name == "" {
					name = text
				}
			}
			if !isObject || name == "" {
				return nil, true
			}
			members[name] = member
		}
		return members, true
	default:
		return nil, false
	}
}

// tellView is a value in a line. What is another one in every run, or on another machine, is not told.
func tellView(field string, value any) string {
	switch value.(type) {
	case nil:
		return "absent"
	case map[string]any, []any:
		return "present"
	}
	if strings.HasSuffix(field, ".since") || field == "host.os" || field == "agentVersion" {
		return "present"
	}
	return fmt.Sprint(value)
}

func TestDifferencesOf(t *testing.T) {
	view := func(health string, more ...any) any {
		return map[string]any{"devices": append([]any{map[string]any{"id": "a", "health": health}, map[string]any{"id": "b", "health": "Healthy"}}, more...)}
	}
	got := differencesOf([3]any{view("Healthy"), view("Unknown"), view("Healthy", map[string]any{"id": "c"})})
	want := []difference{
		{Field: "devices.*", Host: "absent", NoExec: "absent", Pod: "present"},
		{Field: "devices.*.health", Host: "Healthy", NoExec: "Unknown", Pod: "Healthy"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
