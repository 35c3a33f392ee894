// Package losses is the table of what a plan can lose: what shows it, how long it is borne, and what follows. It computes alone:
// nodes, pods and the time come in as arguments. docs/use/failure.md is the same table for people.
//
// Find compares a plan with what is known of its nodes. Date says since when each loss is known. Decide says which losses a new plan
// answers, and when, and Memory is what keeps a node that comes and goes from causing one plan after the other.
package losses
