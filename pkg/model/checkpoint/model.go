package checkpoint

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/model"
)

// Model returns the model that the files describe: the architecture from config.json or GGUF's metadata, the format of
// the weights from the headers, which know it better than a config.json. Without an architecture it is a synthetic model
// with as many parameters as the headers count, or as the size of a PyTorch file suggests. Assumptions lists what was
// assumed.
func (c *Checkpoint) Model() (*model.Model, error) {
	m, err := c.model()
	if err != nil {
		return nil, err
	}
	c.shareTable(m)
	c.compare(m)
	c.setNative(m)
	m.Assumptions = append(m.Assumptions, c.Warnings...)
	return m, nil
}

func (c *Checkpoint) model() (*model.Model, error) {
	if c.Config != nil {
		return model.FromConfig(c.Name, c.Config)
	}
	parameters, note := c.Parameters(), "no config.json lies beside the weights"
	if parameters == 0 && c.Format == PyTorch {
		parameters, note = c.Bytes()/2, note+", and they are taken for 16 bits"
	}
	if parameters == 0 {
		return nil, errors.New("the files hold no weights: give the model's own")
	}
	m, err := model.FromParameters(parameters)
	if err != nil {
		return nil, fmt.Errorf("%s, and no architecture can be made up for so few or many weights: %w", note, err)
	}
	m.Name = c.Name
	m.Assumptions = append(m.Assumptions, note)
	return m, nil
}

// shareTable believes the files where they have no head of their own, which the count then shows.
func (c *Checkpoint) shareTable(m *model.Model) {
	held := c.Parameters()
	if m.Synthetic || m.Architecture.TiedEmbeddings || held == 0 || held == m.Parameters() {
		return
	}
	if m.Parameters()-m.HeadParameters() == held {
		m.Architecture.TiedEmbeddings = true
		m.Assumptions = append(m.Assumptions, "the files hold no output head: it shares the embedding table, whatever tie_word_embeddings says")
	}
}

// compare tells where files and architecture count differently.
func (c *Checkpoint) compare(m *model.Model) {
	held, counted := c.Parameters(), m.Parameters()
	if m.Synthetic || held == 0 || held == counted {
		return
	}
	m.Assumptions = append(m.Assumptions, fmt.Sprintf(
		"the files hold %d parameters, the architecture says %d (%+.2f %%): the architecture is counted; the rest may be encoders, modules for further tokens or padding",
		held, counted, 100*float64(held-counted)/float64(counted)))
}

// wider are the formats that quantised weights are counted in, from narrow to wide.
var wider = []v1alpha1.Precision{v1alpha1.INT8, v1alpha1.BF16}

// excess is the share of a file's bytes, one in so many, that may lie above what a format counts: Q8_0 takes 8.5 bits and
// INT8 counts 8, with the vocabulary in 16.
const excess = 25

// setNative takes the format of the weights from the headers.
func (c *Checkpoint) setNative(m *model.Model) {
	claimed := m.Native
	if c.Precision == "" {
		return
	}
	m.Native = c.Precision
	if c.Format == GGUF {
		c.keep(m)
		return
	}
	if claimed != m.Native && !m.Synthetic {
		m.Assumptions = append(m.Assumptions, fmt.Sprintf("config.json says %s, but most weights are stored in %s: the files are believed", claimed, m.Native))
	}
}

// keep counts a GGUF file as it stores each tensor. Without an architecture there is nothing that its tensors could be told to be.
func (c *Checkpoint) keep(m *model.Model) {
	if m.Synthetic {
		c.widen(m)
		return
	}
	if num, den := model.BytesPer(m.Native); num < 2*den {
		m.Keep(m.Native, c.blocks())
	}
	m.Assumptions = append(m.Assumptions, fmt.Sprintf("the file's weights take %d bytes (most in %s): each module is counted as it is stored, %d bytes in all, and computed as %s",
		c.Bytes(), c.mostUsed(), m.WeightBytes(m.Native), m.Native))
}

// widen finds a format that holds a GGUF file whose tensors are not told. Most types have more bits than their name says (Q4_K_M
// 4.85), so the next format is taken until it holds the file's bytes: too much memory is planned rather than too little.
func (c *Checkpoint) widen(m *model.Model) {
	held := c.Bytes()
	for _, p := range wider {
		if num, den := model.BytesPer(m.Native); m.WeightBytes(m.Native) >= held-held/excess || num >= 2*den {
			break
		}
		if m.WeightBytes(p) > m.WeightBytes(m.Native) {
			m.Native = p
		}
	}
	m.Assumptions = append(m.Assumptions, fmt.Sprintf("the file's weights take %d bytes (most in %s): they are counted as %s with %d",
		held, c.mostUsed(), m.Native, m.WeightBytes(m.Native)))
}

// mostUsed returns the type that most weights are stored in.
func (c *Checkpoint) mostUsed() string {
	types := c.ByType()
	return slices.MaxFunc(types, func(a, b TypeShare) int { return cmp.Compare(a.Parameters, b.Parameters) }).Type
}
