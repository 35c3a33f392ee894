package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/clitest"
	"github.com/rankwright/rankwright/internal/cli/term"
)

// inventoryOf writes a node with some devices of 80 GiB behind one switch.
func inventoryOf(node string, devices int) string {
	status := v1alpha1.AcceleratorInventoryStatus{}
	domain := v1alpha1.LinkDomain{Name: "nvlink0", Kind: "NVLink", Topology: v1alpha1.TopologySwitch, DeviceMBps: 450_000}
	for i := range devices {
		id := v1alpha1.DeviceID(fmt.Sprintf("nvidia-0000:%02x:00.0", i+1))
		domain.Members = append(domain.Members, id)
		status.Devices = append(status.Devices, v1alpha1.Device{
			ID: id, Vendor: "nvidia", Family: v1alpha1.FamilyGPU, Product: "NVIDIA H100 80GB HBM3",
			Memory: &v1alpha1.DeviceMemory{TotalMiB: 81559}, Health: v1alpha1.DeviceHealth{State: v1alpha1.Healthy},
		})
	}
	status.Links.Domains = []v1alpha1.LinkDomain{domain}
	made := v1alpha1.AcceleratorInventory{Status: status}
	made.APIVersion, made.Kind, made.Name = v1alpha1.GroupVersion.String(), "AcceleratorInventory", node
	text, err := json.Marshal(made)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// placement writes a placement of a model, on one line so that it fits into a YAML stream and a List.
func placement(name, model string, more ...string) string {
	fields := append([]string{`"model":{` + model + `}`, `"workload":{"inference":{"maxModelLen":4096}}`}, more...)
	return `{"apiVersion":"rankwright.dev/v1alpha1","kind":"ModelPlacement","metadata":{"name":"` + name + `"},"spec":{` + strings.Join(fields, ",") + `}}`
}

// stream joins documents to a YAML stream.
func stream(documents ...string) string { return strings.Join(documents, "\n---\n") }

const (
	small = `"name":"Llama-3.1-8B"`
	large = `"name":"Llama-3.1-70B"`
	huge  = `"name":"Llama-3.1-405B"`
)

// planList is what plan -o json prints.
type planList struct {
	APIVersion, Kind string
	Items            []json.RawMessage
}

// plansOf returns the plans and meshes that planning a stream printed.
func plansOf(t *testing.T, out string) (plans []v1alpha1.ShardingPlan, meshes []v1alpha1.DeviceMesh) {
	t.Helper()
	l := clitest.Object[planList](t, out)
	if l.APIVersion != "v1" || l.Kind != "List" {
		t.Fatalf("%s %s, want v1 List", l.APIVersion, l.Kind)
	}
	for _, item := range l.Items {
		switch clitest.Object[metav1.TypeMeta](t, string(item)).Kind {
		case "ShardingPlan":
			plans = append(plans, clitest.Object[v1alpha1.ShardingPlan](t, string(item)))
		case "DeviceMesh":
			meshes = append(meshes, clitest.Object[v1alpha1.DeviceMesh](t, string(item)))
		}
	}
	return plans, meshes
}

func TestPlanJSON(t *testing.T) {
	plans, meshes := plansOf(t, ok(t, stream(inventoryOf("a", 8), placement("big", large, `"parallelism":{"tensor":8}`)), "plan", "-f", "-", "-o", "json"))
	if len(plans) != 1 || len(meshes) != 1 {
		t.Fatalf("%d plans, %d meshes", len(plans), len(meshes))
	}
	p, m := plans[0], meshes[0]
	if p.Kind != "ShardingPlan" || p.Name != "big-1" || p.Spec.Placement.Name != "big" || p.Spec.Revision != 1 || p.Spec.Strategy.Tensor != 8 {
		t.Errorf("plan %s %s revision %d, %+v", p.Kind, p.Name, p.Spec.Revision, p.Spec.Strategy)
	}
	if m.Kind != "DeviceMesh" || m.Name != "big" || m.Spec.Plan != "big-1" || m.Spec.WorldSize != 8 || m.Labels[v1alpha1.LabelPlan] != "big-1" {
		t.Errorf("mesh %s %s of plan %s, %d ranks", m.Kind, m.Name, m.Spec.Plan, m.Spec.WorldSize)
	}
}

// TestPlanArithmetic adds up what the table shows of a stage.
func TestPlanArithmetic(t *testing.T) {
	plans, _ := plansOf(t, ok(t, stream(inventoryOf("a", 4), placement("p", large, `"parallelism":{"pipeline":4,"tensor":1}`)), "plan", "-f", "-", "-o", "json"))
	s := plans[0].Spec
	next := int32(0)
	for i, stage := range s.Stages {
		use := stage.PerDevice
		if sum := use.WeightsBytes + use.KVCacheBytes + use.ActivationsBytes + use.OverheadBytes; sum != use.TotalBytes {
			t.Errorf("stage %d: parts sum to %d, total %d", i, sum, use.TotalBytes)
		}
		if stage.FirstLayer != next || use.TotalBytes > 81559<<20 {
			t.Errorf("stage %d starts at layer %d, want %d, and takes %d bytes", i, stage.FirstLayer, next, use.TotalBytes)
		}
		next = stage.LastLayer + 1
	}
	if next != 80 || len(s.Stages) != 4 {
		t.Errorf("%d stages end before layer %d, want 4 and 80", len(s.Stages), next)
	}
	table := ok(t, stream(inventoryOf("a", 4), placement("p", large, `"parallelism":{"pipeline":4,"tensor":1}`)), "plan", "-f", "-")
	for _, want := range []string{"PP4 (PipelineParallel)", "70,553,706,496 parameters, 80 layers", "of 71.1 GiB", "4 ranks, 1 copy", "[0 1 2 3]"} {
		if !strings.Contains(table, want) {
			t.Errorf("the table lacks %q:\n%s", want, table)
		}
	}
}

func TestPlacementsSeeWhatEarlierOnesTook(t *testing.T) {
	input := stream(inventoryOf("a", 2), placement("first", small), placement("second", small), placement("third", small))
	r := run(t, input, "plan", "-f", "-", "-o", "json")
	plans, _ := plansOf(t, r.Out)
	if len(plans) != 2 || r.Code != term.ExitFailure || !strings.Contains(r.Err, "placement default/third") {
		t.Fatalf("%d plans, exit code %d, errors %q", len(plans), r.Code, r.Err)
	}
	if diff := cmp.Diff(plans[0].Spec.Nodes[0].Devices, plans[1].Spec.Nodes[0].Devices); diff == "" {
		t.Errorf("both placements have %v", plans[0].Spec.Nodes[0].Devices)
	}
}

func TestPlanSaysWhyNot(t *testing.T) {
	r := run(t, stream(inventoryOf("a", 1), placement("p", huge, `"quantization":"BF16"`)), "plan", "-f", "-")
	if r.Code != term.ExitFailure || r.Out != "" {
		t.Errorf("exit code %d, output %q", r.Code, r.Out)
	}
	for _, want := range []string{"error: placement default/p: ", "does not fit", "Reason:", "TooLarge", "Needed:", "Free:", "WOULD FIT BY   CHANGE", "Devices "} {
		if !strings.Contains(r.Err, want) {
			t.Errorf("the reason lacks %q:\n%s", want, r.Err)
		}
	}
}

// What does not fit is in the output for machines as the operator would write it down.
func TestPlanSaysWhyNotInJSON(t *testing.T) {
	r := run(t, stream(inventoryOf("a", 1), placement("p", huge, `"quantization":"BF16"`)), "plan", "-f", "-", "-o", "json")
	items := clitest.Object[planList](t, r.Out).Items
	if r.Code != term.ExitFailure || len(items) != 1 {
		t.Fatalf("exit code %d, %d items", r.Code, len(items))
	}
	p := clitest.Object[v1alpha1.ModelPlacement](t, string(items[0]))
	s := p.Status.Shortfall
	if p.Kind != "ModelPlacement" || p.Name != "p" || s == nil || len(s.Suggestions) == 0 {
		t.Errorf("got %s %s %+v", p.Kind, p.Name, p.Status)
	}
	if c := p.Status.Conditions; len(c) != 1 || c[0].Type != v1alpha1.ConditionPlaced || c[0].Status != metav1.ConditionFalse || c[0].Reason != "TooLarge" || !strings.HasSuffix(c[0].Message, s.Suggestions[0].Change+".") {
		t.Errorf("got %+v", c)
	}
}

func TestPlanReadsFilesFoldersAndLists(t *testing.T) {
	folder := t.TempDir()
	files := map[string]string{
		"a.yaml":    stream("# nothing", inventoryOf("a", 1), ""),
		"list.json": `{"apiVersion":"v1","kind":"List","items":[` + placement("p", small) + `,{"apiVersion":"v1","kind":"List","items":[` + inventoryOf("b", 1) + `]}]}`,
		"notes.txt": "no manifest",
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	plans, _ := plansOf(t, ok(t, inventoryOf("c", 1), "plan", "-f", folder, "-f", "-", "-o", "json"))
	if len(plans) != 1 {
		t.Errorf("%d plans, want 1", len(plans))
	}
}

func TestPlanReadsWhatAClusterHas(t *testing.T) {
	node := func(labels, more string) string {
		return `{"apiVersion":"v1","kind":"Node","metadata":{"name":"a","labels":{` + labels + `}}` + more + `}`
	}
	configMap := func(namespace string) string {
		text, err := json.Marshal(config)
		if err != nil {
			t.Fatal(err)
		}
		return `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"tiny","namespace":"` + namespace + `"},"data":{"config.json":` + string(text) + `}}`
	}
	taken := `{"apiVersion":"rankwright.dev/v1alpha1","kind":"ShardingPlan","metadata":{"name":"x-3","namespace":"default"},"spec":{"placement":{"name":"x"},` +
		`"nodes":[{"node":"a","devices":["nvidia-0000:01:00.0"]}]}}`
	selector := `"devices":{"nodeLabelSelector":{"matchLabels":{"pool":"fast"}}}`
	tests := map[string]struct {
		input string
		want  string // in the errors; nothing where there is a plan
	}{
		"node without labels":        {stream(inventoryOf("a", 1), placement("p", small, selector)), "devices.nodeLabelSelector"},
		"node with the label":        {stream(inventoryOf("a", 1), node(`"pool":"fast"`, ""), placement("p", small, selector)), ""},
		"host name without a Node":   {stream(inventoryOf("a", 1), placement("p", small, `"topology":{"required":"kubernetes.io/hostname"}`)), ""},
		"cordoned node":              {stream(inventoryOf("a", 1), node("", `,"spec":{"unschedulable":true}`), placement("p", small)), "no new work"},
		"device of another plan":     {stream(inventoryOf("a", 1), taken, placement("p", small)), "taken by other plans"},
		"device of its earlier plan": {stream(inventoryOf("a", 1), taken, placement("x", small)), ""},
		"model in a ConfigMap":       {stream(inventoryOf("a", 1), configMap("default"), placement("p", `"configMap":{"name":"tiny"}`)), ""},
		"ConfigMap elsewhere":        {stream(inventoryOf("a", 1), configMap("other"), placement("p", `"configMap":{"name":"tiny"}`)), "not in the files: add it"},
		"key that is not there":      {stream(inventoryOf("a", 1), configMap("default"), placement("p", `"configMap":{"name":"tiny","key":"k"}`)), `no key "k"`},
		"parameters":                 {stream(inventoryOf("a", 1), placement("p", `"parameters":7000000000`)), ""},
		"two sources":                {stream(inventoryOf("a", 1), placement("p", small+`,"parameters":7000000000`)), "set exactly one"},
		"no source":                  {stream(inventoryOf("a", 1), placement("p", "")), "set exactly one"},
		"unknown model":              {stream(inventoryOf("a", 1), placement("p", `"name":"Llama-9"`)), "spec.model: model \"Llama-9\""},
		"no copies":                  {stream(inventoryOf("a", 1), placement("p", small, `"replicas":0`)), "spec.replicas is 0"},
		"nothing to plan on":         {placement("p", small), "does not fit"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := run(t, test.input, "plan", "--offline", "-f", "-", "-o", "json")
			if test.want == "" {
				if plans, _ := plansOf(t, r.Out); r.Code != term.ExitOK || len(plans) != 1 {
					t.Errorf("exit code %d, %d plans, errors %q", r.Code, len(plans), r.Err)
				}
				return
			}
			if r.Code != term.ExitFailure || !strings.Contains(r.Err, test.want) {
				t.Errorf("exit code %d, errors %q; want %q", r.Code, r.Err, test.want)
			}
		})
	}
}

func TestPlanRefusesBadFiles(t *testing.T) {
	for name, test := range map[string]struct{ input, want string }{
		"no placement":      {inventoryOf("a", 1), "no ModelPlacement in the files"},
		"nothing":           {"", "no ModelPlacement in the files"},
		"no object":         {"a: b", "add apiVersion and kind"},
		"no name":           {`{"apiVersion":"v1","kind":"Node","metadata":{}}`, "Node without metadata.name"},
		"unknown field":     {placement("p", small, `"quantisation":"FP8"`), `unknown field "spec.quantisation"`},
		"wrong type":        {placement("p", small, `"replicas":"two"`), "ModelPlacement p: "},
		"placement twice":   {stream(placement("p", small), placement("p", small)), "is in the files twice"},
		"inventory twice":   {stream(inventoryOf("a", 1), inventoryOf("a", 1), placement("p", small)), "AcceleratorInventory a is in the files twice"},
		"second document":   {stream(inventoryOf("a", 1), "{"), "document 2"},
		"item of a list":    {`{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"Node"}]}`, "items[0]"},
		"folder of nothing": {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			args := []string{"plan", "-f", "-"}
			if test.want == "" {
				args, test.want = []string{"plan", "-f", t.TempDir()}, "has no .yaml, .yml or .json file"
			}
			r := run(t, test.input, args...)
			if r.Code != term.ExitFailure || r.Out != "" || !strings.Contains(r.Err, test.want) {
				t.Errorf("exit code %d, output %q, errors %q; want %q", r.Code, r.Out, r.Err, test.want)
			}
		})
	}
}

func TestPlanSaysWhatItIgnores(t *testing.T) {
	other := `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"}}`
	r := run(t, stream(inventoryOf("a", 1), other, placement("p", small)), "plan", "-f", "-")
	if r.Code != term.ExitOK || r.Err != "warning: 1 of kind Secret ignored\n" {
		t.Errorf("exit code %d, errors %q", r.Code, r.Err)
	}
}

// TestPlanIsTheSameTwice plans on recorded hosts, in both orders of the files.
func TestPlanIsTheSameTwice(t *testing.T) {
	folder := t.TempDir()
	var files []string
	for _, host := range []string{"nvidia-h100-8", "nvidia-l40s-4"} {
		file := filepath.Join(folder, host+".yaml")
		if err := os.WriteFile(file, []byte(ok(t, "", "detect", "--replay", clitest.RecordingOf(t, host), "-o", "yaml")), 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	asked := placement("p", large)
	first := ok(t, asked, "plan", "-f", files[0], "-f", files[1], "-f", "-", "-o", "yaml")
	second := ok(t, asked, "plan", "-f", files[1], "-f", "-", "-f", files[0], "-o", "yaml")
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("the order of the files changes the plan:\n%s", diff)
	}
}
