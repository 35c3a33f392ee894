// Package views looks at the ranks of one mesh in other ways: in the degrees that an engine counts (Preset), with a mesh of its
// own for layers of experts (Fold), as part of a larger numbering (Union), and with dimensions cut, joined or fixed (Unflatten,
// Flatten, Sub).
//
// It is for library use only: no program of Rankwright calls it. Plans count each device once and need no more than package
// mesh; this package is for programs that start from an engine's own numbers, or that ask for groups which no plan has.
package views
