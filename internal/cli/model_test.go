package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rankwright/rankwright/internal/cli/clitest"
	"github.com/rankwright/rankwright/internal/cli/sizing"
)

// config is a small model of a known class.
const config = `{"model_type":"llama","hidden_size":64,"num_hidden_layers":2,"num_attention_heads":4,"num_key_value_heads":2,
"vocab_size":100,"intermediate_size":128,"torch_dtype":"bfloat16"}`

func TestModelJSON(t *testing.T) {
	got := clitest.Object[map[string]any](t, ok(t, "", "model", "meta-llama/Llama-3.1-70B", "-o", "json"))
	want := map[string]any{
		"name": "Llama-3.1-70B", "parameters": 70_553_706_496.0, "activeParameters": 69_503_033_344.0, "layers": 80.0,
		"weightBytes": 141_107_412_992.0, "kvBytesPerToken": 327_680.0, "native": "BF16",
	}
	for field, value := range want {
		if got[field] != value {
			t.Errorf("%s is %v, want %v", field, got[field], value)
		}
	}
}

// TestModelByItsBeginning takes the beginning of a name where no other model begins so, in every command.
func TestModelByItsBeginning(t *testing.T) {
	for _, args := range [][]string{
		{"model", "llama-4-scout"},
		{"estimate", "--model", "llama-4-scout", "--device", "H200", "--tp", "8"},
		{"recommend", "--model", "llama-4-scout", "--device", "H200"},
		{"train", "--model", "llama-4-scout", "--device", "H200", "--tp", "8", "--method", "lora", "--sharding", "none"},
	} {
		if out := ok(t, "", args...); !strings.Contains(out, "Llama-4-Scout-17B-16E") {
			t.Errorf("%q answers %s", args, out)
		}
	}
}

// TestModelFromConfig counts 2 layers of 2*64 norms, 2*64*64+2*64*32 attention and 3*64*128 block, 2 tables and a norm.
func TestModelFromConfig(t *testing.T) {
	const parameters = 2*(2*64+2*64*64+2*64*32+3*64*128) + 2*100*64 + 64
	folder := filepath.Join(t.TempDir(), "tiny")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(folder, "config.json")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	for argument, name := range map[string]string{file: "tiny", "-": "stdin"} {
		facts := clitest.Object[sizing.ModelFacts](t, ok(t, config, "model", argument, "-o", "json"))
		if facts.Name != name || facts.Parameters != parameters || facts.WeightBytes != 2*parameters || facts.KVBytesPerToken != 2*2*2*16*2 {
			t.Errorf("%s: %s has %d parameters, %d bytes, %d of cache; want %s with %d", argument, facts.Name, facts.Parameters,
				facts.WeightBytes, facts.KVBytesPerToken, name, parameters)
		}
	}
}

func TestModelTables(t *testing.T) {
	clitest.Golden(t, "model.txt", ok(t, "", "model", "Llama-3.1-70B"))
	clitest.Golden(t, "model-wide.txt", ok(t, "", "model", "GPT-OSS-120B", "-o", "wide"))
	clitest.Golden(t, "model-latent.txt", ok(t, "", "model", "DeepSeek-V3"))
	clitest.Golden(t, "model-config.txt", ok(t, strings.Replace(config, `"llama"`, `"newllm"`, 1), "model", "-"))
	clitest.Golden(t, "model.yaml", ok(t, config, "model", "-", "-o", "yaml"))
}

func TestModelList(t *testing.T) {
	lines := strings.Split(strings.TrimSpace(ok(t, "", "model")), "\n")
	if want := "NAME PARAMETERS LAYERS WEIGHTS KV/TOKEN NATIVE CONTEXT"; strings.Join(strings.Fields(lines[0]), " ") != want {
		t.Errorf("header %q, want %q", lines[0], want)
	}
	if !slices.IsSorted(lines[1:]) || !strings.Contains(strings.Join(lines, "\n"), "\nMixtral-8x7B ") {
		t.Errorf("the list is not sorted or lacks a model: %q", lines)
	}
	if all := clitest.Object[[]sizing.ModelFacts](t, ok(t, "", "model", "-o", "json")); len(all) != len(lines)-1 {
		t.Errorf("%d models as JSON, %d in the table", len(all), len(lines)-1)
	}
}
