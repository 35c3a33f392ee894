// Package history keeps the specs that a placement had, as ControllerRevisions, so that an earlier one can be brought back.
package history
