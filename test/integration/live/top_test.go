package live

import (
	"bufio"
	"context"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli"
	"github.com/rankwright/rankwright/internal/cli/clitest"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/pkg/holding"
	"github.com/rankwright/rankwright/test/controlplane"
	"github.com/rankwright/rankwright/test/operation"
)

func top(w *world) {
	for name, args := range map[string][]string{
		"fleet": {"top"}, "devices": {"top", "devices"}, "nodes": {"top", "nodes"}, "products": {"top", "products"}, "placements": {"top", "placements", "-A"},
	} {
		clitest.Golden(w.T, "live-top-"+name+".txt", w.asks(args...))
		clitest.Golden(w.T, "live-top-"+name+"-80.txt", w.checked(w.run(80, w.kubeconfig, args...), args))
		clitest.Golden(w.T, "live-top-"+name+"-wide.txt", w.asks(append(slices.Clone(args), "-o", "wide")...))
	}
	w.same("fleet by its name", w.asks("top"), w.asks("top", "fleet"))
}

func (w *world) page() *clitest.Page {
	w.Helper()
	return clitest.ReadPage(w.T, filepath.Join("..", "..", "..", "docs", "use", "plugin.md"))
}

// documented holds the page of the plugin to what its commands print. The tenant has its rights already.
func documented(w *world) {
	page := w.page()
	for _, command := range []string{
		"top", "top devices", "tree mp/tensor -n " + home, "why mp/too-large -n " + home, "why device/mi300x-0/amd-0000:05:00.0",
		"cordon device/mi300x-0/amd-0000:27:00.0 --dry-run", "replan mp/single -n " + home + " --dry-run",
	} {
		page.Show(w.T, command, w.asks(strings.Fields(command)...))
	}
	page.Show(w.T, "top -n "+home, w.checked(w.run(0, w.of("tenant"), "top", "-n", home), nil))
	page.Hold(w.T, "kubectl rankwright why pod/", "kubectl rankwright record ")
}

// topSelects are outputs of a few words each.
func topSelects(w *world) {
	const id = "amd-0000:27:00.0"
	for command, want := range map[string]string{
		"top devices --state Idle -o name":                                                                                   "device/mi300x-0/" + id + "\ndevice/mi300x-0/amd-0000:47:00.0\ndevice/mi300x-0/amd-0000:65:00.0\ndevice/mi300x-0/amd-0000:85:00.0\n",
		"top devices -n team-b -o custom-columns=D:.id,P:.pods[0].name":                                                      "D                  P\namd-0000:e5:00.0   notebook-0\n",
		"top devices -l pool=l40s -o jsonpath={.items[*].seats[0].rank}":                                                     "0 1 2 3\n",
		"top devices --sort-by util -l pool=h100 -o jsonpath={.items[*].utilization.percent},{.items[0].utilization.readAt}": "97 96 41 0,2026-05-04T12:02:03Z\n",
		"top -o jsonpath={.totals.utilization}":                                                                              "{\"devices\":6,\"meanPercent\":40}\n",
		"top devices -l pool=none":                                                                                           "No devices.\n",
		"top nodes --sort-by free -o name":                                                                                   "node/mi300x-0\nnode/h100-0\nnode/l40s-0\n",
		"top nodes -n team-b -o name":                                                                                        "node/mi300x-0\n",
		"top placements":                                                                                                     "No placements in namespace default; -A looks in all.\n",
		"top placements -n team-a --sort-by devices -o name":                                                                 "modelplacement.rankwright.dev/tensor\nmodelplacement.rankwright.dev/pipeline\nmodelplacement.rankwright.dev/single\nmodelplacement.rankwright.dev/too-large\n",
		"top products -o custom-columns=P:.name,IDLE:.totals.conditions.Idle":                                                "P                         IDLE\nAMD Instinct MI300X OAM   4\nNVIDIA H100 80GB HBM3     <none>\nNVIDIA L40S               <none>\n",
		"top -o jsonpath={.totals.devices},{.totals.conditions.Idle},{.attention[*].id}":                                     "20,4,amd-0000:a7:00.0 amd-0000:c7:00.0\n",
	} {
		args := strings.Fields(command)
		w.same(command, want, w.asks(args...))
	}
	for command, want := range map[string]string{
		"top planets":                    `unknown view "planets": use devices, fleet`,
		"top devices --sort-by colour":   "--sort-by colour: use one of node, device",
		"top devices -l =":               "--selector",
		"top devices --state Tired":      "--state Tired: use InUse, Reserved, Idle, OutOfUse, Unknown",
		"top devices --interval -1s":     "give a time above 0",
		"top devices --context nowhere":  "nowhere",
		"top devices --kubeconfig /none": "/none",
	} {
		if r := w.run(0, "", strings.Fields(command)...); r.Code == term.ExitOK || !strings.Contains(r.Err, want) {
			w.Errorf("%s: exit code %d, errors %q; want %q", command, r.Code, r.Err, want)
		}
	}
}

// as writes the kubeconfig of a user to whom the role of viewers is bound, in a namespace, or in the whole cluster where it is empty.
func (w *world) as(user, namespace string) string {
	w.Helper()
	role := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "rankwright-view"}
	subjects := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}}
	if namespace == "" {
		w.Must(w.Create(w.Context(), &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: user}, RoleRef: role, Subjects: subjects}))
	} else {
		w.Must(w.Create(w.Context(), &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: user}, RoleRef: role, Subjects: subjects}))
	}
	return w.of(user)
}

// of writes the kubeconfig of a user.
func (w *world) of(user string) string {
	w.Helper()
	config, err := w.Cluster.ConfigForUser(user)
	w.Must(err)
	path := filepath.Join(w.kubeconfigs, user)
	w.Must(controlplane.WriteKubeconfig(path, config))
	return path
}

// topUnseen looks as users who may not see everything: what they may not see is named, and nothing that might be held is free.
func topUnseen(w *world) {
	viewer, tenant := w.as("viewer", ""), w.as("tenant", home)
	w.Eventually("the users have their rights", func(context.Context) bool {
		return w.run(0, viewer, "top").Code == term.ExitOK && strings.Contains(w.run(0, tenant, "top", "placements", "-n", home).Out, "tensor")
	})
	clitest.Golden(w.T, "live-top-viewer.txt", w.checked(w.run(0, viewer, "top"), nil))
	if r := w.run(0, w.of("nobody"), "top"); !strings.Contains(r.Out, "not permitted to see") || strings.Contains(r.Out, "idle") {
		w.Errorf("a user who sees nothing is told:\n%s", r.Out)
	}
	clitest.Golden(w.T, "live-top-tenant.txt", w.checked(w.run(0, tenant, "top", "-n", home), nil))
	seen := clitest.Object[struct{ Items []holding.Device }](w.T, w.checked(w.run(0, viewer, "top", "devices", "-o", "json"), nil))
	for _, d := range seen.Items {
		if d.Condition == holding.Idle || d.Memory.FreeMiB > 0 {
			w.Errorf("%s of %s is %s with %d MiB free for a user who sees no pods", d.ID, d.Node, d.Condition, d.Memory.FreeMiB)
		}
	}
	own := w.checked(w.run(0, tenant, "top", "devices", "-n", home, "-o", "jsonpath={.items[*].condition} {.notPermitted[0].kind}"), nil)
	w.same("devices of the tenant's plans", strings.Repeat("Reserved ", 13)+"acceleratorinventories\n", own)
}

// topAs asks as somebody else by kubectl's own flags: by impersonation, and by a context and a user of a kubeconfig that has several.
func topAs(w *world) {
	viewer := w.of("viewer")
	want := w.checked(w.run(0, viewer, "top"), nil)
	w.same("top of who is impersonated", want, w.asks("top", "--as", "viewer"))
	if r := w.run(0, w.kubeconfig, "top", "--as", "nobody", "--as-group", "nobodies"); !strings.Contains(r.Out, "not permitted to see") {
		w.Errorf("somebody without rights is shown:\n%s%s", r.Out, r.Err)
	}
	if r := w.run(0, viewer, "top", "--as", "admin"); r.Code == term.ExitOK && !strings.Contains(r.Out, "Not permitted") {
		w.Errorf("a viewer may be the administrator:\n%s", r.Out)
	}
	both, err := clientcmd.LoadFromFile(w.kubeconfig)
	w.Must(err)
	theirs, err := clientcmd.LoadFromFile(viewer)
	w.Must(err)
	both.AuthInfos["theirs"] = theirs.AuthInfos[theirs.Contexts[theirs.CurrentContext].AuthInfo]
	cluster := both.Contexts[both.CurrentContext].Cluster
	both.Contexts["of-viewer"] = &clientcmdapi.Context{Cluster: cluster, AuthInfo: "theirs", Namespace: home}
	file := filepath.Join(w.kubeconfigs, "both")
	w.Must(clientcmd.WriteToFile(*both, file))
	w.same("top of a context", want, w.checked(w.run(0, file, "top", "--context", "of-viewer"), nil))
	w.same("top of a user", want, w.checked(w.run(0, file, "top", "--user", "theirs"), nil))
	w.same("placements in the namespace of a context", w.checked(w.run(0, viewer, "top", "placements", "-n", home), nil),
		w.checked(w.run(0, file, "top", "placements", "--context", "of-viewer"), nil))
}

// topWatch follows a device that is cordoned and comes back.
func topWatch(w *world) {
	ctx, cancel := context.WithTimeout(w.Context(), operation.Patience)
	defer cancel()
	out, in := io.Pipe()
	pauses := make(chan time.Time)
	streams := term.Streams{In: strings.NewReader(""), Out: in, Err: io.Discard, After: func(d time.Duration) <-chan time.Time {
		if d != time.Second { // of the pictures
			return nil
		}
		return pauses
	}}
	code := make(chan int, 1)
	go func() {
		code <- cli.Run(ctx, []string{"top", "devices", "-l", "pool=mi300x", "--watch", "--kubeconfig", w.kubeconfig}, streams)
		_ = in.Close()
	}()
	pictures := bufio.NewScanner(out)
	awaits := func(state string) {
		for pictures.Scan() {
			if line := pictures.Text(); strings.Contains(line, "amd-0000:27:00.0") && strings.Contains(line, state) {
				return
			}
		}
		w.Fatalf("the watch ended before the device was %s: %v", state, pictures.Err())
	}
	goOn := func() { // each picture but the last is followed by a pause
		go func() {
			for {
				select {
				case pauses <- time.Time{}:
				case <-ctx.Done():
					return
				}
			}
		}()
	}
	awaits("Idle")
	goOn()
	inventory := w.inventory("mi300x-0")
	was := inventory.Spec.CordonedDevices
	w.Change(inventory, func() { inventory.Spec.CordonedDevices = append([]v1alpha1.DeviceID{"amd-0000:27:00.0"}, was...) })
	awaits("OutOfUse")
	w.Change(inventory, func() { inventory.Spec.CordonedDevices = was })
	awaits("Idle")
	cancel()
	go func() { _, _ = io.Copy(io.Discard, out) }()
	if got := <-code; got != term.ExitOK {
		w.Errorf("the watch ended with exit code %d", got)
	}
}
