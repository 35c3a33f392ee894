//go:build race

package main

// sampleEvery is of how many recordings one is taken for tests that detect it again and again: the race detector makes each detection ten times
// slower, and finds no more in the others.
const sampleEvery = 12
