package cli

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/clitest"
	"github.com/rankwright/rankwright/internal/cli/sizing"
	"github.com/rankwright/rankwright/internal/cli/term"
)

// tinyTensors are the shapes of the model that config describes.
func tinyTensors() map[string][]int64 {
	shapes := map[string][]int64{"model.embed_tokens.weight": {100, 64}, "lm_head.weight": {100, 64}, "model.norm.weight": {64}}
	for layer := range 2 {
		for name, shape := range map[string][]int64{
			"input_layernorm": {64}, "post_attention_layernorm": {64}, "self_attn.q_proj": {64, 64}, "self_attn.k_proj": {32, 64},
			"self_attn.v_proj": {32, 64}, "self_attn.o_proj": {64, 64}, "mlp.gate_proj": {128, 64}, "mlp.up_proj": {128, 64}, "mlp.down_proj": {64, 128},
		} {
			shapes[fmt.Sprintf("model.layers.%d.%s.weight", layer, name)] = shape
		}
	}
	return shapes
}

// modelFolder writes a folder `tiny` with weights in a type of some width, and the config that claims BF16.
func modelFolder(t *testing.T, kind string, width int64) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "tiny")
	header := map[string]any{}
	var offset int64
	shapes := tinyTensors()
	for _, name := range slices.Sorted(maps.Keys(shapes)) {
		size := width
		for _, d := range shapes[name] {
			size *= d
		}
		header[name] = map[string]any{"dtype": kind, "shape": shapes[name], "data_offsets": []int64{offset, offset + size}}
		offset += size
	}
	text, err := json.Marshal(header)
	if err != nil {
		t.Fatal(err)
	}
	file := append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...)
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"model.safetensors": append(file, make([]byte, offset)...), "config.json": []byte(config)} {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func TestModelInspect(t *testing.T) {
	const parameters = 2*(2*64+2*64*64+2*64*32+3*64*128) + 2*100*64 + 64
	folder := modelFolder(t, "F32", 4)
	for _, path := range []string{folder, filepath.Join(folder, "model.safetensors")} {
		found := clitest.Object[sizing.Inspection](t, ok(t, "", "model", "inspect", path, "-o", "json"))
		if found.Name != "tiny" || found.Format != "safetensors" || found.Parameters != parameters || found.Bytes != 4*parameters || found.Precision != v1alpha1.FP32 {
			t.Errorf("%s %s with %d parameters in %d bytes of %s", found.Name, found.Format, found.Parameters, found.Bytes, found.Precision)
		}
		if len(found.Layers) != 2 || found.Layers[1].Stack != "model.layers" || found.Layers[1].Tensors != 9 || found.Outside.Tensors != 3 {
			t.Errorf("layers %v, outside %v", found.Layers, found.Outside)
		}
		if found.Model == nil || found.Model.Native != v1alpha1.FP32 || found.Model.Parameters != parameters {
			t.Errorf("model %v", found.Model)
		}
	}
	clitest.Golden(t, "inspect.txt", ok(t, "", "model", "inspect", folder))
	clitest.Golden(t, "inspect-wide.txt", ok(t, "", "model", "inspect", folder, "-o", "wide"))
	clitest.Golden(t, "inspect.yaml", ok(t, "", "model", "inspect", folder, "-o", "yaml"))
}

// TestModelInspectWithoutModel shows what the headers say where no model can be made of it.
func TestModelInspectWithoutModel(t *testing.T) {
	folder := modelFolder(t, "BF16", 2)
	if err := os.Remove(filepath.Join(folder, "config.json")); err != nil {
		t.Fatal(err)
	}
	out := ok(t, "", "model", "inspect", folder)
	for _, want := range []string{"Parameters:   86,848", "Problem:", "no architecture can be made up", "model.layers   0-1"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
}

func TestPlanModelFile(t *testing.T) {
	folder := modelFolder(t, "F32", 4)
	input := stream(inventoryOf("a", 1), placement("p", large))
	for _, path := range []string{folder, filepath.Join(folder, "config.json")} {
		plans, _ := plansOf(t, ok(t, input, "plan", "-f", "-", "--model-file", path, "-o", "json"))
		if m := plans[0].Spec.Model; m.Name != "tiny" || m.Parameters != 86_848 || m.Architecture.HiddenSize != 64 {
			t.Errorf("%s: planned %s of %d parameters", path, m.Name, m.Parameters)
		}
	}
}

func TestModelFileRefusals(t *testing.T) {
	folder := modelFolder(t, "BF16", 2)
	weights := filepath.Join(folder, "model.safetensors")
	if err := os.Truncate(weights, 3000); err != nil {
		t.Fatal(err)
	}
	one := stream(inventoryOf("a", 1), placement("p", small))
	tests := map[string]struct {
		input string
		args  []string
		code  int
		want  string
	}{
		"inspect nothing":   {"", []string{"model", "inspect"}, term.ExitUsage, "give the file or folder of one model"},
		"inspect two":       {"", []string{"model", "inspect", "a", "b"}, term.ExitUsage, "2 paths given"},
		"no such path":      {"", []string{"model", "inspect", "/nowhere/at/all"}, term.ExitFailure, "/nowhere/at/all"},
		"the root":          {"", []string{"model", "inspect", "/"}, term.ExitFailure, "model file /"},
		"damaged":           {"", []string{"model", "inspect", weights}, term.ExitFailure, "cut off"},
		"plan of damaged":   {one, []string{"plan", "-f", "-", "--model-file", folder}, term.ExitFailure, "cut off"},
		"no model":          {one, []string{"plan", "-f", "-", "--model-file", t.TempDir()}, term.ExitFailure, "holds no model"},
		"two placements":    {stream(one, placement("q", small)), []string{"plan", "-f", "-", "--model-file", folder}, term.ExitUsage, "--model-file with 2 placements"},
		"without placement": {inventoryOf("a", 1), []string{"plan", "-f", "-", "--model-file", folder}, term.ExitUsage, "--model-file with 0 placements"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := run(t, test.input, test.args...)
			if r.Code != test.code || r.Out != "" || !strings.Contains(r.Err, test.want) {
				t.Errorf("exit code %d, output %q, errors %q; want %d and %q", r.Code, r.Out, r.Err, test.code, test.want)
			}
		})
	}
}
