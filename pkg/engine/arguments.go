package engine

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Arguments is the table of an engine's command: what it is told of a plan, and under which names. Commands are written from it
// and held to it.
type Arguments []Argument

// Argument is one option of a command line, one key of a configuration file, or one variable.
type Argument struct {
	// For is what of a plan it says.
	For Purpose
	// Name is as it is written: options begin with dashes, keys of a file within others have a point between them, and variables
	// are in capitals.
	Name string
	// Takes is the kind of its values. Least and Most bound numbers, both included; a Most of 0 is no bound. Values are those
	// of a Word and of a WordList.
	Takes       Kind
	Least, Most float64
	Values      []string
	// Words are the values of a Word that stand for formats of numbers.
	Words map[v1alpha1.Precision]string
	// Since is the earliest version of the engine that the source shows it in; it may be older.
	Since string
	// Source is where it is documented.
	Source string
}

// Kind is a kind of values.
type Kind int

// The kinds: a whole number, a number with a fraction, a text without blanks, one of a list, nothing (the name alone says it),
// true or false, whole numbers separated by commas, names of a list separated by commas, and the layers of runs.
const (
	Whole Kind = iota
	Fraction
	Text
	Word
	Switch
	Truth
	List
	WordList
	Runs
)

// Purpose is what of a plan an argument says.
type Purpose string

// The purposes.
const (
	ForRevision      Purpose = "revision of the checkpoint"
	ForQuantization  Purpose = "format that weights get while they are loaded"
	ForType          Purpose = "16-bit format of activations"
	ForCache         Purpose = "format of the KV cache"
	ForLength        Purpose = "tokens of the longest sequence"
	ForSequences     Purpose = "sequences of a step"
	ForTokens        Purpose = "tokens of a step"
	ForUtilization   Purpose = "part of the memory"
	ForTensor        Purpose = "tensor degree"
	ForPipeline      Purpose = "pipeline degree"
	ForData          Purpose = "data degree"
	ForAttentionData Purpose = "data ranks of attention alone"
	ForContext       Purpose = "context degree"
	ForDecodeContext Purpose = "decode context degree"
	ForExpert        Purpose = "expert degree"
	ForExpertTensor  Purpose = "tensor degree of experts"
	ForDenseTensor   Purpose = "tensor degree of dense blocks beside experts"
	ForExchange      Purpose = "how tokens get to their experts"
	ForBalance       Purpose = "balance of experts"
	ForSplit         Purpose = "layers of all stages"
	ForFirst         Purpose = "layers of the first stage"
	ForLast          Purpose = "layers of the last stage"
	ForBackend       Purpose = "what starts the ranks"
	ForNodes         Purpose = "number of pods"
	ForNode          Purpose = "number of the pod"
	ForDevices       Purpose = "ranks of a pod"
	ForHead          Purpose = "address of the first pod"
	ForPort          Purpose = "port of the first pod"
	ForDataHead      Purpose = "address of the first data rank"
	ForDataPort      Purpose = "port of the first data rank"
	ForHeadless      Purpose = "no server in this pod"
	ForFile          Purpose = "file with further arguments"
	ForHostFile      Purpose = "file with the hosts"
	ForNoShell       Purpose = "pods start themselves"
	ForMicroBatch    Purpose = "sequences of a micro-batch"
	ForGlobalBatch   Purpose = "sequences of a step of training"
	ForSharding      Purpose = "shared optimizer states"

	ForBF16    Purpose = "training in BF16"
	ForFP16    Purpose = "training in FP16"
	ForLibrary Purpose = "library of collectives"

	ForProcesses Purpose = "number of processes"
	ForProcess   Purpose = "number of the process"

	ForVirtual          Purpose = "layers of each run of a stage"
	ForRuns             Purpose = "layers of all runs of all stages"
	ForSequenceParallel Purpose = "tokens shared out among tensor ranks"
	ForFP8              Purpose = "training in FP8"
	ForOverlap          Purpose = "gradients reduced beside the backward pass"
	ForOverlapGather    Purpose = "weights gathered beside the forward pass"

	ForChunks         Purpose = "long prompts read in chunks"
	ForNoChunks       Purpose = "every prompt read at once"
	ForPrefixes       Purpose = "cache of prefixes"
	ForHostCacheOn    Purpose = "KV cache in host memory too"
	ForHostCache      Purpose = "size of the KV cache in host memory"
	ForHostCacheKind  Purpose = "what moves the KV cache to host memory"
	ForDrafter        Purpose = "what drafts tokens"
	ForDraftModel     Purpose = "draft model"
	ForDrafted        Purpose = "drafted tokens"
	ForDraftSteps     Purpose = "steps of drafting"
	ForDraftBranches  Purpose = "branches of a draft"
	ForVerified       Purpose = "tokens that are verified"
	ForAdapters       Purpose = "adapters beside the model"
	ForAdapterSlots   Purpose = "adapters of a step"
	ForAdapterRank    Purpose = "largest rank of an adapter"
	ForAdaptersKept   Purpose = "adapters in host memory"
	ForAdapterModules Purpose = "matrices with adapters"
	ForMedia          Purpose = "images and sound in prompts"
	ForImages         Purpose = "images of a prompt"
	ForSounds         Purpose = "sounds of a prompt"

	ForRecompute       Purpose = "what of the activations is computed again"
	ForRecomputeParts  Purpose = "parts of layers that are computed again"
	ForRecomputeBy     Purpose = "which layers are computed again"
	ForRecomputeLayers Purpose = "layers that are computed again together"
)

// For returns the argument of a purpose; nil where the engine has none.
func (a Arguments) For(p Purpose) *Argument {
	for i := range a {
		if a[i].For == p {
			return &a[i]
		}
	}
	return nil
}

// DecodeContext returns the name of the decode context degree; empty where the engine has none.
func (a Arguments) DecodeContext() string { return a.name(ForDecodeContext) }

// Balance returns the name of the option that balances experts; empty where the engine has none.
func (a Arguments) Balance() string { return a.name(ForBalance) }

func (a Arguments) name(p Purpose) string {
	if found := a.For(p); found != nil {
		return found.Name
	}
	return ""
}

// named returns the argument of a name; nil where the table has none.
func (a Arguments) named(name string) *Argument {
	for i := range a {
		if a[i].Name == name {
			return &a[i]
		}
	}
	return nil
}

// Has says whether the table has an argument of a name.
func (a Arguments) Has(name string) bool { return a.named(name) != nil }

// Kind returns the kind of values of the argument of a name.
func (a Arguments) Kind(name string) Kind {
	if found := a.named(name); found != nil {
		return found.Takes
	}
	return Text
}

// Word returns the engine's word for a format of numbers; empty where it has none.
func (a Arguments) Word(p Purpose, format v1alpha1.Precision) string {
	if found := a.For(p); found != nil {
		return found.Words[format]
	}
	return ""
}

// MakesWhileLoading says whether the engine turns weights that a checkpoint stores in one format into another while it loads them.
func (e *Engine) MakesWhileLoading(stored, wanted v1alpha1.Precision) bool {
	return isFloat(stored) && e.Arguments.Word(ForQuantization, wanted) != ""
}

// Loads says whether the engine runs weights in a format from a checkpoint that stores them in another: of one that is not quantized
// it takes every such format, and those that it makes while loading.
func (e *Engine) Loads(stored, wanted v1alpha1.Precision) bool {
	return stored == wanted || isFloat(stored) && isFloat(wanted) || e.MakesWhileLoading(stored, wanted)
}

// isFloat says whether a format is not quantized.
func isFloat(p v1alpha1.Precision) bool { return floats[p] != "" }

// asStored is the word for a cache as the checkpoint has scales for, else in 16 bits.
const asStored = "auto"

// RefusesCache says why the engine cannot be told to keep its cache in a format, where the checkpoint asks for another one by itself; nil where it
// can, and where the program decides.
func (e *Engine) RefusesCache(format, stored v1alpha1.Precision) error {
	argument := e.Arguments.For(ForCache)
	switch {
	case argument == nil:
		return nil
	case argument.Words[format] == asStored && stored != v1alpha1.BF16 && stored != v1alpha1.FP16:
		return fmt.Errorf("%s keeps its cache as the checkpoint says, in %s, and cannot be told %s: use %s, or a checkpoint without scales for it", e.Name, stored, format, stored)
	case argument.Words[format] != "":
		return nil
	}
	known := slices.Sorted(maps.Keys(argument.Words))
	return fmt.Errorf("%s has no KV cache in %s: use one of %v", e.Name, format, known)
}

// CheckCommand holds the words of a command line to the table. It reads them as Python's argparse does: each option by its whole
// name, once, with the next word as its value. The error names the option and the value.
func (a Arguments) CheckCommand(words []string) error {
	given := map[string]bool{}
	for i := 0; i < len(words); i++ {
		name := words[i]
		argument := a.named(name)
		switch {
		case argument == nil || !strings.HasPrefix(name, "--"):
			return fmt.Errorf("%q is not an option of the engine", name)
		case given[name]:
			return fmt.Errorf("%s is given twice", name)
		case argument.Takes == Switch:
		case i+1 == len(words):
			return fmt.Errorf("%s has no value", name)
		default:
			i++
			if err := argument.Check(words[i]); err != nil {
				return err
			}
		}
		given[name] = true
	}
	return nil
}

// CheckSetting holds one key of a configuration file or one variable to the table.
func (a Arguments) CheckSetting(name, value string) error {
	argument := a.named(name)
	if argument == nil {
		return fmt.Errorf("%q is not an argument of the engine", name)
	}
	return argument.Check(value)
}

// oneWord is what a shell takes for one word without quotes.
var oneWord = regexp.MustCompile(`^[A-Za-z0-9_./:@%+=,-]+$`)

// runsOfLayers are the layers (t) of runs in the order of a micro-batch, after the embedding (E) and before the loss (L).
var runsOfLayers = regexp.MustCompile(`^Et+(\|t+)*L$`)

// mostText bounds a text, in bytes.
const mostText = 256

// Check says why an argument cannot have a value.
func (a *Argument) Check(value string) error {
	var why string
	switch a.Takes {
	case Whole:
		why = a.outside(value, func(text string) (float64, error) {
			n, err := strconv.ParseInt(text, 10, 64)
			return float64(n), err
		})
	case Fraction:
		why = a.outside(value, func(text string) (float64, error) { return strconv.ParseFloat(text, 64) })
	case List:
		for part := range strings.SplitSeq(value, ",") {
			if n, err := strconv.Atoi(part); err != nil || float64(n) < a.Least {
				why = fmt.Sprintf("use whole numbers from %g on, separated by commas", a.Least)
			}
		}
	case WordList:
		for part := range strings.SplitSeq(value, ",") {
			if !slices.Contains(a.Values, part) {
				why = "use some of " + strings.Join(a.Values, ", ") + ", separated by commas"
			}
		}
	case Runs:
		if !runsOfLayers.MatchString(value) {
			why = "use runs of layers (t) with | between them, after E and before L"
		}
	case Text:
		if len(value) > mostText || !oneWord.MatchString(value) {
			why = "use one word of letters, digits and _./:@%+=,-"
		}
	case Word:
		if !slices.Contains(a.Values, value) {
			why = "use one of " + strings.Join(a.Values, ", ")
		}
	case Truth:
		if value != "true" && value != "false" {
			why = "use true or false"
		}
	case Switch:
		if value != "" {
			why = "it has no value"
		}
	}
	if why != "" {
		return fmt.Errorf("%s %q: %s", a.Name, value, why)
	}
	return nil
}

func (a *Argument) outside(value string, parse func(string) (float64, error)) string {
	n, err := parse(value)
	if err == nil && n >= a.Least && (a.Most == 0 || n <= a.Most) && !math.IsNaN(n) {
		return ""
	}
	if a.Most == 0 {
		return fmt.Sprintf("use a number from %g on", a.Least)
	}
	return fmt.Sprintf("use a number from %g to %g", a.Least, a.Most)
}
