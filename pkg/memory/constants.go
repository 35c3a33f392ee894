package memory

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"sync"
)

//go:embed constants.json
var constantsJSON []byte

// Doubt is the share of a device's need by which it may be off: the weights of the row that was worst among those that nothing was fitted to
// (docs/internals/memory.md).
const Doubt = 0.02

// constants are the numbers that are fitted instead of counted. TestFit writes them to constants.json with -update.
type constants struct {
	// SamplerCentibytes is what vLLM's sampler holds for each sequence and word of the vocabulary, in hundredths of a byte.
	SamplerCentibytes int64 `json:"samplerCentibytes"`
	// OutsideBytes is what a process of vLLM takes outside PyTorch's allocator after start-up, CommunicationBytes what it
	// takes in addition where it has peers.
	OutsideBytes       int64 `json:"outsideBytes"`
	CommunicationBytes int64 `json:"communicationBytes"`
	// Source names what the constants were fitted on.
	Source string `json:"source"`
}

// fitted returns the committed constants.
var fitted = sync.OnceValues(func() (constants, error) {
	var c constants
	if err := json.Unmarshal(constantsJSON, &c); err != nil {
		return c, fmt.Errorf("constants.json of package memory: %w: run go test ./pkg/memory -run Fit -update", err)
	}
	return c, nil
})
