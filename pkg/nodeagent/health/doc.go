// Package health turns what each detection sees of a device into a state with evidence that does not flap.
package health
