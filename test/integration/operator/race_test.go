//go:build race

package operator

// sampleEvery is n where the orders of requests of two operators, one of which ends, are run for every n-th: they are hundreds, and the race
// detector finds no more in all of them.
const sampleEvery = 5
