// Package whatif edits inventories as if devices came or went, so that a plan can be asked for what is not there yet: "and
// with eight more H100?".
//
// It is for library use only: no program of Rankwright calls it. What the operator says of devices that would help stands in
// a placement's status, and the command line plans on files, which anybody can edit.
package whatif
