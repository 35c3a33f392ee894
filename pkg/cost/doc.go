// Package cost estimates how fast a model runs on devices: time to the first token, time per output token, tokens per
// second, the time of a training step and the time to load the weights.
//
// It is a roofline with calibrated constants: each operator of a step takes a smooth maximum of the bytes it moves over
// the bandwidth and the operations it does over the peak rate, and a step adds launches, collectives and the host's work.
// The constants belong to a GPU architecture, an engine and a class of models, never to one product; `make fit`
// makes them from published measurements, and lists these in cells.json, from which an estimate
// knows how far it is from them. The package reads no clock, no file and no API, and evaluating a
// query does not allocate.
//
// Times are in seconds, sizes in bytes, rates per second.
package cost
