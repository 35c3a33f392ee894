// Package health turns what each detection and each error event tells of a device into a state with evidence that does
// not flap. It is pure: the caller brings the published health, what was seen and the time, and publishes the outcome.
// Nothing else is remembered across a restart: how far a recovery has come stands at the end of the published message.
package health
