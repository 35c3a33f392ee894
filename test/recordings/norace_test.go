//go:build !race

package main

// sampleEvery is n where tests that detect a recording again and again take every n-th.
const sampleEvery = 1
