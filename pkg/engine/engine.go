package engine

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Engine is a row of the table. Rows are shared: do not change them.
type Engine struct {
	// Name is the API's.
	Name v1alpha1.Engine
	// Words are other names by which people ask for it, in lower case.
	Words []string
	// Looked is the newest version whose measurements the row was compared with; empty where there are none.
	Looked string
	// Timed are the releases that the times of the model of costs were measured of; empty where none were.
	Timed []Releases
	// Support lists where the engine runs which formats; a case needs to match one entry. Empty where no limit is known.
	Support []Support
	// Lacks are devices on which the engine runs no models with a trait, though it runs others there.
	Lacks []Lack
	// Documented is where the devices are listed that the engine runs on; what is not there is refused by it.
	Documented string
	// Uses are what the engine is for; empty where the program decides. One that only serves is refused for training, but not the other
	// way round: frameworks of training generate too.
	Uses []Use
	// Parallelism is the rules for degrees.
	Parallelism Parallelism
	// Stages is how layers are divided into the stages of a pipeline.
	Stages Stages
	// Jobs is what it can do in training beside the usual.
	Jobs Jobs
	// Ranks is how ranks are numbered.
	Ranks Ranks
	// Tiles are the rows of a tile of the kernel that reads prompts and decodes in one launch, by the architecture of the device, where each query head
	// of a sequence that decodes takes a tile of its own.
	Tiles map[string]int
	// Memory is what the engine takes of a device, in the version Looked.
	Memory Memory
	// Changes are the defaults of Memory in other versions, in rising order.
	Changes []Change
	// Running is how many requests its server runs where it is not told; nil where those are the sequences of a step.
	Running *Running
	// Serves is what its server does beside decoding one token after the other.
	Serves Serves
	// OldCosts names the constants of speed for versions before 1, where they differ from those of Name.
	OldCosts string
	// Launchers are the names of the launchers that start the engine, as in package launch. The first must be able to
	// start a placement; the others are added where they can.
	Launchers []string
	// Arguments is the table of the engine's command; empty where the program decides.
	Arguments Arguments
}

// Version is the version that the row is about: the newest whose measurements it was compared with, else the first that has all of its arguments;
// empty where neither is known.
func (e *Engine) Version() string {
	version := e.Looked
	for i := range e.Arguments {
		if e.Looked == "" && older(version, e.Arguments[i].Since) {
			version = e.Arguments[i].Since
		}
	}
	return version
}

// table has every engine of the API, in its order.
var table = []*Engine{&vllm, &sglang, &tensorRTLLM, &megatron, &deepSpeed, &torch, &jax, &mpi}

// Default is the engine of a placement that names none.
const Default = v1alpha1.EngineVLLM

// DefaultTraining is the engine of an estimate of training that names none.
const DefaultTraining = v1alpha1.EngineMegatron

// Names returns the names of all engines, in the API's order.
func Names() []string {
	names := make([]string, len(table))
	for i, e := range table {
		names[i] = string(e.Name)
	}
	return names
}

// Rows returns the engines of the table, in its order.
func Rows() iter.Seq[*Engine] { return slices.Values(table) }

// Choice says which engines there are.
func Choice() string {
	return "one of " + strings.Join(Names(), ", ") + ", or for a program of your own a name with your domain (example.com/engine)"
}

// Find returns the row of an engine; an empty name means Default, and one with a domain (example.com/engine) a program of the
// user's own. The error lists the names.
func Find(name v1alpha1.Engine) (*Engine, error) {
	if name == "" {
		name = Default
	}
	for _, e := range table {
		if e.Name == name {
			return e, nil
		}
	}
	if own := named(string(name)); own != nil {
		return own, nil
	}
	return nil, unknown(string(name))
}

// Parse finds an engine by its name or another word for it in any case, which a version may follow: `vLLM`, `trtllm`,
// `TensorRT-LLM 0.17`, or a program of the user's own by its name with a domain. It also returns the version; empty where none follows.
func Parse(text string) (e *Engine, version string, err error) {
	word, version, _ := strings.Cut(strings.ToLower(strings.TrimSpace(text)), " ")
	for _, e := range table {
		if !strings.EqualFold(string(e.Name), word) && !slices.Contains(e.Words, word) {
			continue
		}
		return e, strings.TrimSpace(version), nil
	}
	if own := named(strings.TrimSpace(text)); own != nil {
		return own, "", nil
	}
	return nil, "", unknown(text)
}

// Tile returns the rows of a tile of the kernel that reads prompts and decodes in one launch on an architecture; 0 where decoding takes no tiles of its own.
func (e *Engine) Tile(architecture string) int { return e.Tiles[architecture] }

// StartedBy returns the row of the first engine whose first launcher has the name; nil where none has.
func StartedBy(launcher string) *Engine {
	for _, e := range table {
		if e.Launchers[0] == launcher {
			return e
		}
	}
	return nil
}

// mostShown bounds how much of an unknown name an error shows, in bytes.
const mostShown = 64

func unknown(name string) error {
	if len(name) > mostShown {
		name = name[:mostShown] + "…"
	}
	return fmt.Errorf("engine %q is not known: use %s", name, Choice())
}
