// Package site takes what was measured at a site for what it says of estimates: it reads the results of benchmarks, the start-up log of an engine
// and the metrics of engines into measurements, and compiles measurements into what package cost moves estimates by.
//
// It reads no file, no clock and no network: contents and times are arguments.
package site
