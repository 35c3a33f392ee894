package live

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/clitest"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/pkg/plan"
)

// write writes a placement as somebody would who has it in a repository, without what the cluster says of it.
func (w *world) write(p *v1alpha1.ModelPlacement) string {
	w.Helper()
	own := &v1alpha1.ModelPlacement{ObjectMeta: metav1.ObjectMeta{Name: p.Name}, Spec: p.Spec}
	own.APIVersion, own.Kind = v1alpha1.GroupVersion.String(), "ModelPlacement"
	text, err := yaml.Marshal(own)
	w.Must(err)
	path := filepath.Join(w.TempDir(), p.Name+".yaml")
	w.Must(os.WriteFile(path, text, 0o600))
	return path
}

// planned is the plan that the plugin makes of a file.
func (w *world) planned(file string) *v1alpha1.ShardingPlan {
	w.Helper()
	list := clitest.Object[struct{ Items []v1alpha1.ShardingPlan }](w.T, w.asks("plan", "-f", file, "-n", home, "-o", "json"))
	return &list.Items[0]
}

// decided waits until the operator has decided for the spec of a placement as it is, and returns the plan in force.
func (w *world) decided(name string) *v1alpha1.ShardingPlan {
	w.Helper()
	p := &v1alpha1.ModelPlacement{ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: name}}
	made := &v1alpha1.ShardingPlan{}
	w.Eventually("placement "+name+" is planned", func(ctx context.Context) bool {
		w.Must(w.Get(ctx, client.ObjectKeyFromObject(p), p))
		placed := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionPlaced)
		if placed == nil || placed.Status != metav1.ConditionTrue || p.Status.PlanGeneration != p.Generation {
			return false
		}
		return w.Get(ctx, client.ObjectKey{Namespace: home, Name: p.Status.Plan}, made) == nil && made.InForce()
	})
	return made
}

// agrees holds the plan that the plugin made to the one that the operator makes.
func (w *world) agrees(foretold, made *v1alpha1.ShardingPlan) {
	w.Helper()
	if foretold.Name != made.Name || !plan.SameLayout(&foretold.Spec, &made.Spec) {
		w.Errorf("plan %s on %v, and the operator made %s on %v", foretold.Name, foretold.Spec.Nodes, made.Name, made.Spec.Nodes)
	}
	if foretold.Spec.Estimate == nil || *foretold.Spec.Estimate != *made.Spec.Estimate {
		w.Errorf("estimate %+v, and the operator's is %+v", foretold.Spec.Estimate, made.Spec.Estimate)
	}
}

func (w *world) remove(object client.Object) {
	w.Helper()
	w.Must(w.Delete(w.Context(), object, client.GracePeriodSeconds(0)))
	w.Eventually(object.GetName()+" is gone", func(ctx context.Context) bool {
		return client.IgnoreNotFound(w.Get(ctx, client.ObjectKeyFromObject(object), object)) == nil && w.Get(ctx, client.ObjectKeyFromObject(object), object) != nil
	})
}

// plans compares what the plugin foretells with what the operator does: of a new placement, of one whose pods need more of a node than some node
// has, of one whose model is in a ConfigMap, and of one that is edited.
func plans(w *world) {
	fresh := w.example("single")
	fresh.Name = "fresh"
	w.foretold(fresh)

	filler := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: "filler"},
		Spec: corev1.PodSpec{NodeName: "mi300x-0", Containers: []corev1.Container{{Name: "c", Image: "c", Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{"cpu": resource.MustParse("40")},
		}}}},
	}
	w.Must(w.Create(w.Context(), filler))
	crowded := w.example("single")
	crowded.Name = "crowded"
	crowded.Spec.Launch = &v1alpha1.Launch{Requests: map[string]resource.Quantity{"cpu": resource.MustParse("30")}}
	r := w.run(0, w.kubeconfig, "plan", "-f", w.write(crowded), "-n", home)
	if r.Code != term.ExitFailure || !strings.Contains(r.Err, "that each pod asks for (nearest: mi300x-0 with") {
		w.Errorf("exit code %d, errors %q: want no room for the pod", r.Code, r.Err)
	}
	w.remove(filler)
	w.foretold(crowded)

	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: "own"}, Data: map[string]string{"config.json": ownModel}}
	w.Must(w.Create(w.Context(), config))
	own := w.example("single")
	own.Name, own.Spec.Model = "own", v1alpha1.ModelSource{ConfigMap: &v1alpha1.ConfigMapKey{Name: "own"}}
	w.foretold(own)

	// The plan of a placement that is as it was is the one in force.
	file := w.write(w.example("tensor"))
	if out := w.asks("plan", "-f", file, "-n", home); !strings.Contains(out, "In force:     this plan, which answers the placement as it is\n") {
		w.Errorf("of a placement that is as it was:\n%s", out)
	}
	w.agrees(w.planned(file), w.decided("tensor"))
}

const ownModel = `{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 8,
"num_attention_heads": 16, "num_key_value_heads": 8, "vocab_size": 32000, "torch_dtype": "bfloat16", "max_position_embeddings": 8192}`

// foretold has the plugin plan a placement, makes it, compares, and removes it.
func (w *world) foretold(p *v1alpha1.ModelPlacement) {
	w.Helper()
	foretold := w.planned(w.write(p))
	w.Must(w.Create(w.Context(), p))
	w.agrees(foretold, w.decided(p.Name))
	w.remove(p)
	w.Eventually("the devices of "+p.Name+" are free", func(context.Context) bool {
		return !strings.Contains(w.asks("top", "devices"), home+"/"+p.Name)
	})
}

func explains(w *world) {
	for _, name := range []string{"tensor", "single", "pipeline"} {
		clitest.Golden(w.T, "live-explain-"+name+".txt", w.asks("explain", "mp/"+name, "-n", home))
	}
	clitest.Golden(w.T, "live-recommend.txt", w.asks("recommend", "--model", "Llama-3.1-8B", "-n", home))
	for command, want := range map[string]string{
		"explain mp/too-large -n team-a": "placement team-a/too-large: no plan is in force: kubectl rankwright why mp/too-large -n team-a says why",
		"explain mp/singel -n team-a":    "there is no placement singel in namespace team-a: did you mean single",
		"plan --offline -f -":            "no ModelPlacement in the files",
	} {
		if r := w.run(0, w.kubeconfig, strings.Fields(command)...); r.Code == term.ExitOK || !strings.Contains(r.Err, want) {
			w.Errorf("%s: exit code %d, errors %q; want %q", command, r.Code, r.Err, want)
		}
	}
}

// plansUnseen plans as users who may not see everything.
func plansUnseen(w *world) {
	viewer, tenant := filepath.Join(w.kubeconfigs, "viewer"), filepath.Join(w.kubeconfigs, "tenant")
	single := w.examples("single.yaml")
	r := w.run(0, tenant, "plan", "-f", single, "-n", home)
	if want := "error: not permitted: acceleratorinventories; outside of namespace team-a: shardingplans: ask for the ClusterRole rankwright-view, bound by a ClusterRoleBinding\n"; r.Code != term.ExitFailure || r.Err != want {
		w.Errorf("exit code %d, errors %q; want %q", r.Code, r.Err, want)
	}
	r = w.run(0, viewer, "recommend", "--model", "Llama-3.1-8B", "-n", home)
	if want := "warning: not permitted, and so not taken into account: nodes, leases, pods\n"; r.Code != term.ExitOK || r.Err != want {
		w.Errorf("exit code %d, errors %q; want %q", r.Code, r.Err, want)
	}
}

// diffs compares what would move with what moves.
func diffs(w *world) {
	w.same("of a placement that is as it was", "nothing would move", strings.TrimSpace(lineOf(w.asks("diff", "-f", w.write(w.example("single")), "-n", home), "Ranks:")))
	changed := w.example("tensor")
	four := int32(4)
	changed.Spec.Parallelism.Tensor, changed.Spec.Workload.Inference.MaxSequences = &four, 2
	file := w.write(changed)
	r := w.run(0, w.kubeconfig, "diff", "-f", file, "-n", home)
	if r.Code != term.ExitAlert || r.Err != "" {
		w.Errorf("exit code %d, errors %q; want %d", r.Code, r.Err, term.ExitAlert)
	}
	clitest.Golden(w.T, "live-diff.txt", r.Out)
	foretold := w.planned(file)
	w.edit("tensor", func(p *v1alpha1.ModelPlacement) { p.Spec = changed.Spec })
	w.agrees(foretold, w.decided("tensor"))
	w.edit("tensor", func(p *v1alpha1.ModelPlacement) { p.Spec = w.example("tensor").Spec })
	w.decided("tensor")
	huge := w.example("too-large")
	if r := w.run(0, w.kubeconfig, "diff", "-f", w.write(huge), "-n", home); r.Code != term.ExitFailure || !strings.Contains(r.Err, "does not fit") {
		w.Errorf("exit code %d, errors %q; want a refusal", r.Code, r.Err)
	}
}

// lineOf is what follows a word in a text, to the end of the line.
func lineOf(text, word string) string {
	_, after, _ := strings.Cut(text, word)
	line, _, _ := strings.Cut(after, "\n")
	return line
}

// edit changes the spec of a placement.
func (w *world) edit(name string, edit func(*v1alpha1.ModelPlacement)) {
	w.Helper()
	p := &v1alpha1.ModelPlacement{ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: name}}
	w.Change(p, func() { edit(p) })
}
