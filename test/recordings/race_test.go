//go:build race

package main

// sampleEvery is n where tests that detect a recording again and again take every n-th: the race detector makes detection ten times
// slower, and finds no more in the other recordings.
const sampleEvery = 12
