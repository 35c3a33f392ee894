package live

import (
	"strings"

	"github.com/rankwright/rankwright/internal/cli/clitest"
	"github.com/rankwright/rankwright/internal/cli/term"
)

func tree(w *world) {
	for _, name := range []string{"single", "tensor", "pipeline", "too-large"} {
		args := []string{"tree", "mp/" + name, "-n", home}
		clitest.Golden(w.T, "live-tree-"+name+".txt", w.asks(args...))
	}
	clitest.Golden(w.T, "live-tree-tensor-80.txt", w.checked(w.run(80, w.kubeconfig, "tree", "mp/tensor", "-n", home), nil))
	w.same("a device", "Device nvidia-0000:1b:00.0 h100-0\n",
		w.asks("tree", "tensor", "-n", home, "-o", "jsonpath={.branches[0].branches[0].branches[0].branches[0].kind} {.branches[0].branches[0].branches[0].branches[0].name} {.branches[0].branches[0].branches[0].branches[0].node}"))
	for command, want := range map[string]string{
		"tree mp/tensro -n team-a": "there is no placement tensro in namespace team-a: did you mean tensor",
		"tree mp/tensor":           "there is no placement tensor in namespace default: name the namespace with -n",
		"tree node/h100-0":         `"node/h100-0": name mp/NAME`,
		"tree":                     "0 arguments given: write tree mp/NAME",
	} {
		if r := w.run(0, w.kubeconfig, strings.Fields(command)...); r.Code == term.ExitOK || !strings.Contains(r.Err, want) {
			w.Errorf("%s: exit code %d, errors %q; want %q", command, r.Code, r.Err, want)
		}
	}
}
