package live

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/internal/repository"
	"github.com/rankwright/rankwright/test/controlplane"
)

// completes completes arguments with what the cluster has; nothing where it cannot be asked.
func completes(w *world) {
	for text, want := range map[string]string{
		"why":                           "mp/ pod/ node/ device/ :6",
		"why m":                         "mp/ :6",
		"why mp/te":                     "mp/tensor :4",
		"why pod/":                      "pod/single-0 :4",
		"tree modelplacement/":          "modelplacement/pipeline modelplacement/single modelplacement/tensor modelplacement/too-large :4",
		"tree node/":                    ":6",
		"cordon node/":                  "node/h100-0 node/l40s-0 node/mi300x-0 :4",
		"cordon device/l40s-0/nvidia-":  "device/l40s-0/nvidia-0000:01:00.0 device/l40s-0/nvidia-0000:41:00.0 device/l40s-0/nvidia-0000:81:00.0 device/l40s-0/nvidia-0000:c1:00.0 :4",
		"replan --kubeconfig /none mp/": ":4",
	} {
		command, about, _ := strings.Cut(text, " ")
		args := []string{"__complete", command, "--kubeconfig", w.kubeconfig, "-n", home}
		args = append(args, strings.Fields(about)...)
		if about == "" {
			args = append(args, "")
		}
		r := w.run(0, "", args...)
		w.same(text, want, strings.Join(strings.Fields(r.Out), " "))
	}
}

// completesThroughKubectl asks the real kubectl, as a shell does, with the program saved as the help of completion says.
func completesThroughKubectl(w *world) {
	folder := w.TempDir()
	root, err := repository.Root()
	w.Must(err)
	build := exec.CommandContext(w.Context(), "go", "build", "-trimpath", "-o", filepath.Join(folder, "kubectl-rankwright"), "./cmd/kubectl-rankwright") //nolint:gosec // a test's own
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		w.Fatalf("%v: %s", err, out)
	}
	program := w.run(0, "", "completion", "kubectl")
	if program.Code != term.ExitOK {
		w.Fatal(program.Err)
	}
	w.Must(os.WriteFile(filepath.Join(folder, "kubectl_complete-rankwright"), []byte(program.Out), 0o700)) //nolint:gosec // it is run
	assets, err := controlplane.FindAssets()
	w.Must(err)
	for text, want := range map[string]string{
		"why -n " + home + " mp/te": "mp/tensor :4",
		"cord":                      "cordon Keep devices from new plans and new pods :4",
	} {
		args := append([]string{"__complete", "rankwright"}, strings.Fields(text)...)
		kubectl := exec.CommandContext(w.Context(), filepath.Join(assets, "kubectl"), args...) //nolint:gosec // a test's own
		kubectl.Env = append(os.Environ(), "KUBECONFIG="+w.kubeconfig, "PATH="+strings.Join([]string{folder, assets, os.Getenv("PATH")}, string(os.PathListSeparator)))
		out, err := kubectl.Output()
		w.Must(err)
		w.same(text, want, strings.Join(strings.Fields(string(out)), " "))
	}
}
