package agreement

import (
	"cmp"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/facts"
	"github.com/rankwright/rankwright/pkg/accelerator"
	"github.com/rankwright/rankwright/pkg/engine"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/model"
	"github.com/rankwright/rankwright/test/figure"
)

// recipe is how vLLM's recipes say that a model runs.
type recipe struct {
	Model   string
	Context int32
	// Hardware has a state for each word of products.
	Hardware map[string]string
	// Variants are checkpoints; the first is the default.
	Variants []variant
	Commands []command
}

// variant is a checkpoint. Where its tensor degree is said by device, it is for those devices.
type variant struct {
	Precision string
	TP        any
	// Checkpoint is absent in the default, which is the recipe's model.
	Checkpoint string `json:"model_id"`
	// Memory is the least that the recipe says it needs, in GB (10^9 bytes).
	Memory int64 `json:"vram_minimum_gb"`
}

func (v *variant) names(hardware string) bool {
	byDevice, said := v.TP.(map[string]any)
	return !said || byDevice[hardware] != nil
}

// of returns the variant of a checkpoint, else the default.
func (r *recipe) of(checkpoint string) *variant {
	return &r.Variants[max(0, slices.IndexFunc(r.Variants, func(v variant) bool { return cmp.Or(v.Checkpoint, r.Model) == cmp.Or(checkpoint, r.Model) }))]
}

// precision returns the format of the checkpoint for a device: that of the first variant that is for it, else of the default.
func (r *recipe) precision(hardware string) v1alpha1.Precision {
	at := max(0, slices.IndexFunc(r.Variants, func(v variant) bool { return v.names(hardware) }))
	return v1alpha1.Precision(strings.ToUpper(r.Variants[at].Precision))
}

// command is `vllm serve` in the guide of a recipe, under a heading that may say for which devices it is and what for.
type command struct {
	Tensor        int    `json:"tp"`
	Pipeline      int    `json:"pp"`
	Data          int    `json:"dp"`
	DecodeContext int    `json:"dcp"`
	Experts       bool   `json:"expert_parallel"`
	Length        int32  `json:"max_model_len"`
	Cache         string `json:"kv"`
	Checkpoint    string
	Under         string
}

// devices is how many devices a command takes.
func (c *command) devices() int { return max(1, c.Tensor) * max(1, c.Pipeline) * max(1, c.Data) }

// products are the words of the recipes for products of the catalogue.
var products = map[string]string{
	"a100": "NVIDIA A100-SXM4-80GB", "h20": "NVIDIA H20", "h100": "NVIDIA H100 80GB HBM3", "h200": "NVIDIA H200", "b200": "NVIDIA B200",
	"b300": "NVIDIA B300 SXM6 AC", "gb200": "NVIDIA GB200", "gb300": "NVIDIA GB300", "dgx_spark_gb10": "NVIDIA GB10", "dgx_station_gb300": "NVIDIA GB300",
	"rtx_4090_2x": "NVIDIA GeForce RTX 4090", "rtx_5090": "NVIDIA GeForce RTX 5090", "rtx_5090_2x": "NVIDIA GeForce RTX 5090",
	"rtx_pro_6000": "NVIDIA RTX PRO 6000 Blackwell Server Edition", "rtx_pro_6000_2x": "NVIDIA RTX PRO 6000 Blackwell Server Edition",
	"mi300x": "AMD Instinct MI300X", "mi325x": "AMD Instinct MI325X", "mi350x": "AMD Instinct MI350X", "mi355x": "AMD Instinct MI355X",
	"trillium": "TPU v6e", "ironwood": "TPU7x", "arc_pro_b60": "Intel Arc Pro B60", "arc_pro_b70": "Intel Arc Pro B70",
}

// sizes are the words of the recipes that say how many devices there are.
var sizes = map[string]int{"dgx_station_gb300": 1, "rtx_4090_2x": 2, "rtx_5090_2x": 2, "rtx_pro_6000_2x": 2}

// recipes reads vLLM's recipes.
func recipes(t *testing.T) []recipe {
	t.Helper()
	shared, err := facts.Folder()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(shared, "truth", "vllm_recipes.json"))
	if err != nil {
		t.Skipf("set %s to the folder that has truth: %v", facts.FolderEnv, err)
	}
	var table struct{ Recipes []recipe }
	if err := json.Unmarshal(data, &table); err != nil {
		t.Fatal(err)
	}
	return table.Recipes
}

// TestRecipes holds the planner to what vLLM's recipes say that runs: a model in the format of its checkpoint and in the degrees of
// each command, on each device for which it is verified. Memory does not decide, since a command does not say how many devices it has.
func TestRecipes(t *testing.T) {
	vllm, err := engine.Find(v1alpha1.EngineVLLM)
	if err != nil {
		t.Fatal(err)
	}
	asked, started, unknown := 0, 0, 0
	for _, r := range recipes(t) {
		m, _, err := model.Find(r.Model)
		if err != nil {
			unknown++
			continue
		}
		for _, hardware := range slices.Sorted(maps.Keys(r.Hardware)) {
			name := products[hardware]
			if name == "" || r.Hardware[hardware] != "verified" {
				continue
			}
			product, err := accelerator.Find(name)
			if err != nil {
				t.Fatal(err)
			}
			cluster := fleet.NewCluster([]fleet.Node{node(&product)})
			for _, c := range r.Commands {
				q := question{
					engine: vllm, model: m, weights: r.precision(hardware), product: &product,
					tensor: max(1, c.Tensor), pipeline: max(1, c.Pipeline), data: max(1, c.Data), expert: 1,
				}
				if c.Experts {
					q.expert = q.tensor * q.data
				}
				asked++
				if _, err := q.plan(cluster); err != nil {
					t.Errorf("%s runs, and is refused: %v", &q, err)
				} else if err := q.export(); err != nil {
					t.Errorf("%s runs, and is not exported: %v", &q, err)
				} else {
					started++
				}
			}
		}
	}
	const least = 200
	figure.All("vLLM's recipes", "commands that are planned and exported", started, asked, least).Hold(t)
	t.Logf("%d recipes are of models that the catalogue does not have", unknown)
}
