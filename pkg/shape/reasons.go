package shape

// Reasons of Unplaceable.
const (
	// ReasonNoDevices: no node has an accelerator.
	ReasonNoDevices = "NoDevices"
	// ReasonNoMatch: there are accelerators, but none that the placement allows.
	ReasonNoMatch = "NoMatch"
	// ReasonUnsupported: there are accelerators that the placement allows, but the engine does not run there, or not in the format.
	ReasonUnsupported = "Unsupported"
	// ReasonNoneFree: there are accelerators that the placement allows, but none is free.
	ReasonNoneFree = "NoneFree"
	// ReasonTooLarge: the free devices cannot hold even one copy.
	ReasonTooLarge = "TooLarge"
	// ReasonTooFewDevices: the free devices hold some copies, but not all that are asked for.
	ReasonTooFewDevices = "TooFewDevices"
)

// Reasons of plans that were not taken though they would fit.
const (
	// ReasonWorse: the plan is worse in what the placement asks for.
	ReasonWorse = "Worse"
	// ReasonAsGood: the plan is as good or better by less than what the objective calls equal, and another one is simpler to run.
	ReasonAsGood = "AsGood"
	// ReasonMoreDevices: the plan takes more devices and gains too little by them.
	ReasonMoreDevices = "MoreDevices"
	// ReasonLimit: the plan misses a limit of the workload.
	ReasonLimit = "Limit"
)

// Refusals are the reasons of Unplaceable, with ReasonLimit.
func Refusals() []string {
	return []string{ReasonNoDevices, ReasonNoMatch, ReasonUnsupported, ReasonNoneFree, ReasonTooLarge, ReasonTooFewDevices, ReasonLimit}
}
