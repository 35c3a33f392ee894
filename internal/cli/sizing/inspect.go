package sizing

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/model/checkpoint"
)

func newInspect(streams term.Streams) *cobra.Command {
	var output term.Format
	command := &cobra.Command{
		Use:   "inspect PATH",
		Short: "Show what the files of a model say: format, parameters, bytes by type and layer",
		Long: `Show what the files of a model say, read from their headers: safetensors with its index, GGUF, ONNX, PyTorch archives,
and the config.json beside them. PATH is a file or a folder; files are known by their content. No weight is loaded and
nothing is unpickled.

The model that plan makes of it is shown below: its architecture, the format of its weights as the headers have it, and
what was assumed. With -o wide every layer has a row of its own.`,
		Example: `  kubectl rankwright model inspect ./Llama-3.1-8B
  kubectl rankwright model inspect llama-3.1-8b-Q4_K_M.gguf -o json
  kubectl rankwright plan -f inventories.yaml -f placement.yaml --model-file ./Llama-3.1-8B`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return term.Usagef("%d paths given: give the file or folder of one model", len(args))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			c, err := OpenCheckpoint(args[0])
			if err != nil {
				return err
			}
			found := inspectionOf(c)
			return streams.Write(output, found, func(p *term.Page) { found.show(p, output.Wide()) })
		},
	}
	term.AddOutput(command, &output, term.Formats...)
	return command
}

// OpenCheckpoint opens the checkpoint at a path. It does so from the folder above, so that the model can be named after its
// folder.
func OpenCheckpoint(name string) (*checkpoint.Checkpoint, error) {
	absolute, err := filepath.Abs(name)
	if err != nil {
		return nil, fmt.Errorf("model file: %w", err)
	}
	root := filepath.Dir(filepath.Dir(absolute))
	inside, err := filepath.Rel(root, absolute)
	if err != nil {
		return nil, fmt.Errorf("model file: %w", err)
	}
	c, err := checkpoint.Open(os.DirFS(root), filepath.ToSlash(inside))
	if err != nil {
		return nil, fmt.Errorf("model file %s: %w", name, err)
	}
	return c, nil
}

// Inspection is what is shown of a model's files.
type Inspection struct {
	Name   string            `json:"name"`
	Format checkpoint.Format `json:"format"`
	Files  []checkpoint.File `json:"files,omitempty"`
	// Bytes and Parameters are the sums over all tensors.
	Tensors    int                    `json:"tensors"`
	Bytes      int64                  `json:"bytes"`
	Parameters int64                  `json:"parameters,omitempty"`
	Precision  v1alpha1.Precision     `json:"precision,omitempty"`
	Types      []checkpoint.TypeShare `json:"types,omitempty"`
	Layers     []checkpoint.Layer     `json:"layers,omitempty"`
	Outside    *checkpoint.Share      `json:"outsideLayers,omitempty"`
	Warnings   []string               `json:"warnings,omitempty"`
	// Model is what a plan counts with; Problem says why there is none.
	Model   *ModelFacts `json:"model,omitempty"`
	Problem string      `json:"problem,omitempty"`
}

func inspectionOf(c *checkpoint.Checkpoint) *Inspection {
	found := &Inspection{
		Name: c.Name, Format: c.Format, Files: c.Files, Tensors: len(c.Tensors), Bytes: c.Bytes(), Parameters: c.Parameters(),
		Precision: c.Precision, Types: c.ByType(), Warnings: c.Warnings,
	}
	layers, outside := c.ByLayer()
	if len(layers) > 0 {
		found.Layers, found.Outside = layers, &outside
	}
	m, err := c.Model()
	if err != nil {
		found.Problem = err.Error()
		return found
	}
	facts := factsOf(m)
	found.Model = &facts
	return found
}

func (f *Inspection) show(p *term.Page, wide bool) {
	p.Sheet(f.summary())
	p.Paragraph()
	p.Table([]string{"TYPE", "TENSORS", "PARAMETERS", "BYTES", "SIZE"}, term.Rows(f.Types, func(t *checkpoint.TypeShare) []any {
		return append([]any{t.Type}, shareCells(&t.Share)...)
	}))
	if len(f.Layers) > 0 {
		p.Paragraph()
		f.printLayers(p, wide)
	}
	if f.Model != nil {
		p.Paragraph()
		printModel(p, f.Model, wide)
	}
}

func (f *Inspection) summary() [][2]string {
	rows := [][2]string{{"Name", term.Printable(f.Name)}, {"Format", string(f.Format)}}
	if len(f.Files) > 0 {
		rows = append(rows, [][2]string{
			{"Files", f.files()},
			{"Tensors", fmt.Sprintf("%s, %s", term.Grouped(f.Tensors), term.InBoth(f.Bytes))},
			{"Parameters", known(f.Parameters)},
			{"Stored in", string(f.Precision)},
		}...)
	}
	// With a model, its assumptions have the warnings.
	if f.Model == nil {
		for _, warning := range f.Warnings {
			rows = append(rows, [2]string{"Warning", term.Printable(warning)})
		}
		rows = append(rows, [2]string{"Problem", term.Printable(f.Problem)})
	}
	return rows
}

// files names one file and counts more.
func (f *Inspection) files() string {
	var sum int64
	for _, file := range f.Files {
		sum += file.Bytes
	}
	first := term.Printable(f.Files[0].Name)
	if more := len(f.Files) - 1; more > 0 {
		first += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("%s, %s", first, words.HumanBytes(sum))
}

// printLayers writes runs of equal layers in one row, unless all are asked for.
func (f *Inspection) printLayers(p *term.Page, wide bool) {
	var runs []layerRun
	for _, l := range f.Layers {
		if n := len(runs); !wide && n > 0 && runs[n-1].Stack == l.Stack && runs[n-1].Share == l.Share {
			runs[n-1].last = l.Index
		} else {
			runs = append(runs, layerRun{l, l.Index})
		}
	}
	rows := term.Rows(runs, func(r *layerRun) []any {
		number := strconv.Itoa(r.Index)
		if r.last > r.Index {
			number += fmt.Sprintf("-%d", r.last)
		}
		return append([]any{r.Stack, number}, shareCells(&r.Share)...)
	})
	outside := term.Row(append([]any{"(outside)", ""}, shareCells(f.Outside)...)...)
	p.Table([]string{"STACK", "LAYER", "TENSORS", "PARAMETERS", "BYTES EACH", "SIZE EACH"}, append(rows, outside))
}

// layerRun is a layer and those after it that are like it, up to the last.
type layerRun struct {
	checkpoint.Layer
	last int
}

func shareCells(s *checkpoint.Share) []any {
	return []any{s.Tensors, known(s.Parameters), term.Grouped(s.Bytes), words.HumanBytes(s.Bytes)}
}

// known prints a number of parameters, and nothing where the files do not tell it.
func known(parameters int64) string {
	if parameters == 0 {
		return ""
	}
	return term.Grouped(parameters)
}
