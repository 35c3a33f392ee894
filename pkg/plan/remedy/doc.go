// Package remedy finds the smallest changes of a request, or of the cluster, that would make the request fit: other degrees,
// a shorter context, fewer copies, other placements moved, further devices. Each is planned before it is told.
package remedy
