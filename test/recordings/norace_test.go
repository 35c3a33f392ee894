//go:build !race

package main

// sampleEvery is of how many recordings one is taken for tests that detect it again and again.
const sampleEvery = 1
