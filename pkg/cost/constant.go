package cost

// Constant is one of the calibrated numbers of the model of costs.
type Constant int

// The constants. Shares are of the device's peak; seconds are of one rank.
const (
	WeightShare       Constant = iota // share of the memory's bandwidth that reading weights reaches
	CacheShare                        // share of the memory's bandwidth that reading keys and values reaches
	LinearShare16                     // share of the peak rate that matrices reach, computed in 16 bits
	LinearShare8                      // the same in 8 bits
	LinearShare4                      // the same in 4 bits
	ExpertShare                       // routed experts' share of what LinearShare gives
	ExpertPadding                     // tokens in whose time an expert fills its tiles, whatever it is visited by
	AttentionShare                    // share of the 16-bit peak that attention over a prompt reaches
	Traffic                           // how often a layer reads or writes the residual stream of a token, in 16 bits
	LayerSeconds                      // launches of a layer
	MixtureSeconds                    // what a mixture of experts adds to it
	QuantizeSeconds                   // kernel that makes 8 bits of what a matrix multiplies
	StepSeconds                       // host's work for a step
	SequenceSeconds                   // host's work for a sequence and step
	TokenSeconds                      // host's and kernels' work for a token of a prompt
	ReduceSeconds                     // start of a collective over the devices' own links, for each of log2(ranks)
	HostReduceSeconds                 // the same over the host's links
	LinkShare                         // share of the link's bandwidth that collectives reach
	HostLinkShare                     // the same over the host's links
	TransferSeconds                   // start of a transfer between stages
	StageShare                        // share of the time in which the stages of a pipeline work
	FirstSeconds                      // from arrival to the first step
	QueueShare                        // share of the prompts ahead that an arrival waits for
	BusyShare                         // the same for each share of the time in which prompts are read
	TogetherPrompts                   // prompts ahead of one that arrives with others, whatever their number
	TogetherShare                     // QueueShare's addition for requests that arrive together
	ArrivalShare                      // share of what an instance can do under a limit that it does while requests arrive at random
	WaveShare                         // share of the running sequences that a batch keeps up

	constants int = iota
)

// Constants are the values of the constants for a family.
type Constants [constants]float64

// names are the names of the constants in constants.json.
var names = [constants]string{
	"weightShare", "cacheShare", "linearShare16", "linearShare8", "linearShare4", "expertShare", "expertPadding", "attentionShare", "traffic",
	"layerSeconds", "mixtureSeconds", "quantizeSeconds", "stepSeconds", "sequenceSeconds", "tokenSeconds", "reduceSeconds",
	"hostReduceSeconds", "linkShare", "hostLinkShare", "transferSeconds", "stageShare", "firstSeconds", "queueShare", "busyShare", "togetherPrompts", "togetherShare", "arrivalShare", "waveShare",
}

// String returns the constant's name in the data.
func (c Constant) String() string { return names[c] }

// Start are the constants before any fit. Sources: the shares of bandwidth and peak are Vidur's profiles of GEMMs
// (0.71 to 0.88 and 0.71 to 0.76) less what the rest of a layer takes, 0.5 ms host time a step and 11 us an all-reduce are
// the shared starting points of a trial fit.
func Start() Constants {
	return Constants{
		WeightShare: 0.8, CacheShare: 0.7, LinearShare16: 0.65, LinearShare8: 0.55, LinearShare4: 0.5, ExpertShare: 0.7, ExpertPadding: 64,
		AttentionShare: 0.4, Traffic: 12, LayerSeconds: 15e-6, MixtureSeconds: 30e-6, QuantizeSeconds: 4e-6, StepSeconds: 0.5e-3,
		SequenceSeconds: 4e-6, TokenSeconds: 0.1e-6, ReduceSeconds: 5e-6, HostReduceSeconds: 15e-6, LinkShare: 0.8,
		HostLinkShare: 0.5, TransferSeconds: 15e-6, StageShare: 0.85, FirstSeconds: 30e-3, QueueShare: 0.1, BusyShare: 0.3, TogetherPrompts: 1, TogetherShare: 0.05, ArrivalShare: 0.9, WaveShare: 0.95,
	}
}
