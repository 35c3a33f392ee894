// Package repair takes devices with a fault out of use and, where that is configured, has a repair controller mend them: a device is cordoned,
// its ranks leave, an object of a template is made under a budget, and the device takes work again after a check. It never cordons a Node,
// never lifts an administrator's cordon, and leaves alone nodes on which another actor works. docs/operate/repair.md is the same for people.
//
// What is known between two steps is in two places that outlive the operator: status.repairs of the inventories, which agents and planner
// read, and one ConfigMap, the Book, which has a record for each repair that was begun. Every decision is that of Decide, which computes alone.
package repair
