package cost

// TrainingConstant is one of the calibrated numbers of the times of training.
type TrainingConstant int

// The constants. Shares are of a peak rate; seconds are of one rank. What is read or written counts in values of 16 bits.
const (
	Matrices16      TrainingConstant = iota // share of the 16-bit peak that matrices reach
	Matrices8                               // share of the FP8 peak that they reach
	ScoresShare                             // share of the 16-bit peak that attention reaches, the masked half counted
	StreamTraffic                           // how often a pass reads or writes what a layer keeps
	WordTraffic                             // how often a step reads or writes the logits
	ScoreTraffic                            // how often a pass reads or writes scores where attention keeps them
	PassSeconds                             // launches of a layer in a pass
	ExpertSeconds                           // launches of each expert that a rank has in a pass
	ExchangeShare                           // share of the rate of links and networks that collectives reach
	ExchangeSeconds                         // start of a collective for each of log2(ranks), and of a transfer
	Overlap                                 // share of the shorter of computing and exchanging that the longer hides
	StepOverhead                            // host's work for a step

	trainingConstants int = iota
)

// TrainingConstants are the values of the constants for an architecture.
type TrainingConstants [trainingConstants]float64

// Bounded returns the constants without what cannot be: no more is hidden than there is, and no matrices are faster than large ones alone, which were
// measured to reach 80 % of the peak on H100 and 78 % on B200
// (https://github.com/stas00/ml-engineering/blob/b9e29720eebd4aa946fa9678975385efbc90a777/compute/accelerator/README.md).
func (c TrainingConstants) Bounded() TrainingConstants {
	c[Overlap], c[Matrices16] = min(1, c[Overlap]), min(0.8, c[Matrices16])
	return c
}

var trainingNames = [trainingConstants]string{
	"matrices16", "matrices8", "scoresShare", "streamTraffic", "wordTraffic", "scoreTraffic", "passSeconds", "expertSeconds", "exchangeShare", "exchangeSeconds", "overlap",
	"stepOverhead",
}

// String returns the constant's name in the data.
func (c TrainingConstant) String() string { return trainingNames[c] }

// StartTraining are the constants before any fit: a matrix of 16 bits reaches 0.7 of the peak and one in FP8 half (Vidur's profiles of GEMMs, and those
// of Transformer Engine), FlashAttention-2 about half (arXiv:2307.08691, figure 5), collectives 0.8 of a link (NCCL's tests), and half of what they
// take is hidden.
func StartTraining() TrainingConstants {
	return TrainingConstants{
		Matrices16: 0.7, Matrices8: 0.5, ScoresShare: 0.5, StreamTraffic: 2, WordTraffic: 20, ScoreTraffic: 8, PassSeconds: 50e-6, ExpertSeconds: 50e-6, ExchangeShare: 0.8,
		ExchangeSeconds: 8e-6, Overlap: 0.5, StepOverhead: 2e-3,
	}
}
