package live

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/clitest"
	"github.com/rankwright/rankwright/internal/cli/term"
)

// cordons cordons devices and lifts it again. One is cordoned from the start.
func cordons(w *world) {
	const id, other = "amd-0000:27:00.0", "amd-0000:a7:00.0"
	cordoned := func(want ...v1alpha1.DeviceID) {
		w.Helper()
		w.same("cordoned devices", fmt.Sprint(want), fmt.Sprint(w.inventory("mi300x-0").Spec.CordonedDevices))
	}
	w.same("tried", "device/mi300x-0/"+id+" cordoned (dry run)\n", w.asks("cordon", "device/mi300x-0/"+id, "--dry-run"))
	w.same("told", "device/mi300x-0/"+id+" cordoned (dry run)\n", w.asks("cordon", "device/mi300x-0/"+id, "--dry-run=client"))
	cordoned(other)
	const named = "acceleratorinventory.rankwright.dev/mi300x-0\n"
	for how, want := range map[string]string{
		"-o name":                                            named,
		"--dry-run=client -o name":                           named,
		"-o jsonpath={.kind} {.spec}":                        `AcceleratorInventory {"cordonedDevices":["` + id + `","` + other + `"]}` + "\n",
		"--dry-run=client -o jsonpath={.kind} {.spec}":       `AcceleratorInventory {"cordonedDevices":["` + id + `","` + other + `"]}` + "\n",
		"-o jsonpath={.apiVersion}{.metadata.managedFields}": "rankwright.dev/v1alpha1\n",
	} {
		flags, path, _ := strings.Cut(how, "jsonpath=")
		args := append([]string{"cordon", "device/mi300x-0/" + id, "--dry-run"}, strings.Fields(flags)...)
		if path != "" {
			args[len(args)-1] = "-ojsonpath=" + path
		}
		w.same(how, want, w.asks(args...))
	}
	both := w.asks("cordon", "node/mi300x-0", "node/l40s-0", "--dry-run", "-o", "yaml")
	if strings.Count(both, "\n---\napiVersion: ") != 1 || strings.Count(both, "\nkind: AcceleratorInventory\n") != 2 || strings.Contains(both, "managedFields") {
		w.Errorf("two inventories as YAML:\n%s", both)
	}
	cordoned(other)
	w.same("by its path", "device/mi300x-0/"+id+" cordoned\n", w.asks("cordon", "device/mi300x-0/"+id))
	cordoned(id, other)
	w.same("again, by its id alone", "device/mi300x-0/"+id+" already cordoned\n", w.asks("cordon", id))
	w.same("lifted", "device/mi300x-0/"+id+" uncordoned\n", w.asks("uncordon", "device/"+id))
	cordoned(other)

	var all sync.WaitGroup
	for _, bus := range []string{"05", "27", "47", "65"} { // each rests on an inventory that the others change
		all.Go(func() {
			if r := w.run(0, w.kubeconfig, "cordon", "device/mi300x-0/amd-0000:"+bus+":00.0"); r.Code != term.ExitOK {
				w.Errorf("%s: exit code %d, errors %q", bus, r.Code, r.Err)
			}
		})
	}
	all.Wait()
	cordoned("amd-0000:05:00.0", "amd-0000:27:00.0", "amd-0000:47:00.0", "amd-0000:65:00.0", other)
	if out := w.asks("uncordon", "node/mi300x-0"); strings.Count(out, " uncordoned\n") != 5 || strings.Count(out, " not cordoned\n") != 3 {
		w.Errorf("of a whole node:\n%s", out)
	}
	cordoned()

	// What the operator cordoned for a fault stays so.
	inventory := w.inventory("mi300x-0")
	w.Change(inventory, func() {
		inventory.Status.Repairs = []v1alpha1.Repair{{Device: id, State: v1alpha1.Repairing, Fault: "ECCErrors", Since: metav1.Now()}}
	})
	r := w.run(0, w.kubeconfig, "uncordon", "device/mi300x-0/"+id)
	if want := "device/mi300x-0/" + id + " not cordoned, but the operator keeps it cordoned: ECCErrors, Repairing\n"; r.Code != term.ExitFailure || r.Out != want {
		w.Errorf("exit code %d, output %q; want %q", r.Code, r.Out, want)
	}
	w.Change(inventory, func() { inventory.Status.Repairs = nil })
	w.asks("cordon", "device/mi300x-0/"+other)

	for command, want := range map[string]string{
		"cordon":                               "no device: write cordon device/NODE/ID or cordon node/NAME",
		"cordon pod/x":                         `"pod/x": name device/NODE/ID or node/NAME`,
		"cordon node/h100-1":                   "there is no inventory of node h100-1: did you mean h100-0",
		"cordon device/h100-0/" + id:           "node h100-0 has no device " + id,
		"cordon nvidia-0":                      "no node has a device nvidia-0",
		"uncordon --kubeconfig /none node/x":   "/none",
		"cordon node/mi300x-0 device/nowhere/": `"device/nowhere/": name device/NODE/ID`,
	} {
		if r := w.run(0, w.kubeconfig, strings.Fields(command)...); r.Code == term.ExitOK || !strings.Contains(r.Err, want) && !strings.Contains(want, "/none") {
			w.Errorf("%s: exit code %d, errors %q; want %q", command, r.Code, r.Err, want)
		}
	}
	viewer := filepath.Join(w.kubeconfigs, "viewer")
	if r := w.run(0, viewer, "cordon", id); r.Code != term.ExitFailure || !strings.Contains(r.Err, "not permitted: ask for the verb patch on acceleratorinventories of rankwright.dev") {
		w.Errorf("a viewer: exit code %d, errors %q", r.Code, r.Err)
	}
	cordoned(other)
}

// asksAnew asks for a fresh plan, after the device of placement single was cordoned, and for a verification.
func asksAnew(w *world) {
	single := &v1alpha1.ModelPlacement{ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: "single"}}
	w.same("nothing would move", "nothing would move", strings.TrimSpace(lineOf(w.asks("diff", "mp/single", "-n", home), "Ranks:")))
	w.asks("cordon", "amd-0000:05:00.0")
	r := w.run(0, w.kubeconfig, "diff", "mp/single", "-n", home, "-o", "jsonpath={.items[0].ranks[0].change} {.items[0].ranks[0].to}")
	change, to, _ := strings.Cut(strings.TrimSpace(r.Out), " ")
	if r.Code != term.ExitAlert || change != "moves" || !strings.HasPrefix(to, "mi300x-0/amd-0000:") {
		w.Errorf("exit code %d, output %q, errors %q; want that the rank moves", r.Code, r.Out, r.Err)
	}
	asked := clitest.Object[v1alpha1.ModelPlacement](w.T, w.asks("replan", "mp/single", "-n", home, "--dry-run=client", "-o", "json"))
	tried := clitest.Object[v1alpha1.ModelPlacement](w.T, w.asks("replan", "mp/single", "-n", home, "--dry-run", "-o", "json"))
	if asked.Kind != "ModelPlacement" || asked.Spec.ReplanRequest == "" || tried.Spec.ReplanRequest == "" || tried.Spec.Model.Name == nil {
		w.Errorf("asked by this program %+v, by the API server %+v", asked.Spec, tried.Spec)
	}
	w.same("replan as a name", "modelplacement.rankwright.dev/single\n", w.asks("replan", "mp/single", "-n", home, "--dry-run", "-o", "name"))
	w.same("replan", "modelplacement.rankwright.dev/single: a fresh plan is asked for: kubectl rankwright tree mp/single -n team-a\n", w.asks("replan", "mp/single", "-n", home))
	made := w.decided("single")
	if got := made.Spec.Nodes[0].Node + "/" + string(made.Spec.Nodes[0].Devices[0]); got != to {
		w.Errorf("the rank moved to %s, and diff said %s", got, to)
	}
	w.asks("uncordon", "amd-0000:05:00.0")

	r = w.run(0, w.kubeconfig, "verify", "mp/single", "-n", home)
	if want := "error: placement team-a/single asks for no verification: set spec.verification.mode to Report or Require\n"; r.Code != term.ExitFailure || r.Err != want {
		w.Errorf("exit code %d, errors %q; want %q", r.Code, r.Err, want)
	}
	w.edit("single", func(p *v1alpha1.ModelPlacement) {
		p.Spec.Verification = &v1alpha1.Verification{Mode: v1alpha1.VerificationReport}
	})
	w.same("verify", "modelplacement.rankwright.dev/single: its pods verify anew when they are made anew: kubectl delete pods -n team-a -l rankwright.dev/placement=single\n",
		w.asks("verify", "mp/single", "-n", home))
	w.Must(w.Get(w.Context(), client.ObjectKeyFromObject(single), single))
	if v := single.Spec.Verification; v.NotBefore == nil || v.Mode != v1alpha1.VerificationReport {
		w.Errorf("verification %+v", v)
	}
	w.Eventually("the mesh is to be verified", func(context.Context) bool {
		return strings.Contains(w.asks("tree", "mp/single", "-n", home), "verification: Pending")
	})
	w.edit("single", func(p *v1alpha1.ModelPlacement) { p.Spec.Verification = nil })
}
