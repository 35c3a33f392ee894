//go:build !race

package operator

// sampleEvery is n where the orders of requests of two operators, one of which ends, are run for every n-th.
const sampleEvery = 1
