// Package regroup gives names to groups of devices that no dimension of a mesh makes, answers what a program asks about the
// devices and groups of a layout, and lays devices out anew when some come or go.
//
// It is for library use only: no program of Rankwright calls it. The operator makes a new plan where devices change, and its
// DeviceMesh has the groups of its dimensions alone; this package is for programs that hold a mesh in memory and change it.
package regroup
