package pipeline

import (
	"fmt"
	"math"
)

// Layer is what one layer asks for.
type Layer struct {
	// Seconds is its time for a step on a device of speed 1.
	Seconds float64
	// Bytes are its weights, cache and state on one device.
	Bytes int64
}

// Class is a kind of device.
type Class struct {
	// Speed is how many times as fast as the device that the layers' seconds are of.
	Speed float64
	// Bytes are what a device has for the layers, without what engine and activations take.
	Bytes int64
}

// Ends are what the first and the last stage hold besides layers: embedding and head.
type Ends struct {
	First, Last Layer
}

// StageSeconds is the function for Chain.Seconds where the time of a stage is the sum of its layers' over the speed of
// its class: +Inf where the bytes of the run do not fit. It needs constant time a call.
func StageSeconds(layers []Layer, classes []Class, ends Ends) (func(class, start, end int) float64, error) {
	seconds, bytes := make([]float64, len(layers)+1), make([]int64, len(layers)+1)
	add := func(name string, l Layer, sum int64) error {
		if !(l.Seconds >= 0 && l.Seconds <= maxSeconds) {
			return invalid("%s.seconds is %v: give 0 to %v", name, l.Seconds, maxSeconds)
		}
		if l.Bytes < 0 || l.Bytes > math.MaxInt64-sum {
			return invalid("%s.bytes is %d: give zero or more, and no more than 8 EiB in sum", name, l.Bytes)
		}
		return nil
	}
	for i, l := range layers {
		if err := add(element("layers", i), l, bytes[i]); err != nil {
			return nil, err
		}
		seconds[i+1], bytes[i+1] = seconds[i]+l.Seconds, bytes[i]+l.Bytes
	}
	if err := add("ends.first", ends.First, bytes[len(layers)]); err != nil {
		return nil, err
	}
	if err := add("ends.last", ends.Last, bytes[len(layers)]+ends.First.Bytes); err != nil {
		return nil, err
	}
	for i, c := range classes {
		if !(c.Speed > 0) || math.IsInf(c.Speed, 1) {
			return nil, invalid("%s.speed is %v: give more than zero", element("classes", i), c.Speed)
		}
	}
	return func(class, start, end int) float64 {
		time, need := seconds[end]-seconds[start], bytes[end]-bytes[start]
		if start == 0 {
			time, need = time+ends.First.Seconds, need+ends.First.Bytes
		}
		if end == len(layers) {
			time, need = time+ends.Last.Seconds, need+ends.Last.Bytes
		}
		if need > classes[class].Bytes {
			return math.Inf(1)
		}
		return time / classes[class].Speed
	}, nil
}

func element(name string, i int) string { return fmt.Sprintf("%s[%d]", name, i) }
