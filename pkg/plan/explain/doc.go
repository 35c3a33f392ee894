// Package explain says why a plan is as it is, with the arithmetic: which devices counted, which shapes were compared, what
// each device holds and offers, and what the times rest on. It is computed anew from the plan.
package explain
