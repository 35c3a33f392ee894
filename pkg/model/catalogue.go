package model

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"sigs.k8s.io/yaml"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

//go:embed catalogue.yaml
var catalogueYAML []byte

// catalogued is an entry of the catalogue.
type catalogued struct {
	Name         string                `json:"name"`
	IDs          []string              `json:"ids"`
	Native       v1alpha1.Precision    `json:"native"`
	Parameters   int64                 `json:"parameters"`
	Architecture v1alpha1.Architecture `json:"architecture"`
}

// catalogue is the embedded data with its index by spelling.
type catalogue struct {
	entries []*catalogued
	index   map[string]*catalogued
}

// load parses the embedded data once. It can only fail where the data is wrong, which a test excludes.
var load = sync.OnceValues(func() (*catalogue, error) { return parseCatalogue(catalogueYAML) })

func parseCatalogue(data []byte) (*catalogue, error) {
	c := &catalogue{index: map[string]*catalogued{}}
	if err := yaml.UnmarshalStrict(data, &c.entries); err != nil {
		return nil, fmt.Errorf("catalogue of models: %w", err)
	}
	for _, e := range c.entries {
		for _, spelling := range e.spellings() {
			if other := c.index[spelling]; other != nil && other != e {
				return nil, fmt.Errorf("catalogue of models: %q stands for %s and %s: keep one", spelling, other.Name, e.Name)
			}
			c.index[spelling] = e
		}
	}
	return c, nil
}

// spellings are what an entry is found by: its name, its ids, and its ids without their owner.
func (e *catalogued) spellings() []string {
	list := []string{spelling(e.Name)}
	for _, id := range e.IDs {
		id = spelling(id)
		_, name, _ := strings.Cut(id, "/")
		list = append(list, id, name)
	}
	return list
}

// betweenWords are what people write between the words of a name where the catalogue has a dash.
var betweenWords = strings.NewReplacer(" ", "-", "_", "-")

// spelling is a name without what people write differently: case, the sign between words, a remark in brackets.
func spelling(name string) string {
	name, _, _ = strings.Cut(name, " (")
	return betweenWords.Replace(strings.ToLower(strings.TrimSpace(name)))
}

// Lookup finds a model by its catalogue name (`Llama-3.1-70B`) or hub id (`meta-llama/Llama-3.1-70B`), in any case
// and with blanks for dashes. The error names the nearest names.
func Lookup(name string) (*Model, error) {
	c, err := load()
	if err != nil {
		return nil, err
	}
	e := c.index[spelling(name)]
	if e == nil {
		return nil, fmt.Errorf("model %q is not in the catalogue: did you mean %s? Else give its config.json or its number of parameters",
			clip(name), strings.Join(c.near(name), ", "))
	}
	return &Model{Name: e.Name, Architecture: *e.Architecture.DeepCopy(), Native: e.Native}, nil
}

// Names returns the names of the catalogue, sorted.
func Names() []string {
	c, err := load()
	if err != nil {
		return nil
	}
	names := make([]string, len(c.entries))
	for i, e := range c.entries {
		names[i] = e.Name
	}
	slices.Sort(names)
	return names
}

// nearest is how many names an error offers.
const nearest = 3

// near returns the names nearest to one that is not there, nearest first.
func (c *catalogue) near(wanted string) []string {
	wanted = spelling(clip(wanted))
	if _, base, ok := strings.Cut(wanted, "/"); ok {
		wanted = base
	}
	distances := map[string]int{}
	for _, e := range c.entries {
		distances[e.Name] = distance(wanted, strings.ToLower(e.Name))
	}
	names := Names()
	slices.SortStableFunc(names, func(a, b string) int { return distances[a] - distances[b] })
	return names[:min(nearest, len(names))]
}

// maxEcho is how many bytes of a name an error repeats and compares.
const maxEcho = 128

func clip(s string) string {
	if len(s) <= maxEcho {
		return s
	}
	return strings.ToValidUTF8(s[:maxEcho], "") + "…"
}

// distance is the Levenshtein distance in half edits, byte by byte. Where one text begins with the other, what follows
// counts half: people leave out a suffix more often than they mistype a letter.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = 2 * j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = 2 * (i + 1)
		for j := range len(b) {
			replace := diagonal
			if a[i] != b[j] {
				replace += 2
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, diagonal+2, row[j]+2)
		}
	}
	if strings.HasPrefix(b, a) || strings.HasPrefix(a, b) {
		return row[len(b)] / 2
	}
	return row[len(b)]
}
