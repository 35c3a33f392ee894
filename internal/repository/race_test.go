//go:build race

package repository

// raceFlag has packages compiled as these tests are, so that each is compiled once.
const raceFlag = "-race=true"
