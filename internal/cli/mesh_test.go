package cli

import (
	"strings"
	"testing"

	"github.com/rankwright/rankwright/internal/cli/clitest"
	"github.com/rankwright/rankwright/internal/cli/term"
)

func TestMeshJSON(t *testing.T) {
	tests := map[string]struct {
		args string
		want string
	}{
		"Megatron's order": {
			"--order tp-cp-ep-dp-pp --tp 2 --pp 2 --dp 2 --group tp-pp",
			`{"worldSize":8,"groups":{"dp":[[0,2],[1,3],[4,6],[5,7]],"pp":[[0,4],[1,5],[2,6],[3,7]],"tp":[[0,1],[2,3],[4,5],[6,7]],` +
				`"tp-pp":[[0,1,4,5],[2,3,6,7]],"world":[[0,1,2,3,4,5,6,7]]}}`,
		},
		"vLLM with experts": {
			"--engine vLLM --tp 2 --pp 2 --dp 2 --ep 4",
			`{"worldSize":8,"groups":{"dp":[[0,4],[1,5],[2,6],[3,7]],"ep":[[0,1,4,5],[2,3,6,7]],"pp":[[0,2],[1,3],[4,6],[5,7]],` +
				`"tp":[[0,1],[2,3],[4,5],[6,7]],"world":[[0,1,2,3,4,5,6,7]]}}`,
		},
		"experts as a dimension": {
			"--order tp-ep --tp 2 --ep 2",
			`{"worldSize":4,"groups":{"ep":[[0,2],[1,3]],"tp":[[0,1],[2,3]],"world":[[0,1,2,3]]}}`,
		},
		"size 1 that is given": {
			"--order tp-pp-dp --tp 2 --dp 1",
			`{"worldSize":2,"groups":{"dp":[[0],[1]],"tp":[[0,1]],"world":[[0,1]]}}`,
		},
		"the default order is vLLM's": {
			"--pp 2 --dp 2",
			`{"worldSize":4,"groups":{"dp":[[0,2],[1,3]],"pp":[[0,1],[2,3]],"world":[[0,1,2,3]]}}`,
		},
		"one rank": {"--group world", `{"worldSize":1,"groups":{"world":[[0]]}}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			out := ok(t, "", append([]string{"mesh", "-o", "json"}, strings.Fields(test.args)...)...)
			if got := strings.Join(strings.Fields(out), ""); got != test.want {
				t.Errorf("%s\nwant %s", got, test.want)
			}
		})
	}
}

func TestMeshTables(t *testing.T) {
	clitest.Golden(t, "mesh.txt", ok(t, "", "mesh", "--engine", "Megatron", "--tp", "2", "--dp", "2", "--pp", "2", "--ep", "2", "--group", "tp-dp"))
	clitest.Golden(t, "mesh-large.txt", ok(t, "", "mesh", "--tp", "32", "--dp", "16"))
	clitest.Golden(t, "mesh.yaml", ok(t, "", "mesh", "--tp", "2", "-o", "yaml"))
}

func TestMeshWideShowsEveryRank(t *testing.T) {
	out := ok(t, "", "mesh", "--tp", "32", "--dp", "16", "-o", "wide")
	if strings.Contains(out, "…") || !strings.Contains(out, "510 511]") {
		t.Errorf("ranks are left out: %s", out)
	}
}

// With inventories the devices get the ranks, and libraries and slowest links are shown.
func TestMeshOfInventories(t *testing.T) {
	two := stream(inventoryOf("a", 4), inventoryOf("b", 4))
	clitest.Golden(t, "mesh-devices.txt", ok(t, two, "mesh", "-f", "-", "--tp", "4", "--pp", "2"))
	r := run(t, two, "mesh", "-f", "-", "--tp", "3")
	if want := "tp3 makes 3 ranks, and there are 8 devices: 5 would be left over"; r.Code != term.ExitUsage || !strings.Contains(r.Err, want) {
		t.Errorf("exit code %d, %q, want %q", r.Code, r.Err, want)
	}
	if out := ok(t, two, "mesh", "-f", "-", "--tp", "4", "--pp", "2", "-o", "json"); !strings.Contains(out, `"torchBackend": "nccl"`) || !strings.Contains(out, `"localRank": 3`) {
		t.Error(out)
	}
}
