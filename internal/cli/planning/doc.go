// Package planning is the commands plan and simulate, and how manifests in files become a cluster.
package planning
