// Package ranks is the commands mesh and export: the ranks of a plan, and what launchers need of them.
package ranks
