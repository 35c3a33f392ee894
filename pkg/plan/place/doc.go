// Package place names the devices of a shape: by best fit, the fewest sites, then the islands that have the fewest devices
// left, then by name, with the devices of a previous plan first among equals.
package place
